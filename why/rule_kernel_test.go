package why

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// A server that serves one after the other lets connections wait, and does not hang: its
// late answer shows that. Without that answer the two look the same.
func TestOneAfterTheOther(t *testing.T) {
	s := tell(t, web())
	id := s.in("app", noAnswer(fact.Liveness))
	s.wait(2 * time.Second)
	queued := fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "app", Backlog: 1}}}
	late := fact.AskedAgain{Probe: fact.Liveness, Patience: 30 * time.Second, Timeout: time.Second, Verdict: fact.Success, Took: 4 * time.Second, Evidence: &fact.Evidence{Status: 200}}
	for _, b := range []fact.Body{queued, late} {
		s.see("app", s.attempt("app"), b, id)
	}
	s.probe("app", 2, noAnswer(fact.Liveness))
	if v := s.ask().Verdicts[0]; v.Cause != answer.ProbeTimeoutTooShort {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
}

// One that the kernel ended at a limit of CPU time, and then ends in the same way unseen.
func TestCPUTimeAgain(t *testing.T) {
	s := tell(t, web(silentProbe))
	s.in("app", fact.Looked{PID: 100, MaxCPU: time.Second})
	s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true, ByKernel: true})
	s.wait(20 * time.Second)
	s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true})
	if a := s.ask(); a.Verdicts[0].Cause != answer.AppCrashSignal {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
}
