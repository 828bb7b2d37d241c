package timeline

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// probes draws a container's attempts, as high as they took long.
func (b *builder) probes(name string, facts []fact.Fact) {
	for _, kind := range []fact.ProbeKind{fact.Startup, fact.Liveness, fact.Readiness} {
		l := Lane{
			ID: name + "/" + strings.ToLower(string(kind)), Group: name, Name: string(kind) + " probe", Form: "heights", Unit: "ms",
			Limits: b.timeouts(name, kind),
		}
		for _, f := range facts {
			switch x := f.Body.(type) {
			case fact.Probed:
				if x.Probe == kind {
					l.Marks = append(l.Marks, attempt(f, x))
				}
			case fact.AskedAgain:
				if x.Probe == kind && !x.Unfiltered {
					m := mark(f, Hollow, Good, "")
					if x.Verdict != fact.Success && x.Verdict != fact.Warning {
						m.Tone = Bad
					}
					m.Value = took(x.Took)
					l.Marks = append(l.Marks, m)
				}
			}
		}
		b.add(l)
	}
}

var verdicts = map[fact.Verdict]Tone{fact.Success: Good, fact.Warning: Warn, fact.Failure: Bad, fact.Unknown: Plain}

func attempt(f fact.Fact, x fact.Probed) Mark {
	m := mark(f, Tick, verdicts[x.Verdict], "")
	m.Value = took(x.Took)
	if x.Verdict == fact.Failure {
		m.Shape = Cross
	}
	if x.Count > 1 {
		m.Shape, m.Count, m.Until, m.Latency = Band, x.Count, ms(x.Until), x.Latency
	}
	return m
}

// limits makes lines of values that specs set, each until the next spec.
func (b *builder) limits(name, title string, value func(*v1.Container) (float64, bool)) []Limit {
	var all []Limit
	for _, f := range b.Facts {
		x, ok := f.Body.(fact.SpecSeen)
		if !ok || f.Pod != b.Pod || x.Object == nil {
			continue
		}
		c := containerOf(x.Object, name)
		if c == nil {
			continue
		}
		v, set := value(c)
		if last := len(all) - 1; last >= 0 {
			if set && all[last].Value == v && all[last].Until == ms(b.end()) {
				continue
			}
			all[last].Until = min(all[last].Until, ms(f.When()))
		}
		if set {
			all = append(all, Limit{Name: title, From: ms(f.When()), Until: ms(b.end()), Value: v})
		}
	}
	return all
}

func (b *builder) timeouts(name string, kind fact.ProbeKind) []Limit {
	return b.limits(name, "timeout", func(c *v1.Container) (float64, bool) {
		p := fact.ProbeOf(c, kind)
		if p == nil {
			return 0, false
		}
		return took(time.Duration(max(p.TimeoutSeconds, 1)) * time.Second), true
	})
}

func containerOf(pod *v1.Pod, name string) *v1.Container {
	for _, all := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return nil
}
