package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/prose"
)

// Parts are what the text of a verdict is made of, for who shows them apart.
type Parts struct {
	// Subject is what it is about, as "container app" or "the pod".
	Subject string `json:"subject,omitempty"`
	// What is the cause, in a sentence or more.
	What string `json:"what,omitempty"`
	// Because is what the cause comes from or is seen by; Then is what followed from it. One
	// that begins with a small letter goes on with the sentence before it.
	Because []string `json:"because,omitempty"`
	Then    []string `json:"then,omitempty"`
}

// String words the parts as one text.
func (p Parts) String() string { return Unmarked(p.joined()) }

func (p Parts) joined() string {
	text := p.What
	for _, more := range [][]string{p.Because, p.Then} {
		for _, part := range more {
			if r, _ := utf8.DecodeRuneInString(part); unicode.IsLower(r) {
				text = strings.TrimSuffix(text, ".") + "; " + part
			} else {
				text += prose.Whether(stops(text), " ", ". ") + part
			}
		}
	}
	return text
}

// stops reports whether a text ends as a sentence does; what logs say often does not.
func stops(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return text == "" || strings.ContainsRune(".?!:)\"'…", r)
}

// Say gives a verdict its text, and keeps what is marked in it.
func (v *Verdict) Say(p Parts) {
	p.What = v.Told.read(p.What)
	for _, all := range []*[]string{&p.Because, &p.Then} {
		*all = slices.Clone(*all)
		for i, text := range *all {
			(*all)[i] = v.Told.read(text)
		}
	}
	v.Parts, v.Text = p, p.String()
}

// SayThen adds what followed.
func (v *Verdict) SayThen(then string) {
	p := v.Parts
	if p.String() == "" {
		p.What = v.Text
	}
	p.Then = append(p.Then[:len(p.Then):len(p.Then)], then)
	v.Say(p)
}

// SayBecause adds what the cause comes from or is seen by.
func (v *Verdict) SayBecause(because ...string) {
	p := v.Parts
	if p.String() == "" {
		p.What = v.Text // of an agent that sends no parts
	}
	p.Because = append(slices.Clip(p.Because), because...)
	open := v.Missing != "" && strings.HasSuffix(v.Text, v.Missing)
	if v.Say(p); open {
		v.Text += " " + v.Missing
	}
}

// SayFirstThen puts before all else that followed what followed first.
func (v *Verdict) SayFirstThen(then string) {
	p := v.Parts
	p.Then = slices.Concat([]string{then}, p.Then)
	v.Say(p)
}

// SayAs gives a verdict the text of another.
func (v *Verdict) SayAs(other Verdict) {
	v.Told = other.Told
	v.Say(other.Parts)
}

// Turn gives a verdict another cause, said by what; what it was said to be follows from that.
func (v *Verdict) Turn(cause Cause, rule, what string) {
	parts := Parts{Subject: v.Parts.Subject, What: what, Then: []string{prose.Upper(strings.TrimSuffix(v.Parts.String(), ".")) + "."}}
	v.Contributing = append(slices.Clip(v.Contributing), v.asNote())
	v.Cause, v.Certainty, v.Rule, v.SteadySince = cause, Inferred, rule, time.Time{}
	v.Missing, v.Possible = "", nil
	v.Say(parts)
}

// asNote is a verdict as a cause beside another one.
func (v *Verdict) asNote() Note {
	n := Note{Cause: v.Cause, Text: v.Text}
	for _, l := range v.Chain {
		n.Facts = append(n.Facts, l.Fact)
	}
	return n
}

// LeadTo gives a verdict the cause of the last of some hops, and says how they lead there; likely is why, where that is
// no more than likely. The steps stay as they are.
func (v *Verdict) LeadTo(hops []Hop, likely string) {
	hops = slices.Clone(hops)
	last := &hops[len(hops)-1]
	kind, space, name := last.Place()
	where := map[string]string{"pod": "pod", "svc": "Service", "job": "Job", "networkpolicy": "NetworkPolicy"}[kind] + " " + space + "/" + name
	if rest, ok := strings.CutPrefix(last.Text, prose.Upper(where)+" "); ok {
		last.Text = "It " + rest // it is named just before
	}
	parts := Parts{Subject: v.Parts.Subject, What: fmt.Sprintf("The reason is %s: %s", where, last.Text)}
	if likely != "" {
		parts.What = fmt.Sprintf("The reason is most likely %s, since %s: %s", where, likely, last.Text)
	}
	for _, h := range hops {
		parts.Because = append(parts.Because, prose.Upper(h.By)+".")
	}
	if v.Cause != CauseUnknown {
		parts.Then = []string{ofThis(prose.Upper(strings.TrimSuffix(cmp.Or(v.Parts.String(), v.Text), "."))+".", v.Container, last.Text)}
	}
	was := v.asNote()
	v.Own, v.Hops, v.Pod = was.Cause, hops, last.Pod
	v.Cause, v.Certainty, v.Rule, v.Container = last.Cause, Inferred, "another-pod", ""
	v.Missing, v.Possible, v.SteadySince = "", nil, time.Time{}
	if was.Cause != CauseUnknown && was.Cause != last.Cause {
		v.Contributing = append(v.Contributing, was)
	}
	v.Say(parts)
}

// ofThis says of a container whose it is, where another's of the same name was spoken of just before.
func ofThis(text, container, before string) string {
	who := "ontainer " + container + " "
	if container == "" || !strings.Contains(before, who) {
		return text
	}
	return strings.Replace(text, who, who+"of this pod ", 1)
}

// TellName tells the name of what has an address that a verdict, which leads to another pod, speaks of.
func (v *Verdict) TellName(place, name string) {
	p, needs := v.Parts, place+", which it needs"
	said := strings.Join(p.Then, " ")
	switch at := strings.Index(said, place); {
	case at < 0 || strings.IndexAny(said[at+len(place):], "0123456789") == 0:
		return
	case strings.Contains(said, needs):
		said = strings.Replace(said, needs, place+" ("+name+"), which it needs", 1)
	default:
		said += " " + place + " is " + name + "."
	}
	p.Then = []string{said}
	v.Say(p)
}

// Reason is a verdict's text without what it quotes of a log that is no error.
func (v Verdict) Reason() string {
	for _, q := range v.Quotes {
		if before, rest, ok := strings.Cut(v.Text, "The last that its log says: "+q.Text); ok && q.Role == RoleLast {
			_, then, _ := strings.Cut(rest, ". So ")
			return before + then
		}
	}
	return v.Text
}

// Tells reports whether people read something in a verdict's text already.
func (v *Verdict) Tells(what string) bool { return strings.Contains(v.Text, what) }

// TellsWords is the same of words from a log, in whatever form.
func (v *Verdict) TellsWords(line string) bool { return logline.Within(v.Text, line) }

// Rename replaces names in all that an answer says.
func (a *Answer) Rename(names *strings.Replacer) {
	for i := range a.Symptoms {
		a.Symptoms[i].Text = names.Replace(a.Symptoms[i].Text)
	}
	for i := range a.Verdicts {
		v := &a.Verdicts[i]
		v.Text, v.Missing, v.Parts.What = names.Replace(v.Text), names.Replace(v.Missing), names.Replace(v.Parts.What)
		for _, all := range [][]string{v.Parts.Because, v.Parts.Then} {
			for j := range all {
				all[j] = names.Replace(all[j])
			}
		}
		for j := range v.Chain {
			v.Chain[j].Text = names.Replace(v.Chain[j].Text)
		}
		for _, notes := range [][]Note{v.Contributing, v.RuledOut} {
			for j := range notes {
				notes[j].Text = names.Replace(notes[j].Text)
			}
		}
		for j := range v.Fixes {
			v.Fixes[j].Text = names.Replace(v.Fixes[j].Text)
		}
	}
}

// Says words a complaint, marked, and what is known of its words.
func (c Complaint) Says() string {
	text := fmt.Sprintf("The log of container %s says: %s.", c.Container, RoleLog.Mark(strings.TrimSuffix(c.Text, ".")))
	return text + prose.Whether(c.Means != "", " "+c.Means, "")
}
