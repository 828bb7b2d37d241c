package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// A container that nobody probes serves nobody when the process that listened is gone.
func TestListenerEndedUnseen(t *testing.T) {
	unprobed := web(func(c *v1.Container) { c.LivenessProbe = nil })
	listens := func(l ...fact.Listener) fact.Looked {
		return fact.Looked{PID: 100, State: "S", Over: time.Second, Listeners: l}
	}
	node := fact.Listener{Address: "0.0.0.0:3000", PID: 117, Command: "node"}
	for name, test := range map[string]struct {
		ended fact.ProcessEnded
		now   fact.Looked
		cause answer.Cause
	}{
		"it ended with an error":       {fact.ProcessEnded{PID: 117, Command: "node", ExitCode: 1}, listens(), answer.ChildProcessEnded},
		"another listens there again":  {fact.ProcessEnded{PID: 117, Command: "node", ExitCode: 1}, listens(fact.Listener{Address: "0.0.0.0:3000", PID: 130}), answer.None},
		"it was one that never served": {fact.ProcessEnded{PID: 118, Command: "sh", ExitCode: 1}, listens(), answer.None},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, unprobed)
			s.in("app", listens(node))
			s.wait(time.Minute)
			s.in("app", test.ended)
			s.wait(5 * time.Second)
			s.in("app", test.now)
			v := s.ask().Verdicts[0]
			if v.Cause != test.cause || test.cause != answer.None && !strings.Contains(v.Text, "0.0.0.0:3000") {
				t.Errorf("%s: %s", v.Cause, v.Text)
			}
		})
	}
}
