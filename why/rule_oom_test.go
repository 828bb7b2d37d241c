package why

import (
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
		{name: "a program ends with 137", pod: program, symptom: answer.Restarted, cause: answer.MemoryLimit, certainty: answer.Inferred, says: "nobody watched then", tale: ends(137, 0)},
		{name: "what the image runs ends with 137", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimit, certainty: answer.Inferred, tale: ends(137, 0)},
		{name: "a shell ends with 137", pod: shell, symptom: answer.Restarted, cause: answer.CauseUnknown, says: "container-memory-limit-child", tale: ends(137, 0)},
		{name: "it ended with an error of its own", pod: program, symptom: answer.Restarted, cause: answer.MemoryLimitChild, tale: ends(1, 0)},
		{name: "137 much later", pod: program, symptom: answer.Restarted, cause: answer.CauseUnknown, tale: ends(137, time.Minute)},
	} {
		t.Run(q.name, q.run)
	}
}
