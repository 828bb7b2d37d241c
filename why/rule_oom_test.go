package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Of an OOM kill of before anybody watched it is not known whom it took: the end tells what
// can be told, and a shell's end both.
func TestAnOOMKillOfBeforeAnybodyWatched(t *testing.T) {
	open := oomOfChild
	open.MainOpen = true
	shell := web(silentProbe, func(c *v1.Container) { c.Command = []string{"/bin/sh", "-c", "work"} })
	program := web(silentProbe, func(c *v1.Container) { c.Command = []string{"/app", "serve"} })
	ends := func(code int32, after time.Duration) func(*tale) {
		return func(s *tale) {
			s.in("app", open)
			s.wait(after)
			s.exit("app", fact.Exited{ExitCode: code, RuntimeReason: "OOMKilled"})
		}
	}
	for _, q := range []question{
		{name: "a program ends with 137", pod: program, symptom: answer.Restarted, cause: answer.MemoryLimit, certainty: answer.Inferred, says: "nobody saw which process it was", tale: ends(137, 0)},
		{name: "what the image runs ends with 137", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimit, certainty: answer.Inferred, tale: ends(137, 0)},
		{name: "a shell ends with 137", pod: shell, symptom: answer.Restarted, cause: answer.CauseUnknown, says: "container-memory-limit-child", tale: ends(137, 0)},
		{name: "it ended with an error of its own", pod: program, symptom: answer.Restarted, cause: answer.MemoryLimitChild, tale: ends(1, 0)},
		{name: "137 much later", pod: program, symptom: answer.Restarted, cause: answer.CauseUnknown, tale: ends(137, time.Minute)},
	} {
		t.Run(q.name, q.run)
	}
}

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
