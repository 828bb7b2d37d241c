package why

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// An error of the GPU is shown beside the end of the program that used it, and of no other.
func TestGPUError(t *testing.T) {
	fell := fact.GPUError{Device: "0000:3b:00", Code: 79, PID: 100, Command: "train", Message: "pid=100, name=train, GPU has fallen off the bus."}
	crash := fact.Exited{ContainerID: "app-a", ExitCode: 1, OOMKnown: true, LastLines: []string{"RuntimeError: CUDA error: unspecified launch failure"}}
	for _, q := range []question{
		{name: "just before", contributing: []answer.Cause{answer.AppExitError}, tale: func(s *tale) {
			s.in("app", fell)
			s.wait(2 * time.Second)
			s.in("app", crash)
		}},
		{name: "an hour before", contributing: []answer.Cause{}, tale: func(s *tale) {
			s.in("app", fell)
			s.wait(time.Hour)
			s.in("app", crash)
		}},
	} {
		q.pod, q.symptom, q.cause = web(), answer.Restarted, answer.AppExitError
		t.Run(q.name, q.run)
	}
}
