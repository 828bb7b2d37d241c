package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
)

const (
	// settles is how long a changed ConfigMap takes at most to be felt: its volume
	// is written again within 90 s, and applications look once a minute or so.
	settles = 3 * time.Minute
	// proven is how long something must have been well to count as such.
	proven = time.Minute
)

// change is a change of what a pod reads, from the outside.
type change struct {
	at   *fact.Fact
	text string
	// object and name are those of what was changed; empty: the pod itself.
	object, name string
}

// changeBefore is the newest change in a span of time.
func (h *inquiry) changeBefore(from, until time.Time) (change, bool) {
	for i := len(h.Facts) - 1; i >= 0; i-- {
		f := &h.Facts[i]
		if f.When().Before(from) || f.When().After(until) {
			continue
		}
		if c, ok := changeIn(f); ok {
			return c, true
		}
	}
	return change{}, false
}

func changeIn(f *fact.Fact) (change, bool) {
	switch b := f.Body.(type) {
	case fact.ConfigChanged:
		text := fmt.Sprintf("%s %s was changed", b.Object, b.Name)
		if len(b.Keys) > 0 {
			text += " (" + prose.Brief(strings.Join(b.Keys, ", "), 60) + ")"
		}
		return change{f, text + inBrackets("", b.By), b.Object, b.Name}, true
	case fact.SpecSeen:
		if slices.ContainsFunc(b.Changed, func(path string) bool { return strings.HasPrefix(path, "spec") }) {
			return change{f, fmt.Sprintf("the pod's own spec was changed (%s)", prose.Brief(strings.Join(b.Changed, ", "), 80)) + inBrackets("", b.By), "", ""}, true
		}
	}
	return change{}, false
}

// mostChanges bounds how many changes are told of.
const mostChanges = 8

// changes are those of what the pod reads, for who suffers from one that looks well.
func (h *inquiry) changes() []answer.Changed {
	var all []answer.Changed
	for i := range h.Facts {
		if c, ok := changeIn(&h.Facts[i]); ok {
			all = append(all, answer.Changed{At: c.at.When(), Text: c.text, Object: c.object, Name: c.name, Fact: c.at.ID})
		}
	}
	return all[max(0, len(all)-mostChanges):]
}

// configThenExit: the first end with an error came with a change. What the change
// broke is not said by any fact: only that all was well before, and nothing since.
func configThenExit(e ending) *finding {
	if !e.failed() || e.exit.ExitCode > 128 {
		return nil
	}
	first := e // the first of the ends in a row that are like this one
	var before *ending
	for _, r := range slices.Backward(e.h.Runs(e.run.Container)) {
		if r.Attempt >= e.run.Attempt || r.Exit == nil {
			continue
		}
		o := newEnding(e.h, r)
		if o.order() == ordered || o.exit.ExitCode != e.exit.ExitCode || o.lasted() >= proven {
			before = &o
			break
		}
		first = o
	}
	began := first.at.Add(-first.lasted())
	from, ranWell := first.at.Add(-settles), first.lasted() >= proven
	if first.lasted() < proven {
		// It fails from its start on, so the change came before it, and the run
		// before that one knew nothing of it.
		since, well := first.ranWell()
		if before == nil && well {
			from, ranWell = since.Add(-settles), true
		} else if before == nil || before.lasted() < proven {
			return nil
		} else if from, ranWell = before.at.Add(-before.lasted()), true; before.exit.ExitCode == e.exit.ExitCode && before.order() != ordered {
			from = before.at.Add(-settles)
		}
	}
	c, ok := e.h.changeBefore(from, first.at)
	if !ok && ranWell && first.lasted() < proven && e.h.Beside != "" && (fact.TakesVariables(e.spec) && !e.h.FromAPI || e.h.Unwatched[e.run.Container] != history.Sources{}) {
		// Nobody tells beside somebody else's node of changes that only the next start
		// reads: they are seen by what that run was given.
		var compared bool
		if c, ok, compared = givenOther(first.run, e.spec); !compared {
			return e.finds(answer.ConfigChanged, fair).says(unwatched).possibly()
		}
	}
	if !ok || !ranWell || c.at != first.run.Started && c.at.When().Sub(began) > 0 && first.lasted() < proven {
		return nil
	}
	f := e.finds(answer.ConfigChanged, strong, c.at, first.run.Exit).fix(e.h.changeFixes(c)...).fix(e.h.logsFix(e.run)).
		says("Container %s ends with exit code %d since %s, %s before its first such end; it had run well until then.", e.run.Container, e.exit.ExitCode, c.text, prose.Span(first.at.Sub(c.at.When())))
	f.notes = []answer.Note{{Cause: answer.AppExitError, Text: fmt.Sprintf("it ends by itself with exit code %d%s", e.exit.ExitCode, colon(e.exit.Message)), Facts: idsOf(e.chain())}}
	return f
}

// unwatched says of a change that nobody would have seen that it may have come.
const unwatched = "what configures it may have been changed: that is not seen here"

// givenOther says whether a run was given other variables than the one before it, from a
// ConfigMap or a Secret; compared is false where that was not seen.
func givenOther(r *history.Run, spec *v1.Container) (c change, ok, compared bool) {
	if r.Started == nil || !fact.Of[fact.Started](r.Started).Compared {
		return change{}, false, false
	}
	other := fact.Of[fact.Started](r.Started).OtherVariables
	for _, name := range other {
		object, of, found := takenFrom(spec, name)
		if !found || slices.ContainsFunc(other, func(o string) bool {
			service, of := strings.CutSuffix(o, "_SERVICE_HOST") // a Service that came, went or moved
			return of && strings.HasPrefix(name, service+"_")
		}) {
			continue
		}
		return change{r.Started, fmt.Sprintf("%s %s was changed (variable %s is another one than in the run before)", object, of, name), object, of}, true, true
	}
	return change{}, false, true
}

// takenFrom is the object that a variable of a container is taken from, where it is one
// and only one can be it.
func takenFrom(c *v1.Container, variable string) (object, name string, ok bool) {
	if t, known := takenBy(c, variable); known {
		return t.Kind, t.Name, true
	}
	whole := slices.DeleteFunc(mounts.Variables(c), func(t mounts.Taken) bool { return t.Variable != "" })
	if len(whole) != 1 {
		return "", "", false
	}
	return whole[0].Kind, whole[0].Name, true
}

// configThenNo: the application says no since a change.
func configThenNo(p *probing) *finding {
	var good time.Time
	switch {
	case len(p.before) > 0:
		good = p.before[0].When()
	case p.h.FromAPI && p.wasReady() && p.run.Started != nil:
		good = p.failedBefore(p.run.Started.When())
	default:
		return nil
	}
	c, ok := p.h.changeBefore(p.from.Add(-settles), p.from)
	if !ok && p.h.Unwatched[p.run.Container].Files {
		return p.finds(answer.ConfigChanged, fair).says(unwatched).possibly()
	}
	if !ok || c.at.When().Sub(good) < proven {
		return nil
	}
	// It had failed without any change, too: then this one is not its reason. While
	// it came up it did so because it was not up yet.
	for _, f := range p.run.Probes {
		if b := fact.Of[fact.Probed](f); b.Probe == p.kind && bad(b) && f.When().After(good) && f.When().Before(c.at.When()) && c.at.When().Sub(f.When()) < 10*settles {
			return nil
		}
	}
	f := p.finds(answer.ConfigChanged, strong, c.at).fix(p.h.changeFixes(c)...).fix(p.h.logsFix(p.run)).
		says("%s fails since %s, %s before; it had been well for %s until then.", prose.Upper(p.what()), c.text, prose.Span(p.from.Sub(c.at.When())), prose.Span(c.at.When().Sub(good)))
	f.notes = []answer.Note{{Cause: answer.AppUnhealthy, Text: "since then " + p.how(), Facts: idsOf(p.chain())}}
	return f
}

// failedBefore is when it failed last before the attempts to explain, and not before its start: at some time after
// that it was ready, where only the status tells that it was.
func (p *probing) failedBefore(start time.Time) time.Time {
	for _, f := range p.run.Probes {
		if b := fact.Of[fact.Probed](f); b.Probe == p.kind && bad(b) && f.When().Before(p.from) {
			start = latest(start, f.When())
		}
	}
	return start
}

func (h *inquiry) changeFixes(c change) []answer.Fix {
	if c.name != "" {
		object := shell.Words(strings.ToLower(c.object), c.name)
		return []answer.Fix{
			{Text: fmt.Sprintf("put back what %s %s had before, if the change was not meant", c.object, c.name), Command: h.kubectl("edit %s", object), Risk: answer.Restarts},
			h.inspect("see what it has now, and who changed it when", h.kubectl("get %s -o yaml --show-managed-fields", object)),
		}
	}
	return []answer.Fix{h.specFix("take the change of the pod's spec back, if it was not meant"), h.seeSpec()}
}

// seeSpec shows how the pod's spec changed, where somebody remembers it.
func (h *inquiry) seeSpec() answer.Fix {
	if h.FromAPI || h.Beside != "" {
		return h.inspect("see what it has now, and who changed it when", h.kubectl("get pod %s -o yaml --show-managed-fields", h.Pod.Name))
	}
	return kubectl.OnNode("see what it was before", shell.Linef("whylet journal list %s --kind SpecSeen -o json", h.Pod.Name))
}
