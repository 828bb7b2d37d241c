package answer

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/why/prose"
)

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
