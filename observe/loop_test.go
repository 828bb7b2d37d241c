package observe

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

var dawn = time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)

// at is some seconds after dawn.
func at(seconds float64) time.Time { return dawn.Add(time.Duration(seconds * float64(time.Second))) }

var web = fact.Pod{Namespace: "shop", Name: "web", UID: "u"}

func theSpec() *v1.Pod {
	liveness := &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}, PeriodSeconds: 2, TimeoutSeconds: 1, FailureThreshold: 2}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app", LivenessProbe: liveness}}},
	}
}

// about is a fact of container app's run.
func about(attempt int32, seconds float64, body fact.Body) fact.Fact {
	return fact.Fact{At: at(seconds), Seen: at(seconds), Pod: web, Container: "app", Attempt: attempt, Body: body}
}

func start(attempt int32, seconds float64, id string) fact.Fact {
	return about(attempt, seconds, fact.Started{ContainerID: "containerd://" + id, PID: 7})
}

func end(attempt int32, seconds float64, id string, code int32) fact.Fact {
	return about(attempt, seconds, fact.Exited{ContainerID: "containerd://" + id, ExitCode: code})
}

func spec() fact.Fact {
	return fact.Fact{At: dawn, Seen: dawn, Pod: web, Body: fact.SpecSeen{Object: theSpec()}}
}

// kept is a memory in memory.
type kept struct {
	next  fact.ID
	facts []fact.Fact
}

func (k *kept) Next(n int) fact.ID {
	first := k.next + 1
	k.next += fact.ID(n)
	return first
}

func (k *kept) Append(facts ...fact.Fact) error { k.facts = append(k.facts, facts...); return nil }

func (k *kept) kinds() []fact.Kind {
	var all []fact.Kind
	for _, f := range k.facts {
		all = append(all, f.Body.Kind())
	}
	return all
}

func aLoop() (*loop, *kept) {
	k := &kept{}
	return newLoop(k, clock{}, slog.New(slog.DiscardHandler)), k
}

// Of a pod that the API server has not told of, what others tell waits until it does.
func TestWhatComesEarlyWaits(t *testing.T) {
	l, k := aLoop()
	l.take(start(0, 1, "a"))
	if len(k.facts) != 0 {
		t.Fatalf("%v", k.kinds())
	}
	l.take(spec())
	if want := []fact.Kind{"SpecSeen", "Started"}; !slices.Equal(k.kinds(), want) {
		t.Errorf("%v, want %v", k.kinds(), want)
	}
	other := start(0, 1, "x")
	other.Pod.UID = "another"
	l.take(other)
	l.sweep(at(1).Add(2 * keepEarly))
	if len(k.facts) != 3 {
		t.Errorf("what nobody knows of is kept in the end: %v", k.kinds())
	}
}

// Lines of a log are kept of no pod whose annotations are not known, and of one that is gone only where it had allowed it.
func TestLinesOfPodsThatAreNotKnown(t *testing.T) {
	said := func(attempt int32) fact.Fact {
		return about(attempt, 9, fact.Exited{ContainerID: fmt.Sprint("containerd://", attempt), ExitCode: 1, LastLines: []string{"x"}, LogEnd: &fact.LogEnd{Lines: []string{"x"}}})
	}
	refuses := spec()
	object := theSpec()
	object.Annotations = map[string]string{fact.LogLines: "false"}
	refuses.Body = fact.SpecSeen{Object: object}
	gone := fact.Fact{At: at(5), Seen: at(5), Pod: web, Body: fact.ObjectGone{}}
	for name, test := range map[string]struct {
		before []fact.Fact
		want   bool
	}{
		"known":                    {[]fact.Fact{spec()}, true},
		"known, and refuses":       {[]fact.Fact{refuses}, false},
		"gone":                     {[]fact.Fact{spec(), gone, gone}, true},
		"gone, and refused":        {[]fact.Fact{refuses, gone, gone}, false},
		"never heard of":           {nil, false},
		"gone before it was known": {[]fact.Fact{gone}, false},
	} {
		l, k := aLoop()
		for _, f := range test.before {
			l.take(f)
		}
		l.take(said(0))
		l.sweep(at(9).Add(2 * keepEarly))
		l.take(said(1))
		ends := 0
		for _, f := range k.facts {
			if b, ok := f.Body.(fact.Exited); ok {
				if ends++; fact.HasLogLines(f) != test.want {
					t.Errorf("%s: %+v", name, b)
				}
			}
		}
		if ends != 2 {
			t.Errorf("%s: %d ends are written", name, ends)
		}
	}
}

// What a pod that is gone had allowed is known after a restart.
func TestGonePodsAreRestoredWithWhatTheyAllowed(t *testing.T) {
	for says, want := range map[string]bool{"": true, "false": false} {
		quiet := slog.New(slog.DiscardHandler)
		j, err := journal.Open(t.TempDir(), journal.Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		object := theSpec()
		object.Annotations = map[string]string{fact.LogLines: says}
		l := newLoop(j, clock{}, quiet)
		for _, b := range []fact.Body{fact.SpecSeen{Object: object}, fact.ObjectGone{}, fact.ObjectGone{}} {
			l.take(fact.Fact{At: dawn, Seen: dawn, Pod: web, Body: b})
		}
		l = newLoop(j, clock{}, quiet)
		if _, err := l.restore(j); err != nil {
			t.Error(err)
		}
		if _, known := l.gone[web.UID]; !known || l.allowsLines(web.UID) != want {
			t.Errorf("%q: gone is known: %v, keeps: %v", says, known, l.allowsLines(web.UID))
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Several sources tell the same: it is written once, and an image's words anew only
// where they are others.
func TestNothingIsToldTwice(t *testing.T) {
	l, k := aLoop()
	pull := func(why string) fact.Fact { return about(0, 1, fact.ImageFailed{Image: "i", Message: why}) }
	for _, f := range []fact.Fact{
		spec(), spec(), pull("no answer"), pull("no answer"), pull("not found"), pull("no answer"),
		start(0, 2, "a"), start(0, 2, "a"), end(0, 3, "a", 1), end(0, 3, "a", 1), start(0, 2, "a"),
	} {
		l.take(f)
	}
	want := []fact.Kind{"SpecSeen", "ImageFailed", "ImageFailed", "ImageFailed", "Started", "Exited"}
	if !slices.Equal(k.kinds(), want) {
		t.Errorf("%v, want %v", k.kinds(), want)
	}
}

// What kubelet must have decided is written with what shows it, and names it.
func TestActsAreWritten(t *testing.T) {
	l, k := aLoop()
	l.take(spec())
	l.take(start(0, 1, "a"))
	l.take(about(0, 9, fact.Signalled{Signal: 15, PID: 7, Main: true, Origin: fact.FromNode}))
	l.take(end(0, 9.1, "a", 143))
	l.take(about(0, 9.2, fact.Counted{Probe: fact.Liveness, Failures: 2, NewFailures: 2, From: at(5)}))
	last := k.facts[len(k.facts)-1]
	b, ok := last.Body.(fact.Act)
	kill, killed := b.Body.(fact.Kill)
	if !ok || !killed || b.Basis != fact.Matched || kill.Reason != fact.KillLiveness || len(last.Because) < 2 {
		t.Fatalf("%+v", last)
	}
	for _, id := range last.Because {
		if id == 0 || id >= last.ID {
			t.Errorf("because of #%d, which came no sooner than #%d", id, last.ID)
		}
	}
}

// A later agent knows what an earlier one knew: a pod's runs, what was told of it, and
// that it is gone.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	open := func() *journal.Journal {
		j, err := journal.Open(dir, journal.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	quiet := slog.New(slog.DiscardHandler)
	j := open()
	l := newLoop(j, clock{}, quiet)
	l.take(spec())
	l.take(fact.Fact{At: dawn, Seen: dawn, Pod: web, Body: fact.StatusSeen{Status: v1.PodStatus{PodIP: "10.42.0.7"}}})
	for i := range int32(checkpointEvery) { // over a checkpoint
		l.take(start(i, float64(4*i), string('a'+i%26)+"-"+time.Duration(i).String()))
		l.take(end(i, float64(4*i+1), string('a'+i%26)+"-"+time.Duration(i).String(), 1))
	}
	l.take(start(checkpointEvery, 4*checkpointEvery, "last"))
	was := l.shadows["u"]
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}

	j = open()
	defer j.Close()
	l = newLoop(j, clock{}, quiet)
	last, err := l.restore(j)
	if err != nil || !last.Equal(at(4*checkpointEvery)) {
		t.Errorf("last %v, %v", last, err)
	}
	if r, ok := l.runs.known("u", "app", "containerd://last"); !ok || r.over || r.attempt != checkpointEvery {
		t.Errorf("%+v, %v", r, ok)
	}
	if is := l.shadows["u"]; is.Runs["app"].Start != was.Runs["app"].Start || is.Object == nil {
		t.Errorf("%+v, was %+v", is, was)
	}
	if pod, _ := l.pods.Get("u"); pod.Status.PodIP != "10.42.0.7" {
		t.Errorf("its status is %+v", pod.Status)
	}
	if !l.toldBefore(start(checkpointEvery, 4*checkpointEvery, "last")) {
		t.Error("the start that was told is told again")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.vanished(func(types.UID) bool { return false })
	}()
	for _, want := range []fact.Kind{"DeletionSeen", "ObjectGone"} {
		f := <-l.facts
		if f.Body.Kind() != want {
			t.Errorf("%s, want %s", f.Body.Kind(), want)
		}
		l.take(f)
	}
	<-done
	if _, ok := l.shadows["u"]; ok {
		t.Error("a pod that is gone is remembered")
	}
}

// A moment belongs to the run that went on then; between two to the one that had ended.
func TestRunsAt(t *testing.T) {
	r := newRuns()
	for _, f := range []fact.Fact{start(0, 0, "a"), end(0, 10, "a", 1), start(1, 20, "b"), end(1, 30, "b", 1), start(2, 40, "c")} {
		r.take(f)
	}
	for seconds, want := range map[float64]int32{1: 0, 10: 0, 15: 0, 20.5: 1, 35: 1, 41: 2, 99: 2} {
		if got, ok := r.exactly("u", "app", at(seconds)); !ok || got != want {
			t.Errorf("after %v s: run %d, want %d", seconds, got, want)
		}
	}
	if got, _ := r.at("u", "app", at(39.5)); got != 2 {
		t.Errorf("to the second: run %d", got)
	}
	if _, ok := r.at("u", "other", at(1)); ok {
		t.Error("a container that nobody knows has no run")
	}
}

// What is written has no lines where the namespace wants none.
func TestNamespaceWithoutLines(t *testing.T) {
	for keeps, want := range map[bool]int{true: 1, false: 0} {
		l, k := aLoop()
		l.keep = func(f fact.Fact) fact.Fact {
			if !keeps {
				f = fact.WithoutLogLines(f)
			}
			return f
		}
		l.take(spec())
		l.take(start(0, 1, "a"))
		l.take(about(0, 2, fact.Exited{ContainerID: "containerd://a", ExitCode: 1, LastLines: []string{"card 4111"}, LogEnd: &fact.LogEnd{Lines: []string{"card 4111"}}}))
		got := -1
		for _, f := range k.facts {
			if b, ok := f.Body.(fact.Exited); ok {
				got = len(b.LastLines)
				if (b.LogEnd != nil) != keeps {
					t.Errorf("kept %t: the end of its log is %+v", keeps, b.LogEnd)
				}
			}
		}
		if got != want {
			t.Errorf("kept %t: %d lines are written, want %d", keeps, got, want)
		}
	}
}
