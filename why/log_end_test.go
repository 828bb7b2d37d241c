package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/words"
)

// An end is told by the log that was kept, and not by the lines that its agent chose of it: here one that chose badly.
func TestReread(t *testing.T) {
	const why = `FATAL:  no pg_hba.conf entry for host "10.42.0.9", user "shop", database "shop", no encryption`
	s := tell(t, web(silentProbe))
	s.wait(10 * time.Second)
	s.exit("app", fact.Exited{
		ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{"bye"},
		LogEnd: &fact.LogEnd{Lines: []string{"starts", why, "bye"}, All: true},
	})
	s.facts = Reread(s.facts)
	if v := s.ask().Verdicts[0]; !strings.Contains(v.Text, "no pg_hba.conf entry") || !slices.Contains(v.LastWords, why) {
		t.Errorf("%s %q", v.Text, v.LastWords)
	}
}

// What was chosen from before the end of a log stays, in its place and with its time; without an end nothing changes.
func TestRereadKeepsWhatCameBefore(t *testing.T) {
	ended := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	at := func(s ...int) (all []time.Time) {
		for _, n := range s {
			all = append(all, ended.Add(-time.Duration(n)*time.Second))
		}
		return all
	}
	b := fact.Exited{
		ExitCode: 1, LastLines: []string{"Error: first", "bye"}, LastLinesAt: at(60, 2),
		LogEnd: &fact.LogEnd{Lines: []string{"goes on", "bye"}, At: at(30, 2)},
	}
	facts := []fact.Fact{{At: ended, Body: b}, {At: ended, Body: fact.Exited{ExitCode: 1, LastLines: []string{"old"}}}}
	got := Reread(facts)
	first, _ := got[0].Body.(fact.Exited)
	if fmt.Sprint(first.LastLines) != "[Error: first goes on bye]" || !slices.Equal(first.LastLinesAt, at(60, 30, 2)) || first.LogEnd != nil {
		t.Errorf("%+v", first)
	}
	if old, _ := got[1].Body.(fact.Exited); fmt.Sprint(old.LastLines) != "[old]" {
		t.Errorf("%+v", old)
	}
	raw := []string{"\x1b[31mError: red\x1b[0m", `{"level":"error","msg":"long","stack":"` + strings.Repeat("x", fact.MostLastBytes) + `"}`, strings.Repeat("y", 2*fact.MostLastBytes)}
	for _, line := range raw {
		kept, _ := words.Keep([]string{line}, 1, fact.MostLastBytes)
		again, _ := Reread([]fact.Fact{{Body: fact.Exited{LastLines: kept, LogEnd: &fact.LogEnd{Lines: []string{line}}}}})[0].Body.(fact.Exited)
		if kept[0] == line || !slices.Equal(again.LastLines, kept) {
			t.Errorf("%q became %q", kept, again.LastLines)
		}
	}
	if b, _ := facts[0].Body.(fact.Exited); b.LogEnd == nil || len(b.LastLines) != 2 {
		t.Error("the facts themselves were changed")
	}
}
