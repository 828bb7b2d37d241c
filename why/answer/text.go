package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
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

// shownLinks is how many links of a chain fit beside the rest on one screen.
const shownLinks = 7

// Text writes the answer for people: for each symptom the one-sentence cause
// first, then the chain with times, what contributed, what was ruled out, and
// what to do.
func (a *Answer) Text(s Style) string {
	var w strings.Builder
	if !s.Wide {
		a = a.folded()
	}
	for i, v := range a.Verdicts {
		if i > 0 {
			w.WriteString("\n")
		}
		s.verdict(&w, a, a.symptom(v.Symptom), v)
	}
	if a.Well > 0 {
		verb := "is"
		if a.Well > 1 {
			verb = "are"
		}
		fmt.Fprintf(&w, "\n%s\n", s.paint("dim", fmt.Sprintf("%s %s well or done.", prose.Plural(a.Well, "other pod"), verb)))
	}
	for _, g := range a.Journal.Gaps {
		fmt.Fprintf(&w, "\n%s", s.paint("dim", fmt.Sprintf("not seen: %s to %s: %s", s.clock(g.From), s.clock(g.To), g.Reason)))
	}
	if len(a.Journal.Gaps) > 0 {
		w.WriteString("\n")
	}
	return w.String()
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

func (s Style) verdict(w *strings.Builder, a *Answer, sym Symptom, v Verdict) {
	name := a.Subject.Name
	if a.Subject.Namespace != "" {
		name = a.Subject.Namespace + "/" + name
	}
	mood := "bad"
	if sym.Kind == Healthy || sym.Kind == Completed {
		mood = "good"
	}
	fmt.Fprintf(w, "%s %s · %s", strings.ToLower(a.Subject.Kind), name, s.paint(mood, string(sym.Kind)))
	if sym.Text != "" {
		fmt.Fprintf(w, " · %s%s", sym.told(), s.ago(a.AsOf, sym))
	}
	w.WriteString("\n")
	for _, line := range prose.Wrap(v.Text, 96) {
		fmt.Fprintf(w, "  %s\n", s.paint("cause", line))
	}
	fmt.Fprintf(w, "  %s\n", s.paint("dim", "cause: "+string(v.Cause)+", "+howKnown(v)))
	s.alike(w, sym.alike)
	s.chain(w, v.Chain)
	s.lastWords(w, v.LastWords)
	s.notes(w, "contributed", v.Contributing)
	s.notes(w, "ruled out", v.RuledOut)
	s.fixes(w, v.Fixes)
}

// ago says how long the symptom is over, or that it goes on.
func (s Style) ago(now time.Time, sym Symptom) string {
	if sym.Last.IsZero() || sym.Kind == Healthy || now.Sub(sym.Last) < time.Second {
		return ""
	}
	return ", last " + prose.Span(now.Sub(sym.Last)) + " ago"
}

func howKnown(v Verdict) string {
	switch v.Certainty {
	case Recorded:
		return "recorded: the node saw and decided it itself"
	case Inferred:
		return "inferred (rule " + v.Rule + ")"
	}
	return "not enough evidence"
}

func (s Style) chain(w *strings.Builder, chain []Link) {
	if len(chain) == 0 {
		return
	}
	shown := chain
	if !s.Wide && len(chain) > shownLinks {
		shown = chain[len(chain)-shownLinks:]
	}
	w.WriteString("\n")
	if n := len(chain) - len(shown); n > 0 {
		fmt.Fprintf(w, "  %s\n", s.paint("dim", fmt.Sprintf("(%d earlier; -o wide shows all)", n)))
	}
	for _, l := range shown {
		if s.Wide {
			fmt.Fprintf(w, "  %s  %s %s\n", s.clock(l.At), l.Text, s.paint("dim", fmt.Sprintf("[%s #%d]", l.Kind, l.Fact)))
			continue
		}
		fmt.Fprintf(w, "  %s  %s\n", s.clock(l.At), prose.Brief(l.Text, 96))
	}
}

// alike names the pods that have the same symptom for the same cause.
func (s Style) alike(w *strings.Builder, pods []string) {
	if len(pods) < 2 {
		return
	}
	title := "all of them"
	for _, line := range prose.Wrap(prose.Some(pods)+"; -o wide tells of each", 84) {
		fmt.Fprintf(w, "  %-12s%s\n", title, line)
		title = ""
	}
}

// shownWords is how many of the last lines of a log fit beside the rest.
const shownWords = 4

func (s Style) lastWords(w *strings.Builder, lines []string) {
	lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.TrimSpace(line) == "" })
	if !s.Wide {
		lines = slices.Compact(lines)
	}
	if len(lines) > shownWords && !s.Wide {
		from := min(len(lines)-shownWords, words.Telling(lines))
		lines = lines[from : from+shownWords]
	}
	for i, line := range lines {
		title := ""
		if i == 0 {
			w.WriteString("\n")
			title = "last words"
		}
		fmt.Fprintf(w, "  %-12s%s\n", title, s.paint("dim", prose.Brief(line, 96)))
	}
}

func (s Style) notes(w *strings.Builder, title string, notes []Note) {
	for i, n := range notes {
		if i == 0 {
			w.WriteString("\n")
		}
		text := fmt.Sprintf("%s: %s", n.Cause, n.Text)
		if s.Wide && len(n.Facts) > 0 {
			text += fmt.Sprintf(" %v", n.Facts)
		}
		for j, line := range prose.Wrap(text, 84) {
			if j > 0 {
				title = ""
			}
			fmt.Fprintf(w, "  %-12s%s\n", title, line)
		}
		title = ""
	}
}

// tags say to people what a fix does: what restarts a container or changes its
// limits changes something that runs.
var tags = map[Risk]string{Inspect: "inspect", Safe: "safe", Restarts: "mutating", Limits: "mutating", Destructive: "destructive"}

func (s Style) fixes(w *strings.Builder, fixes []Fix) {
	var seen []string
	for _, f := range fixes {
		if slices.Contains(seen, f.Text) {
			continue
		}
		if len(seen) == 0 {
			w.WriteString("\n")
		}
		seen = append(seen, f.Text)
		tag := "[" + tags[f.Risk] + "]"
		title := map[bool]string{true: "do"}[len(seen) == 1]
		for i, line := range prose.Wrap(f.Text, 96-len(tag)) {
			if i > 0 {
				title, tag = "", strings.Repeat(" ", len(tag))
			}
			fmt.Fprintf(w, "  %-12s%s %s\n", title, s.paint("dim", tag), line)
		}
		if f.Command != "" {
			fmt.Fprintf(w, "  %-12s  %s\n", "", f.Command)
		}
	}
}
