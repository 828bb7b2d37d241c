package answer

import (
	"fmt"
	"slices"
	"strings"

	"whylet.dev/whylet/why/prose"
)

// Overview writes many answers for people: what several pods have in common that fail
// alike, then a line for each symptom that asks for somebody, in the given order, those that are over last, and how
// many pods have none. What follows from another line is named there.
func Overview(all []Answer, s Style) string {
	var w, over strings.Builder
	for _, c := range InCommon(all) {
		name := c.Name
		if c.Kind == CommonRevision {
			name = c.Namespace + "/" + name
		}
		for i, line := range prose.Wrap(c.Text, 110) {
			fmt.Fprintf(&w, "%-40s %-12s %-28s %s\n", onFirst(i, prose.OneLine(name)), onFirst(i, "in common"), onFirst(i, prose.OneLine(string(c.Cause))), prose.OneLine(line))
		}
	}
	well, by := 0, roots(all)
	for i := range all {
		a := &all[i]
		name, ill := a.title(), false
		for sym, v := range a.Ill() {
			ill = true
			switch {
			case a.IsOver(sym):
				overviewLine(&over, s, a.title(), sym, v, prose.Span(a.AsOf.Sub(sym.Last))+" ago: ")
			case a.Subject.Kind != "Pod" || !slices.ContainsFunc(by[a.subject()], func(r root) bool { return r.isTold(v) }):
				overviewLine(&w, s, name, sym, v, "")
				name = ""
			}
		}
		switch {
		case len(a.Verdicts) == 0:
			well += a.Well
		case !ill:
			well++
		}
	}
	if over.Len() > 0 {
		fmt.Fprintf(&w, "%s\n%s", s.paint("dim", "Over by now:"), over.String())
	}
	return w.String() + sumOf(len(all), w.Len() > 0, well, s)
}

// overviewLine writes the line of a symptom, and whom it takes down.
func overviewLine(w *strings.Builder, s Style, name string, sym Symptom, v Verdict, ago string) {
	fmt.Fprintf(w, "%-40s %-12s %-28s %s%s\n", name, s.paint("bad", prose.OneLine(string(sym.Kind))), prose.OneLine(string(v.Cause)), ago, prose.Brief(v.Text, 110))
	var names []string
	for _, h := range v.TakesDown {
		kind, space, name := h.Place()
		names = append(names, prose.OneLine(strings.TrimPrefix(kind+" ", "pod ")+space+"/"+name))
	}
	if len(names) > 0 {
		fmt.Fprintf(w, "%-40s %-12s %-28s takes down %s\n", "", "", "", prose.Some(names))
	}
}

// title names what an answer is about; what has no kind before it is a pod.
func (a *Answer) title() string {
	name := a.subject()
	if a.Subject.Kind != "Pod" && a.Subject.Kind != "" {
		name = strings.ToLower(a.Subject.Kind) + " " + name
	}
	return prose.OneLine(name)
}

func (a *Answer) subject() string {
	return strings.TrimPrefix(a.Subject.Namespace+"/"+a.Subject.Name, "/")
}

// root is what takes a pod down.
type root struct {
	kind, name string
	cause      Cause
}

// roots are what takes each pod down and is told of itself.
func roots(all []Answer) map[string][]root {
	by := map[string][]root{}
	for i := range all {
		a := &all[i]
		for _, v := range a.Verdicts {
			if v.Pod != "" {
				continue // it leads on, and perhaps in a circle: only the last on the way is told of
			}
			for _, h := range v.TakesDown {
				if h.Pod != "" && !a.IsOver(a.symptom(v.Symptom)) {
					by[h.Pod] = append(by[h.Pod], root{a.Subject.Kind, a.subject(), v.Cause})
				}
			}
		}
	}
	return by
}

// isTold reports whether a root tells all that a verdict about a pod that it takes down does.
func (r root) isTold(v Verdict) bool {
	switch r.kind {
	case "Pod":
		return v.Pod == r.name
	case "Node":
		return v.Cause == r.cause
	}
	return v.Pod == "" && len(v.Hops) > 0 && v.Hops[len(v.Hops)-1].Service == r.name
}

// sumOf says how many pods are well.
func sumOf(answers int, told bool, well int, s Style) string {
	switch {
	case answers == 0:
		return "There are no pods.\n"
	case !told && well == 1:
		return "The only pod is well or done.\n"
	case !told:
		return fmt.Sprintf("All %s are well or done.\n", prose.Plural(well, "pod"))
	case well > 0:
		return s.paint("dim", prose.Plural(well, "other pod")+" well or done.") + "\n"
	}
	return ""
}

// folded is the answer for people who ask about many pods at once: what several of
// them have in common, the same symptom for the same cause, is told once, of the pod
// that had it last, with the names of all.
func (a *Answer) folded() *Answer {
	type likeness struct {
		kind             SymptomKind
		container, blame string
		cause            Cause
		certainty        Certainty
	}
	whole := *a
	whole.Symptoms, whole.Verdicts = nil, nil
	at := map[likeness]int{}
	for _, v := range a.Verdicts {
		s := a.symptom(v.Symptom)
		like := likeness{s.Kind, s.Container, v.Container, v.Cause, v.Certainty}
		i, known := at[like]
		if s.Pod == "" || !known {
			if s.Pod != "" {
				at[like] = len(whole.Symptoms)
				s.alike = []string{s.Pod}
			}
			whole.Symptoms, whole.Verdicts = append(whole.Symptoms, s), append(whole.Verdicts, v)
			continue
		}
		all := append(whole.Symptoms[i].alike, s.Pod)
		if s.Last.After(whole.Symptoms[i].Last) {
			whole.Symptoms[i], whole.Verdicts[i] = s, v
		}
		whole.Symptoms[i].alike = all
	}
	return &whole
}

// told is the symptom's text, of all pods that have it.
func (s Symptom) told() string {
	if len(s.alike) < 2 {
		return s.Text
	}
	of := strings.TrimPrefix(s.Text, "pod "+s.Pod)
	return fmt.Sprintf("%s, the last of them %s%s", prose.Plural(len(s.alike), "pod"), s.Pod, of)
}

// CommonKind says what pods that fail alike have in common.
type CommonKind string

// What pods can have in common: what they ask for, the revision of their workload, the
// nodes that they are on.
const (
	CommonDependency CommonKind = "dependency"
	CommonRevision   CommonKind = "revision"
	CommonNodes      CommonKind = "nodes"
)

// Common is something that pods which fail alike have in common. It is inferred to be why
// where others that do not have it do well, and unknown where they are too few to say.
type Common struct {
	Kind CommonKind `json:"kind"`
	// Name is the Service or place, the workload and its revision, or what the nodes share.
	Name      string    `json:"name"`
	Certainty Certainty `json:"certainty"`
	Text      string    `json:"text"`
	// With are the pods that have it, Without those that they are compared with. Pods that
	// fail otherwise are in neither.
	With    Tally `json:"with"`
	Without Tally `json:"without"`
	// Nodes is on how many nodes those of With are that fail.
	Nodes int `json:"nodes,omitempty"`
	// Changes are what a revision brought.
	Changes []string `json:"changes,omitempty"`
}

// Tally counts pods.
type Tally struct {
	Failing int `json:"failing"`
	All     int `json:"all"`
}

// Shared is something in common of several of many answers.
type Shared struct {
	Common
	// Cause is what the pods fail for, where all fail for the same, and Namespace where they
	// all are.
	Cause     Cause
	Namespace string
}

// InCommon collects what pods that fail alike have in common, each thing once, in the order
// of the answers.
func InCommon(all []Answer) []Shared {
	var found []Shared
	for _, a := range all {
		for _, v := range a.Verdicts {
			for _, c := range v.InCommon {
				cause := v.Cause
				if c.Kind == CommonDependency {
					cause = DependencyDown // each may say it in its own way
				}
				i := slices.IndexFunc(found, func(s Shared) bool { return s.Text == c.Text && s.Cause == cause && s.Name == c.Name })
				switch {
				case c.With.Failing < 2:
				case i < 0:
					found = append(found, Shared{c, cause, a.Subject.Namespace})
				case found[i].Namespace != a.Subject.Namespace:
					found[i].Namespace = ""
				}
			}
		}
	}
	return found
}

func commonRows(all []Common) []Row {
	var rows []Row
	for _, c := range all {
		rows = append(rows, Row{Kind: RowCommon, Tag: string(c.Certainty), Text: c.Text})
	}
	return titled("in common", rows)
}
