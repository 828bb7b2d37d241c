package why

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// An answer fits one screen, says what each fix does, and ends no terminal's line
// with what an application wrote.
func TestTextOfAnswer(t *testing.T) {
	s := tell(t, web(ready))
	for range 12 {
		s.probe("app", 2, status(fact.Readiness, 503, "no \x1b[31mdatabase\x07"))
		s.in("app", oomOfMain)
		s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
		s.wait(10 * time.Minute)
	}
	a := s.ask()
	check(t, a)
	a.Verdicts[0].LastWords = []string{"one", "two", "three", "four", "FATAL: \x1b[2Jout of memory"}
	text := a.Text(answer.Style{})
	if n := strings.Count(text, "\n"); n > 45 {
		t.Errorf("%d lines:\n%s", n, text)
	}
	for _, want := range []string{"[inspect]", "[recreates]", "FATAL", "last log    two"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "\x1b\x07") {
		t.Errorf("control characters: %q", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if len([]rune(line)) > 130 {
			t.Errorf("a line of %d characters: %s", len([]rune(line)), line)
		}
	}
}

// Where a limit was hit, raising it is never all there is to do.
func TestLimitIsNotTheOnlyFix(t *testing.T) {
	for name, o := range map[string]fact.OOMKilled{"main": oomOfMain, "child": oomOfChild} {
		s := tell(t, web(silentProbe))
		s.in("app", o)
		s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: o.Main})
		other := 0
		for _, f := range s.ask().Verdicts[0].Fixes {
			if f.Risk != answer.Limits && f.Risk != answer.Inspect {
				other++
			}
		}
		if other == 0 {
			t.Errorf("%s: %s", name, fmt.Sprint(s.ask().Verdicts[0].Fixes))
		}
	}
}

// Nothing is to be done in a container that is down, or that comes up for moments only.
func TestNothingRunsInWhatIsDown(t *testing.T) {
	taken := fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{"listen tcp :80: bind: address already in use"}}
	for name, test := range map[string]struct {
		tale func(*tale)
		may  bool
	}{
		"it is up since": {func(s *tale) { s.wait(time.Minute); s.exit("app", taken); s.wait(20 * time.Second) }, true},
		"it is down": {func(s *tale) {
			for range 2 {
				s.wait(time.Minute)
				s.exit("app", taken)
				s.wait(3 * time.Second)
			}
		}, false},
		"it came up for a moment each time": {func(s *tale) { s.exit("app", taken); s.wait(20 * time.Second) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, web(silentProbe))
			test.tale(s)
			a := s.ask()
			if may := strings.Contains(fmt.Sprint(a.Verdicts[0].Fixes), " exec web-1 -c app "); may != test.may {
				t.Errorf("%v: %s", may, a.Text(answer.Style{Wide: true}))
			}
		})
	}
}
