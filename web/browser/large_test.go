package browser

import (
	"bytes"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/web"
)

// What a large history may take: to open, and to draw one frame while it is panned.
// It may take twice that here: tests share the machine.
const (
	opens = 2 * time.Second
	frame = time.Second / 30
	slack = 2
)

// A history of a hundred thousand facts opens and pans.
func TestLargeHistory(t *testing.T) {
	source := large(t, 100_000)
	d, _ := document(t, source, about(source))
	var page bytes.Buffer
	if err := web.Write(&page, d); err != nil {
		t.Fatal(err)
	}
	t.Logf("the page has %d KiB", page.Len()>>10)
	if page.Len() > 16<<20 {
		t.Errorf("the page has %d bytes", page.Len())
	}
	b := open(t, 1440, 1000)
	b.show(d)
	took := time.Duration(eval[float64](b, "performance.now()")) * time.Millisecond
	ready := time.Duration(eval[float64](b, "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")) * time.Millisecond
	t.Logf("it is there after %v", ready)
	if ready > slack*opens || ready == 0 {
		t.Errorf("it took %v to open (looked at after %v)", ready, took)
	}
	eval[any](b, `window.frames_ = []; window.pan = (n, last) => {
		const now = performance.now()
		if (last) window.frames_.push(now - last)
		if (n === 0) { window.panned = true; return }
		const c = document.querySelector('.group canvas').getBoundingClientRect()
		document.querySelector('.group canvas').dispatchEvent(new WheelEvent('wheel', { deltaX: n % 20 < 10 ? 40 : -40, shiftKey: true, clientX: c.left + 300, clientY: c.top + 10, cancelable: true }))
		requestAnimationFrame(() => window.pan(n - 1, now))
	}; window.pan(60, 0); null`)
	b.until("window.panned")
	each := time.Duration(eval[float64](b, "window.frames_.sort((a, b) => a - b)[Math.floor(window.frames_.length / 2)]") * float64(time.Millisecond))
	t.Logf("a frame takes %v", each)
	if each > slack*frame {
		t.Errorf("a frame takes %v while it is panned", each)
	}
	b.calm()
}

// large is the history of a pod that answers late now and then, for days.
func large(t *testing.T, n int) journal.Source {
	t.Helper()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	pod := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u"}
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "shop:1", LivenessProbe: &v1.Probe{TimeoutSeconds: 1, PeriodSeconds: 10, FailureThreshold: 3},
	}}}}
	var id fact.ID
	var run int32
	var file bytes.Buffer
	_, err := journal.Export(&file, journal.Header{Node: "vm"}, func(yield func(fact.Fact, error) bool) {
		add := func(container string, body fact.Body, because ...fact.ID) fact.ID {
			id++
			at = at.Add(2 * time.Second)
			yield(fact.Fact{ID: id, At: at, Seen: at, Mono: time.Duration(id) * 2 * time.Second, Boot: "b", Pod: pod, Container: container, Attempt: run, Because: because, Body: body}, nil)
			return id
		}
		first := add("", fact.SpecSeen{Object: object, Source: "api"})
		add("", fact.SetPhase{Phase: v1.PodRunning}, first)
		for int(id) < n {
			start := add("app", fact.Started{ContainerID: "c://1"})
			add("app", fact.Marked{Ready: true, Started: true}, start)
			for i := range 40 {
				add("app", fact.Sampled{MemoryCurrent: int64(20+i%17) << 20, CPUUsage: time.Duration(id) * 100 * time.Millisecond})
				add("app", fact.Probed{Probe: fact.Liveness, Verdict: fact.Success, Took: time.Duration(3+i%9) * time.Millisecond})
			}
			var failed []fact.ID
			for range 3 {
				failed = append(failed, add("app", fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Took: time.Second, Message: "context deadline exceeded", Evidence: &fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.1:8080/", Timeout: true}}))
			}
			kill := add("app", fact.Kill{Reason: fact.KillLiveness, GraceSeconds: 30}, failed...)
			end := add("app", fact.Exited{ContainerID: "c://1", ExitCode: 137, OOMKnown: true}, kill)
			add("app", fact.BackOff{What: "container", Delay: 10 * time.Second, Until: at.Add(10 * time.Second)}, end)
			run++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	source, err := journal.NewFile(&file)
	if err != nil {
		t.Fatal(err)
	}
	return source
}
