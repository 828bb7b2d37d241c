package fact_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	_ "whylet.dev/whylet/test/fixedseed"
)

// The compressed form of a log's end gives the same lines and times back.
func TestLogEndIsGivenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := fact.LogEnd{All: rapid.Bool().Draw(t, "all")}
		at, timed := time.UnixMilli(1_790_000_000_000).UTC(), rapid.Bool().Draw(t, "timed")
		size := 0
		for range rapid.IntRange(0, 200).Draw(t, "lines") {
			line := rapid.StringMatching(`[^\n]{0,60}`).Draw(t, "line")
			if size += len(line) + 1; size > fact.MostLogEnd {
				break
			}
			want.Lines = append(want.Lines, line)
			if at = at.Add(time.Duration(rapid.IntRange(-2000, 100_000).Draw(t, "ms")) * time.Millisecond); timed {
				want.At = append(want.At, at)
			}
		}
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got fact.LogEnd
		if err := json.Unmarshal(raw, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %+v, want %+v", err, got, want)
		}
	})
}

// What is no log's end, or a bomb, takes nothing but the lines with it.
func TestBadLogEnd(t *testing.T) {
	bomb, err := json.Marshal(fact.LogEnd{Lines: []string{strings.Repeat("x", 1<<20)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{`{}`, `[]`, `7`, `"x"`, `{"text":"!"}`, `{"text":"AAAA"}`, `{"text":7}`, string(bomb)} {
		var b fact.Exited
		if err := json.Unmarshal([]byte(`{"exitCode":3,"logEnd":`+raw+`}`), &b); err != nil || b.ExitCode != 3 || len(b.LogEnd.Lines) > 0 {
			t.Errorf("%s: %v %+v", raw, err, b)
		}
	}
}

// An end keeps the log of a run that failed, where it adds something.
func TestHear(t *testing.T) {
	end := time.UnixMilli(1_790_000_000_000)
	long := &fact.LogEnd{Lines: []string{"a", "b", "c"}, All: true}
	for name, test := range map[string]struct {
		b    fact.Exited
		said fact.LogSaid
		want bool
	}{
		"a failure":           {fact.Exited{ExitCode: 1}, fact.LogSaid{Lines: []string{"c"}, End: long}, true},
		"one that vanished":   {fact.Exited{Vanished: true}, fact.LogSaid{Lines: []string{"c"}, End: long}, true},
		"a success":           {fact.Exited{}, fact.LogSaid{Lines: []string{"c"}, End: long}, false},
		"all is there":        {fact.Exited{ExitCode: 1}, fact.LogSaid{Lines: long.Lines, End: long}, false},
		"all of a longer one": {fact.Exited{ExitCode: 1}, fact.LogSaid{Lines: long.Lines, End: &fact.LogEnd{Lines: long.Lines}}, true},
		"nothing":             {fact.Exited{ExitCode: 1}, fact.LogSaid{}, false},
	} {
		test.b.Hear(test.said, end)
		if got := test.b.LogEnd != nil; got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		if left, _ := fact.WithoutLogLines(fact.Fact{Body: test.b}).Body.(fact.Exited); left.LogEnd != nil {
			t.Errorf("%s: it is kept", name)
		}
	}
}

// A secret in the end of a log does not leave the node.
func TestLogEndIsRedacted(t *testing.T) {
	f := fact.Outward(fact.Fact{Body: fact.Exited{ExitCode: 1, LogEnd: &fact.LogEnd{Lines: []string{"password=hunter2", "bye"}}}})
	raw, err := json.Marshal(f.Body)
	if err != nil {
		t.Fatal(err)
	}
	var b fact.Exited
	if err := json.Unmarshal(raw, &b); err != nil || strings.Contains(strings.Join(b.LogEnd.Lines, " "), "hunter2") {
		t.Errorf("%v %+v", err, b.LogEnd)
	}
}

// FuzzLogEnd reads what a journal or another agent may send.
func FuzzLogEnd(f *testing.F) {
	for _, e := range []fact.LogEnd{{}, {Lines: []string{"a", "b"}, All: true}, {Lines: []string{"a"}, At: []time.Time{time.UnixMilli(1)}}} {
		raw, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e fact.LogEnd
		if json.Valid(raw) && json.Unmarshal(raw, &e) != nil {
			t.Error("an error")
		}
		size := 0
		for _, line := range e.Lines {
			size += len(line)
		}
		if size > 8*fact.MostLogEnd || len(e.At) != 0 && len(e.At) != len(e.Lines) {
			t.Errorf("%d bytes, %d times of %d lines", size, len(e.At), len(e.Lines))
		}
	})
}
