package answer

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/why/prose"
)

// Overview writes many answers for people: what several pods have in common that fail
// alike, then a line for each symptom that asks for somebody, in the given order, and how
// many pods have none.
func Overview(all []Answer, s Style) string {
	var w strings.Builder
	for _, c := range InCommon(all) {
		name := c.Name
		if c.Kind == CommonRevision {
			name = c.Namespace + "/" + name
		}
		for i, line := range prose.Wrap(c.Text, 110) {
			fmt.Fprintf(&w, "%-40s %-12s %-28s %s\n", onFirst(i, prose.OneLine(name)), onFirst(i, "in common"), onFirst(i, prose.OneLine(string(c.Cause))), prose.OneLine(line))
		}
	}
	well := 0
	for _, a := range all {
		name := prose.OneLine(a.Subject.Namespace + "/" + a.Subject.Name)
		before := w.Len()
		for _, v := range a.Verdicts {
			sym := a.symptom(v.Symptom)
			if WellOrDone(sym, v) {
				continue
			}
			if w.Len() > before {
				name = ""
			}
			fmt.Fprintf(&w, "%-40s %-12s %-28s %s\n", name, s.paint("bad", prose.OneLine(string(sym.Kind))), prose.OneLine(string(v.Cause)), prose.Brief(v.Text, 110))
		}
		switch {
		case len(a.Verdicts) == 0:
			well += a.Well
		case w.Len() == before:
			well++
		}
	}
	switch {
	case len(all) == 0:
		w.WriteString("There are no pods.\n")
	case w.Len() == 0 && well == 1:
		w.WriteString("The only pod is well or done.\n")
	case w.Len() == 0:
		fmt.Fprintf(&w, "All %s are well or done.\n", prose.Plural(well, "pod"))
	case well > 0:
		fmt.Fprintf(&w, "%s\n", s.paint("dim", prose.Plural(well, "other pod")+" well or done."))
	}
	return w.String()
}
