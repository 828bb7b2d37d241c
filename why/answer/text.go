package answer

import (
	"fmt"
	"strings"
	"time"

	"whylet.dev/whylet/why/prose"
)

// Style says how an answer is written for people.
type Style struct {
	// Wide shows every link with its fact's number, and every note with its facts.
	Wide bool
	// Paint colours text, if it is set: what is "cause", "good", "bad" or "dim".
	Paint func(what, text string) string
	// Zone is the time zone of the reader; nil: UTC.
	Zone *time.Location
}

// Text writes the answer for people: for each symptom the one-sentence cause
// first, then the chain with times, what contributed, what was ruled out, and
// what to do.
func (a *Answer) Text(s Style) string {
	var w strings.Builder
	var before Row
	for i, r := range a.Rows(s.Wide) {
		if i > 0 && (r.Kind == RowSubject || section(r.Kind) != section(before.Kind) && section(r.Kind) != RowSubject) {
			w.WriteString("\n")
		}
		s.row(&w, r)
		before = r
	}
	return w.String()
}

// section is the first kind of the rows that stand together, without a blank line.
func section(k RowKind) RowKind {
	switch k {
	case RowCause, RowKnown, RowAlike, RowCommon:
		return RowSubject
	case RowLink:
		return RowEarlier
	case RowCommand:
		return RowDo
	}
	return k
}

func (s Style) row(w *strings.Builder, r Row) {
	switch r.Kind {
	case RowSubject:
		mood := prose.Whether(r.Good, "good", "bad")
		fmt.Fprintf(w, "%s · %s", r.Title, s.paint(mood, r.Tag))
		if r.Text != "" {
			fmt.Fprintf(w, " · %s", r.Text)
		}
		w.WriteString("\n")
	case RowCause:
		for _, line := range prose.Wrap(r.Text, 96) {
			fmt.Fprintf(w, "  %s\n", s.paint("cause", line))
		}
	case RowKnown, RowEarlier:
		fmt.Fprintf(w, "  %s\n", s.paint("dim", r.Text))
	case RowLink:
		fmt.Fprintf(w, "  %s  %s", s.clock(r.At), r.Text)
		if r.Tag != "" {
			w.WriteString(" " + s.paint("dim", r.Tag))
		}
		w.WriteString("\n")
	case RowWords:
		for i, line := range prose.Wrap(r.Text, wordsLong) {
			fmt.Fprintf(w, "  %-12s%s\n", onFirst(i, r.Title), s.paint("dim", line))
		}
	case RowDo:
		s.fix(w, r)
	case RowCommand:
		fmt.Fprintf(w, "  %-12s  %s\n", "", r.Text)
	case RowWell:
		fmt.Fprintf(w, "%s\n", s.paint("dim", r.Text))
	case RowGap:
		text := fmt.Sprintf("not seen: %s to %s: %s", s.clock(r.At), s.clock(r.Until), r.Text)
		if r.At.IsZero() && r.Until.IsZero() {
			text = r.Text // nobody looked at all
		}
		fmt.Fprintf(w, "%s\n", s.paint("dim", text))
	default:
		text := r.Text
		if r.Kind == RowHop && !r.At.IsZero() {
			text = s.clock(r.At) + "  " + text
		}
		for i, line := range prose.Wrap(text, 84) {
			fmt.Fprintf(w, "  %-12s%s\n", onFirst(i, r.Title), line)
		}
	}
}

func (s Style) fix(w *strings.Builder, r Row) {
	for i, line := range prose.Wrap(r.Text, 96-len(r.Tag)) {
		tag := strings.Repeat(" ", len(r.Tag))
		fmt.Fprintf(w, "  %-12s%s %s\n", onFirst(i, r.Title), s.paint("dim", onFirst(i, r.Tag, tag)), line)
	}
}

// onFirst is a text on the first line, and another (or nothing) on those below.
func onFirst(line int, text string, below ...string) string {
	if line == 0 {
		return text
	}
	return strings.Join(below, "")
}

func (a *Answer) symptom(id string) Symptom {
	for _, s := range a.Symptoms {
		if s.ID == id {
			return s
		}
	}
	return Symptom{}
}

func (s Style) paint(what, text string) string {
	if s.Paint == nil {
		return text
	}
	return s.Paint(what, text)
}

func (s Style) clock(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	if s.Zone != nil {
		t = t.In(s.Zone)
	}
	return t.Format("15:04:05.000")
}
