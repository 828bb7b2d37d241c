package answer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/why/prose"
)

// What an answer says comes from pods, and through nodes that may have turned: a terminal, a page
// and a CI system would take some characters for commands, or for a sign to show what follows in
// another order. Nothing of that kind gets into an answer that was read, nor into a row of it.

// UnmarshalJSON reads an answer and drops what is not to be shown from all its texts.
func (a *Answer) UnmarshalJSON(text []byte) error {
	type plain Answer // without this method
	if err := json.Unmarshal(text, (*plain)(a)); err != nil {
		return err
	}
	a.Clean()
	return nil
}

// Clean drops what is not to be shown from all texts of an answer.
func (a *Answer) Clean() {
	rewrite(reflect.ValueOf(a).Elem(), prose.Shown)
}

// Parse reads what somebody else says is an answer. Words that Whylet makes itself never hold what
// is not to be shown, so who sends some is no node of ours; of what they quote it is dropped.
func Parse(text []byte) (Answer, error) {
	type plain Answer
	var a plain
	if err := json.Unmarshal(text, &a); err != nil {
		return Answer{}, err
	}
	whole := Answer(a)
	for _, own := range whole.own() {
		if strings.ContainsFunc(own, isHostile) {
			return Answer{}, fmt.Errorf("control characters in %.40q", own)
		}
	}
	for i := range whole.Verdicts {
		for _, f := range whole.Verdicts[i].Fixes {
			if strings.ContainsAny(f.Command, "\r\n") {
				return Answer{}, fmt.Errorf("a command of several lines: %.40q", f.Command)
			}
		}
	}
	whole.Clean()
	return whole, nil
}

// isHostile reports whether a character may be a terminal's command, or changes the order in which text is shown. Others
// that are not shown, such as a blank without width, come from logs that agents of before quote.
func isHostile(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// own are the texts that an answer is made of, without those that it only quotes.
func (a *Answer) own() []string {
	all := []string{a.Subject.Kind, a.Subject.Namespace, a.Subject.Name}
	for _, s := range a.Symptoms {
		all = append(all, string(s.Kind), s.ID, s.Pod, s.Container, s.Text)
	}
	for _, v := range a.Verdicts {
		all = append(all, v.Symptom, string(v.Cause), string(v.Certainty), v.Rule, v.By, v.Container, v.Pod, v.Text, v.Missing)
		for _, f := range v.Fixes {
			all = append(all, f.Text, f.Command)
		}
		for _, h := range slices.Concat(v.Hops, v.TakesDown) {
			all = append(all, h.Policy, h.Service, h.Job, h.Pod, h.By, h.Text)
		}
		for _, n := range slices.Concat(v.Contributing, v.RuledOut) {
			all = append(all, string(n.Cause), n.Text)
		}
		for _, l := range v.Chain {
			all = append(all, l.Text)
		}
	}
	for _, g := range a.Journal.Gaps {
		all = append(all, g.Reason)
	}
	return all
}

// rewrite puts f of each text in place of it, however deep it is in a value.
func rewrite(v reflect.Value, f func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(f(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			rewrite(v.Elem(), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				rewrite(v.Field(i), f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			rewrite(v.Index(i), f)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(v.MapIndex(k))
			rewrite(one, f)
			v.SetMapIndex(k, one)
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			one := reflect.New(v.Elem().Type()).Elem()
			one.Set(v.Elem())
			rewrite(one, f)
			v.Set(one)
		}
	}
}

// Redacted returns the answer without secrets. Whom it is about stays as it is: a name may look like a token.
func (a Answer) Redacted() Answer {
	of := redact.Strings(a)
	of.Subject = a.Subject
	for i, s := range a.Symptoms {
		of.Symptoms[i].Pod, of.Symptoms[i].Container = s.Pod, s.Container
	}
	for i, v := range a.Verdicts {
		of.Verdicts[i].Pod, of.Verdicts[i].Container = v.Pod, v.Container
	}
	return of
}

// Redacted returns answers without secrets, in a new slice.
func Redacted(all []Answer) []Answer {
	out := make([]Answer, len(all))
	for i, a := range all {
		out[i] = a.Redacted()
	}
	return out
}
