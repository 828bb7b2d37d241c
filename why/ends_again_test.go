package why

import (
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
