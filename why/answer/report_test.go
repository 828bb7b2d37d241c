package answer

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

// hostile is an answer in which all that came from a pod tries to be markup.
func hostile() []Answer {
	const said = "</failure>]]> <script>alert(1)</script> | `x` **y** [a](http://b) @all\n# head\x00"
	return []Answer{
		{
			Subject: Subject{Kind: "Pod", Namespace: "shop", Name: "web-1"}, Symptoms: []Symptom{{ID: "s1", Kind: Restarted, Text: said}},
			Verdicts: []Verdict{{
				Symptom: "s1", Cause: AppExitError, Certainty: Inferred, Rule: "r", Text: said, LastWords: []string{said},
				Chain: []Link{{At: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC), Text: said}}, Fixes: []Fix{{Text: said, Command: said, Risk: Inspect}},
			}},
		},
		{Subject: Subject{Kind: "Pod", Namespace: "shop", Name: "web-2"}, Symptoms: []Symptom{{ID: "s1", Kind: Healthy}}, Verdicts: []Verdict{{Symptom: "s1", Cause: None}}},
	}
}

func TestMarkdown(t *testing.T) {
	text := Markdown(hostile())
	for _, want := range []string{"| pod shop/web-1 | Restarted | `app-exit-error` |", "1 other well or done", "### pod shop/web-1: Restarted", "2026-11-22 03:00:00"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if code := strings.HasPrefix(line, "    "); !code && (strings.Contains(line, "<script") || strings.Contains(line, "[a](") || strings.HasPrefix(line, "# ")) {
			t.Errorf("a pod's word became markup: %q", line)
		}
	}
	if text := Markdown(hostile()[1:]); text != "All is well: 1 answer.\n" {
		t.Errorf("%q", text)
	}
}

func TestJUnit(t *testing.T) {
	text, err := JUnit(hostile())
	if err != nil {
		t.Fatal(err)
	}
	var suite junitSuite
	if err := xml.Unmarshal([]byte(text), &suite); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if suite.Tests != 2 || suite.Failures != 1 || len(suite.Cases) != 2 || len(suite.Cases[0].Failures) != 1 || len(suite.Cases[1].Failures) != 0 || suite.Cases[0].Failures[0].Type != "app-exit-error" {
		t.Errorf("%+v", suite)
	}
}
