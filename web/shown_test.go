package web

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"whylet.dev/whylet/why/answer"
)

// evil is what a page must not show.
const evil = "x\x1b]0;PWNED\x07\u202edrow\u2066\u009b2J\u200b\r::error::owned ##[set-env]##vso[a]"

func checkShown(t *testing.T, page string) {
	t.Helper()
	page = strings.Replace(strings.Replace(page, script, "", 1), style, "", 1)
	if i := strings.IndexFunc(page, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("the page has %.60q", page[max(0, i-20):])
	}
	for _, command := range []string{`\u001b`, `\u202e`, `\u009b`, `\r`, "##[", "##vso", "\n::error"} {
		if i := strings.Index(page, command); i >= 0 {
			t.Errorf("the page has %s: %.80q", command, page[max(0, i-20):])
		}
	}
}

// Whatever a pod or a node says, nothing of it is a command: not in the answer, and not in a fact.
func TestPagesShowNothingEvil(t *testing.T) {
	d := recorded(t, "oom-main")
	d.Subject.Name += evil
	d.Rows = append(d.Rows, answer.Row{Text: "\n" + evil})
	raw, err := json.Marshal(map[string]string{"said": evil})
	if err != nil {
		t.Fatal(err)
	}
	for id, f := range d.Pods[0].Facts {
		f.Text, f.Fact = evil, raw
		d.Pods[0].Facts[id] = f
	}
	d.Pods[0].Lanes[0].Name = evil
	checkShown(t, rendered(t, d))

	var b bytes.Buffer
	one := answer.Answer{Subject: answer.Subject{Kind: "Pod", Namespace: "a", Name: evil}, Symptoms: []answer.Symptom{{Text: evil}}, Verdicts: []answer.Verdict{{Text: evil, Chain: []answer.Link{{Text: evil}}}}}
	if err := WriteOverview(&b, Overview{Namespace: evil, AsOf: time.Now(), Answers: []answer.Answer{one}}); err != nil {
		t.Fatal(err)
	}
	checkShown(t, b.String())
}

// What is fit to be shown is on the page as it was.
func TestShownJSON(t *testing.T) {
	for _, text := range []string{"plain", "日本 é", "tab\tand\nline \\ \"quoted\" <b>", "## a heading", "😀", "\\u001b is no escape", ""} {
		in, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var out string
		if err := json.Unmarshal(shownJSON(in), &out); err != nil || out != text {
			t.Errorf("%q becomes %q, %v", text, out, err)
		}
	}
}

func FuzzShownJSON(f *testing.F) {
	f.Add(`{"a":"\u001b[0m\u202e\ud83d\ude00##[x]\\u001b"}`)
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) {
			return
		}
		out := shownJSON([]byte(in))
		if !json.Valid(out) {
			t.Fatalf("%s becomes %s", in, out)
		}
		if bytes.Contains(out, []byte("##")) {
			t.Errorf("%s becomes %s", in, out)
		}
		var v any
		if json.Unmarshal(out, &v) == nil {
			eachText(reflect.ValueOf(v), func(text string) {
				if strings.ContainsFunc(text, func(r rune) bool { return !isShown(r) }) {
					t.Errorf("%s becomes %s", in, out)
				}
			})
		}
	})
}

// eachText visits the strings of decoded JSON.
func eachText(v reflect.Value, visit func(string)) {
	switch v.Kind() {
	case reflect.Interface:
		eachText(v.Elem(), visit)
	case reflect.String:
		visit(v.String())
	case reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), visit)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			visit(k.String())
			eachText(v.MapIndex(k), visit)
		}
	}
}
