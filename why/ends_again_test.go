package why

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// What a probe finds of a container that ends by itself again and again follows from that,
// until a run lasts longer than such runs do.
func TestEndsAgain(t *testing.T) {
	for name, test := range map[string]struct {
		lasts time.Duration
		want  int
	}{
		"it has just started again": {time.Second, 1},
		"it lasts":                  {time.Minute, 2},
	} {
		s := tell(t, web(func(c *v1.Container) { c.LivenessProbe, c.ReadinessProbe = nil, httpProbe(8080) }))
		s.wait(3 * time.Second)
		s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true})
		s.wait(time.Second)
		s.probe("app", 2, connectionRefused(fact.Readiness))
		s.wait(test.lasts)
		a := s.ask()
		if len(a.Verdicts) != test.want || a.Verdicts[0].Cause != answer.AppExitError {
			t.Errorf("%s: %d verdicts:\n%s", name, len(a.Verdicts), a.Text(answer.Style{Wide: true}))
		}
	}
}

// A pod that is ready only while a container runs that ends soon again is told as not
// ready in between as well: the answer does not flip with each start.
func TestReadyForMoments(t *testing.T) {
	for name, test := range map[string]struct {
		ago  time.Duration
		want bool
	}{
		"it waits to be started":    {0, true},
		"it has just started again": {500 * time.Millisecond, true},
		"it runs longer this time":  {5 * time.Second, false},
	} {
		s := tell(t, with("side")(web(silentProbe)))
		for range 2 {
			s.wait(time.Second)
			s.exit("side", fact.Exited{ExitCode: 1, OOMKnown: true})
		}
		if test.ago > 0 {
			s.wait(10 * time.Second)
			s.wait(test.ago)
		}
		a := s.ask()
		if told := slices.ContainsFunc(a.Verdicts, func(v answer.Verdict) bool { return v.Cause == answer.SiblingNotReady }); told != test.want {
			t.Errorf("%s: told %v:\n%s", name, told, a.Text(answer.Style{Wide: true}))
		}
	}
}

// What is refused because a container has just crashed follows the crash, and only until it
// should have come up again.
func TestComesUpAgain(t *testing.T) {
	for name, test := range map[string]struct {
		lasts time.Duration
		want  answer.Cause
	}{
		"it has just started again": {0, answer.MemoryLimit},
		"it should be up by now":    {time.Minute, answer.CauseUnknown},
	} {
		s := tell(t, web(func(c *v1.Container) { c.LivenessProbe, c.ReadinessProbe = nil, httpProbe(8080) }))
		s.probe("app", 2, good(fact.Readiness, time.Millisecond))
		s.wait(time.Minute)
		s.in("app", oomOfMain)
		s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
		s.probe("app", 1, connectionRefused(fact.Readiness))
		s.wait(test.lasts)
		a := s.ask()
		i := slices.IndexFunc(a.Symptoms, func(s answer.Symptom) bool { return s.Kind == answer.NotReady })
		if i < 0 || a.Verdicts[i].Cause != test.want {
			t.Errorf("%s:\n%s", name, a.Text(answer.Style{Wide: true}))
		}
	}
}
