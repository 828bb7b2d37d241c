package why

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// A main process that listens and whose workers all end as they begin answers nobody: it neither hangs nor is busy.
func TestWorkersThatEnd(t *testing.T) {
	look := fact.Looked{
		PID: 100, State: "S", Processes: 2, CPUUsed: 800 * time.Millisecond, Over: time.Second, Said: []string{"usage: gunicorn [-h] [--resize]", "gunicorn: error: unrecognized arguments: --chdir /srv app:app"},
		Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "gunicorn", Backlog: 2}},
	}
	for name, test := range map[string]struct {
		ended fact.ProcessEnded
		times int
		cause answer.Cause
	}{
		"each worker":       {fact.ProcessEnded{PID: 117, Command: "gunicorn", ExitCode: 2}, 4, answer.ChildProcessEnded},
		"many at once":      {fact.ProcessEnded{PID: 117, Command: "gunicorn", ExitCode: 2, Alike: 2}, 2, answer.ChildProcessEnded},
		"one worker":        {fact.ProcessEnded{PID: 117, Command: "gunicorn", ExitCode: 2}, 1, answer.AppOverloaded},
		"a probe's command": {fact.ProcessEnded{PID: 117, Parent: 90, Command: "sh", ExitCode: 1}, 4, answer.AppOverloaded},
		"those end well":    {fact.ProcessEnded{PID: 117, Command: "gunicorn"}, 4, answer.AppOverloaded},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, web(func(c *v1.Container) { c.ReadinessProbe, c.LivenessProbe = c.LivenessProbe, nil }))
			for i := range 4 {
				s.in("app", attempt(fact.Readiness, fact.Evidence{Timeout: true, Connect: time.Millisecond}))
				s.wait(time.Second)
				if i >= 4-test.times {
					s.in("app", test.ended)
				}
				s.in("app", look)
				s.wait(time.Second)
			}
			if v := s.ask().Verdicts[0]; v.Cause != test.cause {
				t.Errorf("%s: %s", v.Cause, v.Text)
			}
		})
	}
}
