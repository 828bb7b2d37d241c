package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Failed attempts are told where somebody may take them for the reason of an end, and not of a run
// that ended as it started, before any of them could be well.
func TestNoise(t *testing.T) {
	for name, c := range map[string]struct {
		lasted time.Duration
		tale   func(s *tale)
		told   bool
	}{
		"as it started": {2 * time.Second, func(s *tale) { s.probe("app", 1, status(fact.Liveness, 500, "")) }, false},
		"as it started, once well": {2 * time.Second, func(s *tale) {
			s.probe("app", 1, good(fact.Liveness, 1))
			s.probe("app", 1, status(fact.Liveness, 500, ""))
		}, true},
		"later": {20 * time.Second, func(s *tale) { s.probe("app", 2, status(fact.Liveness, 500, "")) }, true},
	} {
		s := tell(t, web())
		c.tale(s)
		started := s.now.Add(-c.lasted)
		s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, StartedAt: started})
		told := slices.ContainsFunc(s.ask().Verdicts[0].RuledOut, func(n answer.Note) bool { return n.Cause == answer.AppUnhealthy })
		if told != c.told {
			t.Errorf("%s: told is %v", name, told)
		}
	}
}

// Several sockets of one address are one.
func TestListeningOnce(t *testing.T) {
	one := fact.Listener{Address: "127.0.0.1:53", Command: "named"}
	if got := listening([]fact.Listener{one, one, {Address: "[::]:53", Command: "named"}}); strings.Count(got, "127.0.0.1") != 1 || !strings.Contains(got, "[::]:53 (named)") {
		t.Error(got)
	}
}

// What room the node had explains a refusal for want of it, and no other.
func TestRefusedChain(t *testing.T) {
	for reason, told := range map[string]bool{"OutOfcpu": true, "SysctlForbidden": false} {
		s := tell(t, web())
		room := s.see("", 0, fact.RoomSeen{Node: "n", Pods: 3})
		s.see("", 0, fact.Refused{Reason: reason, Message: "no", Room: room}, room)
		has := slices.ContainsFunc(s.ask().Verdicts[0].Chain, func(l answer.Link) bool { return l.Kind == (fact.RoomSeen{}).Kind() })
		if has != told {
			t.Errorf("%s: %v", reason, has)
		}
	}
}
