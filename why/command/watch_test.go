package command

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whylet.dev/whylet/why/answer"
)

// A question that is followed prints a line for what is new, changes or is over, and
// says once that nobody answers.
func TestFollow(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	one := func(kind answer.SymptomKind, count int, cause answer.Cause) []answer.Answer {
		return []answer.Answer{{
			AsOf: at, Subject: answer.Subject{Kind: "Pod", Namespace: "shop", Name: "web-1"},
			Symptoms: []answer.Symptom{{ID: "s1", Kind: kind, Count: count}},
			Verdicts: []answer.Verdict{{Symptom: "s1", Cause: cause, Text: "Because."}},
		}}
	}
	away := errors.New("nobody listens")
	turns := []struct {
		answers []answer.Answer
		err     error
		out     string
	}{
		{one(answer.Healthy, 0, answer.None), nil, "T pod shop/web-1 Healthy none Because.\n"},
		{one(answer.Healthy, 0, answer.None), nil, ""},
		{one(answer.Restarted, 1, answer.ProbeWrongPort), nil, "T pod shop/web-1 Restarted probe-wrong-port Because.\n"},
		{nil, away, "error: nobody listens\n"},
		{nil, away, ""},
		{one(answer.Restarted, 2, answer.ProbeWrongPort), nil, "T pod shop/web-1 Restarted ×2 probe-wrong-port Because.\n"},
		{one(answer.Healthy, 0, answer.None), nil, "T pod shop/web-1 Healthy none Because.\nT pod shop/web-1 no longer Restarted\n"},
		{one(answer.Degraded, 3, answer.DependencyDown), nil, "T pod shop/web-1 Degraded ×3 dependency-down Because.\n"},
		{one(answer.Degraded, 4, answer.DependencyDown), nil, ""},
	}
	var out bytes.Buffer
	o := &options{Env: Env{Out: &out, Err: &out}, output: "text"}
	turn := 0
	ask := func() ([]answer.Answer, error) { return turns[turn].answers, turns[turn].err }
	wait := func(context.Context) bool {
		got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`).ReplaceAllString(out.String(), "T")
		got = regexp.MustCompile(` +`).ReplaceAllString(strings.ReplaceAll(got, " \n", "\n"), " ")
		if diff := cmp.Diff(turns[turn].out, got); diff != "" {
			t.Errorf("turn %d: %s", turn, diff)
		}
		out.Reset()
		turn++
		return turn < len(turns)
	}
	if err := o.follow(t.Context(), ask, wait); err != nil || turn != len(turns) {
		t.Error(turn, err)
	}
}
