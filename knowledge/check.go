package knowledge

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// idForm is what an id looks like: the speaker's file, and the message.
var idForm = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*$`)

// Fault is what is wrong with an entry; its text begins with the file and the line.
type Fault struct {
	Entry *Entry
	text  string
}

func (f Fault) Error() string { return f.text }

// faults collects them.
type faults struct {
	all []Fault
	of  map[*Entry]int // how many each entry has
}

// mostFaults is how many faults of one entry are told, and mostFault how long each is: who is told reads a log or a
// terminal.
const mostFaults, mostFault = 20, 400

func (f *faults) add(e *Entry, item, format string, args ...any) {
	if f.of == nil {
		f.of = map[*Entry]int{}
	}
	if f.of[e]++; f.of[e] > mostFaults {
		return
	}
	text := fmt.Sprintf("%s: %s: %s", e.at(item), e.ID, fmt.Sprintf(format, args...))
	if len(text) > mostFault {
		text = strings.ToValidUTF8(text[:mostFault], "") + "…"
	}
	f.all = append(f.all, Fault{e, text})
}

// has reports whether an entry has one.
func (f *faults) has(e *Entry) bool { return f.of[e] > 0 }

// Check reports all that is wrong with entries that are to be asked together, each fault with its file and line:
//
//   - each expression compiles, needs a few letters, and has a sample for each alternative at its top;
//   - each sample fits its entry and, if the entry is a message, no other message that it is not over, or that is not
//     over it; no counter-sample fits;
//   - ids are unique, and those in over and unless exist and lead in no circle;
//   - each slot in a text is a group of the expressions, each verb is one of [Verbs].
func Check(entries []*Entry) []Fault {
	_, f := extend(nil, entries)
	return f
}

// extend makes a base of another, which may be nil, and of more entries. Those with a fault are left out, and so are
// those that lean on them. Each check is done once, whatever is left out: what remains has no fault for that.
func extend(to *Base, added []*Entry, also ...func(*Entry, *faults)) (*Base, []Fault) {
	var f faults
	ids, before := map[string]*Entry{}, []*Entry(nil)
	if to != nil {
		maps.Copy(ids, to.ids)
		before = to.entries
	}
	for _, e := range added {
		if other := ids[e.ID]; other != nil {
			f.add(e, "id", "%s has this id already", other.at("id"))
			continue
		}
		ids[e.ID] = e
		e.checkForm(&f)
		e.checkExpressions(&f)
		e.checkSteps(&f)
		e.checkRole(&f)
		for _, check := range also {
			check(e, &f)
		}
	}
	added = withNames(&f, added, ids)
	for _, e := range added {
		e.checkCircles(&f, ids)
	}
	added = withNames(&f, added, ids)
	b := assemble(slices.Concat(before, added))
	for _, e := range added {
		e.checkSamples(&f)
		b.checkAlone(&f, e)
		b.checkTaken(&f, e, before)
	}
	if left := withNames(&f, added, ids); len(left) < len(added) {
		b = assemble(slices.Concat(before, left))
	}
	return b, f.all
}

// withNames are the entries that have no fault, and that name no entry which is not there or has one.
func withNames(f *faults, entries []*Entry, ids map[string]*Entry) []*Entry {
	for {
		for _, e := range entries {
			if f.has(e) && ids[e.ID] == e {
				delete(ids, e.ID)
			}
		}
		entries = slices.DeleteFunc(slices.Clone(entries), f.has)
		before := len(f.of)
		for _, e := range entries {
			e.checkNames(f, ids)
		}
		if len(f.of) == before {
			return entries
		}
	}
}

func (e *Entry) checkForm(f *faults) {
	switch {
	case !idForm.MatchString(e.ID):
		f.add(e, "id", "an id has the form speaker.message, in small letters, digits and dashes")
	case e.Speaker == "":
		f.add(e, "", "no speaker")
	case e.Seen.Source == "":
		f.add(e, "", "no seen.source: where it is printed")
	case len(e.Match) == 0:
		f.add(e, "", "no match")
	case len(e.Samples) == 0:
		f.add(e, "", "no sample")
	case len(e.Steps) > 0 && !e.IsMessage():
		f.add(e, "steps", "steps, and no means")
	case len(e.Over) > 0 && !e.IsMessage():
		f.add(e, "over", "over others, and no means")
	}
}

func (e *Entry) checkExpressions(f *faults) {
	for i, expression := range e.Match {
		item := fmt.Sprintf("match.%d", i)
		if sizeOf(expression) > mostSize {
			f.add(e, item, "comes to too much, by its counts in braces")
			return
		}
		re, err := regexp.Compile(expression)
		switch {
		case err != nil:
			f.add(e, item, "%v", err)
			continue
		case re.MatchString(""):
			f.add(e, item, "fits an empty text")
		}
		all := alternatives(expression)
		if len(all) > mostItems {
			f.add(e, item, "more than %d alternatives", mostItems)
			return
		}
		for _, one := range all {
			if part, err := regexp.Compile(one); err != nil || !slices.ContainsFunc(e.Samples, part.MatchString) {
				f.add(e, item, "no sample for %s", one)
				break
			}
		}
	}
	if f.has(e) {
		return
	}
	if _, err := compile(e.Match); err != nil {
		f.add(e, "match", "%v", err)
	}
}

func (e *Entry) checkNames(f *faults, ids map[string]*Entry) {
	for name, list := range map[string][]string{"over": e.Over, "unless": e.Unless} {
		for i, id := range list {
			item := fmt.Sprintf("%s.%d", name, i)
			switch other := ids[id]; {
			case other == nil:
				f.add(e, item, "there is no entry %s", id)
			case name == "over" && !other.IsMessage():
				f.add(e, item, "%s is no message, so that nothing has to be over it", id)
			}
		}
	}
}

// checkCircles reports the names of an entry that lead back to it.
func (e *Entry) checkCircles(f *faults, ids map[string]*Entry) {
	for name, list := range map[string][]string{"over": e.Over, "unless": e.Unless} {
		seen := map[string]bool{}
		for i, id := range list {
			if leads(ids, name, id, e.ID, seen) {
				f.add(e, fmt.Sprintf("%s.%d", name, i), "%s leads back here by its own %s", id, name)
			}
		}
	}
}

// leads reports whether one entry leads to another by a list of theirs.
func leads(ids map[string]*Entry, list, from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	e := ids[from]
	if e == nil || seen[from] {
		return false
	}
	seen[from] = true
	next := e.Over
	if list == "unless" {
		next = e.Unless
	}
	return slices.ContainsFunc(next, func(id string) bool { return leads(ids, list, id, to, seen) })
}

func (e *Entry) checkSamples(f *faults) {
	for i, sample := range e.Samples {
		if !e.In(sample) {
			f.add(e, fmt.Sprintf("samples.%d", i), "does not fit this sample: %s", sample)
		}
	}
	for i, text := range e.Not {
		if e.In(text) {
			f.add(e, fmt.Sprintf("not.%d", i), "fits this counter-sample: %s", text)
		}
	}
}

// checkAlone reports the samples of a message that another message fits, unless one of the two is over the other.
func (b *Base) checkAlone(f *faults, e *Entry) {
	if !e.IsMessage() {
		return
	}
	for i, sample := range e.Samples {
		for _, h := range b.match(sample, (*Entry).IsMessage) {
			if h.Entry != e && h.Weak == e.Weak && !b.overrule[e.ID+" "+h.ID] && !b.overrule[h.ID+" "+e.ID] {
				f.add(e, fmt.Sprintf("samples.%d", i), "%s fits this sample, too: which is over the other? %s", h.ID, sample)
			}
		}
	}
}

// checkTaken reports an entry that fits a sample of a message that was there before, and does not say that it is over
// that.
func (b *Base) checkTaken(f *faults, e *Entry, before []*Entry) {
	for _, other := range before {
		if !e.IsMessage() || !other.IsMessage() || e.Weak != other.Weak || b.overrule[e.ID+" "+other.ID] {
			continue
		}
		if i := slices.IndexFunc(other.Samples, e.In); i >= 0 {
			f.add(e, "match", "fits a sample of %s, too: narrow it, or say over: [%s]: %s", other.ID, other.ID, other.Samples[i])
		}
	}
}

func (e *Entry) checkSteps(f *faults) {
	captured := map[string]bool{}
	p, err := compile(e.Match)
	if err == nil {
		for _, part := range p.parts {
			for _, slot := range part.slots {
				captured[slot] = true
			}
		}
	}
	need := func(item, text string, also ...string) {
		for _, slot := range slotsOf(text) {
			if err == nil && !captured[slot] && !slices.Contains(also, slot) {
				f.add(e, item, "no expression has a group named %s", slot)
			}
		}
	}
	need("means", e.Means)
	if hasControl(e.Means) {
		f.add(e, "means", "has a control character")
	}
	for i, s := range e.Steps {
		item := fmt.Sprintf("steps.%d", i)
		if hasControl(s.Text + s.Command + s.Kubectl) {
			f.add(e, item, "has a control character")
		}
		need(item, s.Text, ofPod...)
		need(item, s.Command, ofPod...)
		need(item, s.Kubectl, ofPod...)
		v, known := Verbs[s.Do]
		switch {
		case !known:
			f.add(e, item, "there is no verb %q", s.Do)
		case v.wantsText && s.Text == "":
			f.add(e, item, "%s needs a text", s.Do)
		case v.wantsCommand && (s.Command == "") == (s.Kubectl == ""):
			f.add(e, item, "%s needs either command or kubectl", s.Do)
		case !v.takesCommand && !v.wantsCommand && s.Command+s.Kubectl != "":
			f.add(e, item, "%s takes no command", s.Do)
		case s.Risk != "" && !slices.Contains(risks, s.Risk):
			f.add(e, item, "no risk %q: %s", s.Risk, strings.Join(risks, ", "))
		case s.When != "" && !captured[strings.TrimPrefix(s.When, "!")]:
			f.add(e, item, "no expression has a group named %s", s.When)
		}
		for _, slot := range v.slots {
			if !captured[slot] {
				f.add(e, item, "%s needs a group named %s", s.Do, slot)
			}
		}
	}
}

// hasControl reports whether a text could move a terminal's cursor.
func hasControl(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }
