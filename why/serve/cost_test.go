package serve

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
)

// What an answer costs the node in processor time, user and system together: the goal is
// below 50 ms for a pod, however long its history is. Of all pods each is asked.

// BenchmarkLongHistory asks about a pod that its liveness probe has ended 300 times, as in
// a day in back-off.
func BenchmarkLongHistory(b *testing.B) {
	j, end := village(b, 1, 300)
	q := Question{Namespace: "shop", Name: "pod-0"}
	q.Now = end
	costs(b, func() {
		a, err := One(j, q)
		if err != nil || a.Verdicts[0].Cause != answer.AppHang || a.Text(answer.Style{}) == "" {
			b.Fatal(a.Text(answer.Style{}), err)
		}
	})
}

// BenchmarkAllPods asks about all of a hundred pods that were ended three times each.
func BenchmarkAllPods(b *testing.B) {
	j, end := village(b, 100, 3)
	q := Question{}
	q.Now = end
	costs(b, func() {
		if all, err := All(j, q); err != nil || len(all) != 100 {
			b.Fatal(len(all), err)
		}
	})
}

// What is read once for all pods gives each the answer that it gets alone.
func TestAllAsAlone(t *testing.T) {
	j, end := village(t, 5, 2)
	q := Question{}
	q.Now = end
	all, err := All(j, q)
	if err != nil || len(all) != 5 {
		t.Fatal(len(all), err)
	}
	for _, a := range all {
		alone := Question{Namespace: a.Subject.Namespace, Name: a.Subject.Name}
		alone.Now = end
		b, err := One(j, alone)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Verdicts {
			b.Verdicts[i].SteadySince = time.Time{} // of many it is not tried
		}
		if asked, told := a.Text(answer.Style{Wide: true}), b.Text(answer.Style{Wide: true}); asked != told {
			t.Errorf("among all:\n%s\nalone:\n%s", asked, told)
		}
	}
}

// costs reports the processor time of each round, that of the garbage collector with it.
func costs(b *testing.B, round func()) {
	b.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	b.ResetTimer()
	before := used()
	for b.Loop() {
		round()
	}
	b.ReportMetric(float64((used()-before).Microseconds())/1000/float64(b.N), "cpu-ms/question")
}

// village is a journal of pods that hang again and again, until their probe ends them; and
// when that was.
func village(b testing.TB, pods, ends int) (*journal.Journal, time.Time) {
	b.Helper()
	j, err := journal.Open(b.TempDir(), journal.Options{MaxBytes: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close() })
	end := time.Time{}
	for i := range pods {
		v := &villager{b: b, j: j, state: health.New(health.Policy{}), now: time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)}
		v.pod = fact.Pod{Namespace: "shop", Name: fmt.Sprintf("pod-%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i))}
		v.lives(ends)
		if v.now.After(end) {
			end = v.now
		}
	}
	return j, end
}

// villager is one pod: what happens to it is told, and what is decided follows.
type villager struct {
	b     testing.TB
	j     *journal.Journal
	pod   fact.Pod
	state health.State
	now   time.Time
	tries int32
	since int // facts since the last checkpoint
}

// checkpointEvery is how many facts the node lets come between two checkpoints.
const checkpointEvery = 200

func (v *villager) lives(ends int) {
	probe := &v1.Probe{TimeoutSeconds: 1, PeriodSeconds: 2, FailureThreshold: 3, SuccessThreshold: 1, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}}
	grace := int64(1)
	v.see("", fact.SpecSeen{Source: "api", Object: &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.pod.Namespace, Name: v.pod.Name, UID: v.pod.UID, Generation: 1},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace,
			Containers: []v1.Container{{Name: "app", Image: "app:1", LivenessProbe: probe, ReadinessProbe: probe}},
		},
	}})
	v.see("", fact.Admitted{})
	for range ends {
		tries := v.tries
		v.run()
		v.due(tries, v.now.Add(10*time.Minute))
	}
	v.run()
}

// run is one run of the container, until the node has ended it.
func (v *villager) run() {
	well, hung := fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.1:8080/", Status: 200}, fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.1:8080/", Connect: time.Millisecond, Timeout: true}
	look := func(waiting int) fact.Looked {
		return fact.Looked{
			PID: 100, State: "S", Processes: 1, Over: time.Second, Said: []string{"INFO ready", "INFO a request"},
			Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "app", Backlog: waiting}},
		}
	}
	for _, kind := range []fact.ProbeKind{fact.Liveness, fact.Readiness} {
		v.see("app", fact.Probed{Probe: kind, Verdict: fact.Success, Took: time.Millisecond, Evidence: &well})
	}
	v.see("app", look(0))
	for range 6 { // as often as it is looked at while it is well
		v.now = v.now.Add(10 * time.Second)
		v.see("app", fact.Sampled{MemoryCurrent: 20 << 20, MemoryLimit: 64 << 20, PIDs: 4})
	}
	for range 3 {
		v.now = v.now.Add(2 * time.Second)
		for _, kind := range []fact.ProbeKind{fact.Readiness, fact.Liveness} {
			v.see("app", fact.Probed{Probe: kind, Verdict: fact.Failure, Took: time.Second, Message: "no answer", Evidence: &hung})
		}
		v.see("app", look(3))
	}
}

// see records what is observed and what is decided of it, and lets that happen.
func (v *villager) see(container string, body fact.Body, because ...fact.ID) {
	v.now = v.now.Add(time.Millisecond)
	attempt := v.tries
	if container == "" {
		attempt = 0
	}
	f := fact.Fact{ID: v.j.Next(1), At: v.now, Seen: v.now, Pod: v.pod, Container: container, Attempt: attempt, Because: because, Body: body}
	next, decisions := health.Step(v.state, f)
	v.state = next
	all := []fact.Fact{f}
	for _, d := range decisions {
		all = append(all, d.Fact(v.j.Next(1), f))
	}
	if v.since += len(all); v.since >= checkpointEvery {
		state, err := v.state.MarshalJSON()
		if err != nil {
			v.b.Fatal(err)
		}
		v.since = 0
		all = append(all, fact.Fact{ID: v.j.Next(1), At: v.now, Seen: v.now, Pod: v.pod, Body: fact.Checkpoint{State: state}})
	}
	if err := v.j.Append(all...); err != nil {
		v.b.Fatal(err)
	}
	for _, d := range all[1:] {
		switch b := d.Body.(type) {
		case fact.SetUp:
			v.see("", fact.SetUpDone{SandboxID: "s", Attempt: b.Attempt}, d.ID)
		case fact.Start:
			v.tries = d.Attempt
			v.see("app", fact.Created{ContainerID: fmt.Sprint(d.Attempt)}, d.ID)
			v.see("app", fact.Started{ContainerID: fmt.Sprint(d.Attempt), PID: 100}, d.ID)
		case fact.Kill:
			v.see("app", fact.Exited{ContainerID: fmt.Sprint(d.Attempt), ExitCode: 143, OOMKnown: true, LastLines: []string{"INFO ready", "INFO a request"}}, d.ID)
		}
	}
}

// due lets time pass until the start after that many.
func (v *villager) due(tries int32, until time.Time) {
	for v.tries == tries {
		at := health.Deadline(v.state)
		if at.IsZero() || at.After(until) {
			v.b.Fatalf("%s is not started again", v.pod.Name)
		}
		if at.After(v.now) {
			v.now = at
		}
		v.see("", fact.TimePassed{})
	}
}
