package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// What an answer says of OOM kills, it says in all of its parts: none beside one is no
// answer. Records come late, and of the end they were counted too soon.
func TestOOMKillsDoNotContradict(t *testing.T) {
	denies := []string{"no OOM kill", "was OOM-killed (its oom_kill counter is 0)", "was not OOM-killed"}
	for _, before := range []time.Duration{0, time.Second, 3 * time.Second, time.Minute} {
		for _, exit := range []fact.Exited{
			{OOMKnown: true, ByKernel: true},
			{ByKernel: true},
			{OOMKnown: true},
			{},
			{OOMKnown: true, ByKernel: true, OOMKills: 1},
			{OOMKnown: true, OOMKills: 1, MainOOMKilled: true},
			{RuntimeReason: "OOMKilled"},
		} {
			for _, pod := range []*v1.Pod{web(silentProbe), web(silentProbe, func(c *v1.Container) { c.Resources.Limits = nil })} {
				s := tell(t, pod)
				s.in("app", oomOfChild)
				s.wait(before)
				exit.ExitCode, exit.Signal, exit.StatusKnown = 137, 9, true
				s.exit("app", exit)
				a := s.ask()
				check(t, a)
				text := strings.Join(strings.Fields(a.Text(answer.Style{Wide: true})), " ")
				for _, no := range denies {
					if strings.Contains(text, no) && strings.Contains(strings.ReplaceAll(text, no, ""), "was OOM-killed") && !strings.Contains(text, "seen in it then") {
						t.Errorf("%s before, %+v: %q beside a kill:\n%s", before, exit, no, a.Text(answer.Style{Wide: true}))
					}
				}
				if v := a.Verdicts[0]; exit.ByKernel && before <= time.Second && v.Cause != answer.MemoryLimit {
					t.Errorf("%s before, %+v: %s", before, exit, v.Text)
				}
			}
		}
	}
}
