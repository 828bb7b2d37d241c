package why

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// What was seen at an earlier end explains the last one, as far as they are alike.
func TestAsBefore(t *testing.T) {
	hang := func(s *tale) {
		s.probe("app", 2, good(fact.Liveness, time.Millisecond))
		s.in("app", noAnswer(fact.Liveness))
		s.in("app", fact.Looked{PID: 100, State: "S", Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Backlog: 3}}})
		s.probe("app", 2, noAnswer(fact.Liveness))
	}
	unseen := func(s *tale) {
		s.wait(time.Minute)
		s.probe("app", 2, good(fact.Liveness, time.Millisecond))
		s.probe("app", 3, noAnswer(fact.Liveness))
	}
	full := fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{"dd: writing '/v/f': No space left on device"}}
	for _, q := range []question{
		{name: "the same again", cause: answer.AppHang, says: "at an earlier end", tale: func(s *tale) {
			hang(s)
			unseen(s)
		}},
		{name: "never seen", cause: answer.CauseUnknown, tale: func(s *tale) {
			unseen(s)
			unseen(s)
		}},
		{name: "it failed in another way", cause: answer.CauseUnknown, tale: func(s *tale) {
			hang(s)
			s.wait(time.Minute)
			s.probe("app", 2, good(fact.Liveness, time.Millisecond))
			s.probe("app", 3, connectionRefused(fact.Liveness))
		}},
		{name: "the last end rules it out", cause: answer.AppOverloaded, tale: func(s *tale) {
			hang(s)
			s.wait(time.Minute)
			s.probe("app", 2, good(fact.Liveness, time.Millisecond))
			s.in("app", noAnswer(fact.Liveness))
			s.in("app", fact.Looked{PID: 200, State: "R", CPUUsed: time.Second, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 200}}})
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "the spec was changed since", cause: answer.CauseUnknown, tale: func(s *tale) {
			hang(s)
			changed := web()
			changed.Generation = 2
			s.see("", 0, fact.SpecSeen{Object: changed, Source: "api"})
			unseen(s)
		}},
		{name: "it ended by itself", cause: answer.AppExitError, tale: func(s *tale) {
			hang(s)
			s.wait(time.Minute)
			s.exit("app", fact.Exited{ExitCode: 3, StatusKnown: true, OOMKnown: true})
		}},
		{name: "the same exit code, and no words this time", cause: answer.DiskFull, says: "at an earlier end", tale: func(s *tale) {
			s.exit("app", full)
			s.wait(time.Minute)
			s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true})
		}},
		{name: "another exit code", cause: answer.AppExitError, tale: func(s *tale) {
			s.exit("app", full)
			s.wait(time.Minute)
			s.exit("app", fact.Exited{ExitCode: 2, StatusKnown: true, OOMKnown: true})
		}},
		{name: "the same exit code with other words", cause: answer.AppExitError, tale: func(s *tale) {
			s.exit("app", full)
			s.wait(time.Minute)
			s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{"the queue is gone"}})
		}},
		{name: "its words were of several causes", cause: answer.AppExitError, tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{"the queue is gone"}})
			s.wait(time.Minute)
			s.exit("app", full)
			s.wait(time.Minute)
			s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true})
		}},
	} {
		t.Run(q.name, func(t *testing.T) {
			q.pod, q.symptom = web(), answer.Restarted
			q.run(t)
		})
	}
}
