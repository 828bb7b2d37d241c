package timeline

import (
	"strings"

	"whylet.dev/whylet/fact"
)

// words draws when containers said something that was kept.
func (b *builder) words() {
	l := Lane{ID: "words", Group: "Around", Name: "Last words", Form: "bars"}
	for _, f := range b.Facts {
		if f.Pod != b.Pod {
			continue
		}
		var lines []string
		switch x := f.Body.(type) {
		case fact.Exited:
			lines = x.LastLines
			if x.Message != "" {
				lines = append([]string{x.Message}, lines...)
			}
		case fact.Looked:
			lines = x.Said
		}
		if len(lines) > 0 {
			m := mark(f, Flag, Plain, "")
			m.Text = f.Container + " said:\n" + strings.Join(lines, "\n")
			l.Marks = append(l.Marks, m)
		}
	}
	b.add(l)
	heard := Lane{ID: "heard", Group: "Around", Name: "What kubelet said", Form: "bars"}
	for _, f := range b.Facts {
		if x, ok := f.Body.(fact.Said); ok && f.Pod == b.Pod && !fromController(x) {
			heard.Marks = append(heard.Marks, mark(f, Flag, Plain, ""))
		}
	}
	b.add(heard)
}

// people draws who changed, deleted or evicted, or what they did it to.
func (b *builder) people() {
	l := Lane{ID: "people", Group: "Around", Name: "Who changed it", Form: "bars"}
	seen := false
	for _, f := range b.Facts {
		if f.Pod != b.Pod {
			continue
		}
		switch x := f.Body.(type) {
		case fact.SpecSeen:
			m := mark(f, Flag, Plain, x.By)
			if m.Text = Words(f); seen {
				m.Text = "the pod was changed" + by(x.By)
			}
			if len(x.Changed) > 0 {
				m.Text += ": " + strings.Join(x.Changed, ", ")
			}
			seen = true
			l.Marks = append(l.Marks, m)
		case fact.ConditionsSeen:
			l.Marks = append(l.Marks, mark(f, Dot, Plain, ""))
		case fact.ConfigChanged:
			l.Marks = append(l.Marks, mark(f, Flag, Warn, x.Object+" "+x.Name))
		case fact.DeletionSeen:
			l.Marks = append(l.Marks, mark(f, Flag, Warn, x.By))
		case fact.Said:
			if fromController(x) {
				l.Marks = append(l.Marks, mark(f, Flag, Warn, x.Component))
			}
		case fact.Requested:
			l.Marks = append(l.Marks, mark(f, Flag, Warn, x.User))
		}
	}
	b.add(l)
}

// fromController says whether it is a word of who made the pod, about its end.
func fromController(b fact.Said) bool {
	return b.Reason == fact.DeletedPod || b.Reason == fact.ScaledSet
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}
