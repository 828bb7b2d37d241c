package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// mostReaches bounds how many places are told of.
const mostReaches = 24

// reached collects the places that the pod's containers ask for something, each once.
type reached []answer.Reach

func (all *reached) add(f *fact.Fact, how answer.Reached, place, text string, said ...string) {
	known := func(r answer.Reach) bool { return r.Place == place && r.Container == f.Container }
	if place != "" && !slices.ContainsFunc(*all, known) {
		*all = append(*all, answer.Reach{Container: f.Container, Place: place, How: how, Text: prose.Brief(text, kept), Said: prose.Brief(strings.Join(said, ""), kept), Fact: f.ID})
	}
}

// reaches are the places that the pod's containers ask for something, those first of which
// their own words say that it failed, then those that have not answered.
func (h *inquiry) reaches() []answer.Reach {
	var all reached
	for _, name := range h.Containers() {
		run := h.Last(name)
		if run == nil {
			continue
		}
		if h.IsInit(name) && run.Exit != nil && fact.Of[fact.Exited](run.Exit).ExitCode == 0 {
			continue // whom it waited for, it found
		}
		tell := func(f *fact.Fact, line string) {
			if at, refuses := h.refusingProxy(name, line); refuses && at != "" {
				all.add(f, answer.ReachSaid, at, logline.Message(line), logline.Message(line))
				return
			}
			all.said(f, line, h.nameServers())
		}
		said(run, tell)
		if runs := h.Runs(name); len(runs) > 1 && run.Exit == nil {
			if before := runs[len(runs)-2]; before.Exit != nil && fact.Of[fact.Exited](before.Exit).ExitCode != 0 && h.Now.Sub(before.Exit.When()) <= endedFor {
				said(before, tell) // it is started again, and is likely to fail for the same
			}
		}
		if host := h.askedByInit(run); host != "" {
			all.add(run.Started, answer.ReachSaid, host, "its command asks "+host)
		}
		if f, host := h.askedByProbe(run); host != "" {
			all.add(f, answer.ReachSaid, host, "the command of its probe asks "+host, outputAbout(f, host))
		}
		all.seen(run)
		if before := h.endedLately(name); before != nil {
			all.until(before)
		}
	}
	rank := map[answer.Reached]int{answer.ReachSaid: 0, answer.ReachAwaits: 1, answer.ReachDialing: 1, answer.ReachOpen: 2, answer.ReachLately: 3}
	slices.SortStableFunc(all, func(a, b answer.Reach) int { return cmp.Compare(rank[a.How], rank[b.How]) })
	return all[:min(len(all), mostReaches)]
}

// said adds the place of which a line says that it failed; where DNS did not answer, the
// name servers that the pod has of its own: the place itself was never asked, for want of
// its address.
func (all *reached) said(f *fact.Fact, line string, servers []string) {
	n, ok := dependency(line)
	if !ok {
		_, n.place, ok = words.FailedBy(line)
	}
	switch {
	case ok && len(servers) > 0 && knowledge.NoDNS.In(line):
		for _, at := range servers {
			all.add(f, answer.ReachSaid, at, logline.Message(line), logline.Message(line))
		}
	case ok:
		all.add(f, answer.ReachSaid, n.place, logline.Message(line), logline.Message(line))
	}
}

// seen adds what the newest look into a run saw of its connections. That one was not answered
// holds for a while, and that one was open for a minute, as the kernel remembers it: who tries
// again and again, or gives up in time, has none in between.
func (all *reached) seen(run *history.Run) {
	for i, f := range slices.Backward(run.Looks) {
		ago := run.Looks[len(run.Looks)-1].Seen.Sub(f.Seen)
		if ago > time.Minute {
			return
		}
		look := fact.Of[fact.Looked](f)
		for _, d := range look.Dialing {
			if !d.Other && ago <= awaitsLately {
				all.add(f, answer.ReachDialing, d.Remote, fmt.Sprintf("its connection to %s has not been answered yet", d.Remote))
			}
		}
		if i == len(run.Looks)-1 {
			idle := awaitsWork(run, look)
			for _, d := range look.Open {
				if idle {
					d.Unanswered = 0
				}
				all.open(f, d)
			}
			for _, at := range look.Lately {
				all.lately(f, at)
			}
			continue
		}
		for _, d := range look.Open {
			if !d.Other && !loopback(hostIn(d.Remote)) {
				all.lately(f, d.Remote)
			}
		}
	}
}

// awaitsWork says whether a run is that of a worker which is idle: it says that it is ready, and serves nobody, so
// the silence of whom it has asked is that there is nothing to do.
func awaitsWork(run *history.Run, look fact.Looked) bool {
	_, lines := run.Said(time.Time{})
	own := func(l fact.Listener) bool { return !l.Other }
	return !slices.ContainsFunc(look.Listeners, own) && words.LastOf(lines, knowledge.SaysReady) >= 0
}

func (all *reached) lately(f *fact.Fact, at string) {
	all.add(f, answer.ReachLately, at, fmt.Sprintf("a connection from it to %s was open less than a minute before", at))
}

// endedFor is how long after the end of a run that failed, by itself or by its probe, that is still of now.
const endedFor = 2 * time.Minute

// endedLately is the run before a container's newest one, where the node ended it a moment ago
// for what a probe found; nil where it did not.
func (h *inquiry) endedLately(name string) *history.Run {
	runs := h.Runs(name)
	if len(runs) < 2 {
		return nil
	}
	run := runs[len(runs)-2]
	if run.Kill == nil || run.Exit == nil || h.Now.Sub(run.Exit.Seen) > endedFor || probeOfKill[fact.Of[fact.Kill](run.Kill).Reason] == "" {
		return nil
	}
	return run
}

// until adds for whose answer a run waited that the node ended: by the last look before that.
func (all *reached) until(run *history.Run) {
	for f, look := range newest[fact.Looked](run.Looks) {
		if f.Seen.After(run.Kill.Seen) {
			continue
		}
		for _, d := range look.Open {
			if !d.Other && d.Unanswered > 0 && !awaitsWork(run, look) && !loopback(hostIn(d.Remote)) {
				over := func(r answer.Reach) bool {
					return r.How == answer.ReachLately && r.Place == d.Remote && r.Container == f.Container
				}
				*all = slices.DeleteFunc(*all, over)
				all.open(f, d)
			}
		}
		return
	}
}

// justBefore is how long before a question that is not answered something may have come from
// the same place to show that somebody is at work there: a greeting does.
const justBefore = 500 * time.Millisecond

// open adds a connection that is open, and tells whether an answer is waited for there.
func (all *reached) open(f *fact.Fact, d fact.Dial) {
	who := cmp.Or(prose.Brief(d.Command, 40), "it")
	switch {
	case d.Other:
	case d.Unanswered > 0:
		before := len(*all)
		all.add(f, answer.ReachAwaits, d.Remote, fmt.Sprintf("%s sent something to %s %s before, and nothing has come back", who, d.Remote, prose.Span(d.Unanswered)))
		if len(*all) > before {
			(*all)[before].Heard = d.Heard > 0 && d.Heard < d.Unanswered+justBefore
			(*all)[before].Since = f.Seen.Add(-d.Unanswered)
		}
	default:
		all.add(f, answer.ReachOpen, d.Remote, fmt.Sprintf("%s is connected to %s", who, d.Remote))
	}
}

// nameServers are those that the pod's specification gives it in place of the cluster's.
func (h *inquiry) nameServers() []string {
	if h.Object == nil || h.Object.Spec.DNSPolicy != v1.DNSNone || h.Object.Spec.DNSConfig == nil {
		return nil
	}
	var all []string
	for _, ip := range h.Object.Spec.DNSConfig.Nameservers {
		if strings.Contains(ip, ":") {
			ip = "[" + ip + "]"
		}
		all = append(all, ip+":53")
	}
	return all
}

// askedByInit is the host that the command of an init container names which has not ended
// yet: most of those that last wait for one.
func (h *inquiry) askedByInit(run *history.Run) string {
	if run.Started == nil || run.Exit != nil || !h.IsInit(run.Container) {
		return ""
	}
	c := h.spec(run.Container)
	return h.askedBy(strings.Join(slices.Concat(c.Command, c.Args), " "))
}

// askedByProbe is the host that the command of a run's probe asks, where its newest attempt
// failed: whether its connection is open when somebody looks is luck.
func (h *inquiry) askedByProbe(run *history.Run) (f *fact.Fact, host string) {
	for _, f := range slices.Backward(run.Probes) {
		if b := fact.Of[fact.Probed](f); b.Evidence != nil && b.Evidence.Handler == fact.Exec {
			if !bad(b) {
				return nil, ""
			}
			return f, h.askedBy(b.Evidence.Target)
		}
	}
	return nil, ""
}

// outputAbout returns what the command of a probe put out, unless that names another place than the one it asks.
func outputAbout(f *fact.Fact, host string) string {
	output := strings.TrimSpace(fact.Of[fact.Probed](f).Evidence.Output)
	if place := words.Place(output); place != "" && hostIn(place) != host && place != host {
		return ""
	}
	return output
}

// complainsLately is how long ago a container may have said of an error that goes on: who is
// asked seldom says it seldom.
const complainsLately = 2 * time.Minute

// complaints are what the pod's containers say of errors: lately, whatever they said after it,
// or before; or, where nobody knows when a line was said, at the ends of their logs. Of one that says
// of none lately, warned is what it warns of.
func (h *inquiry) complaints() (all, warned []answer.Complaint) {
	for run := range h.running("") {
		for f, look := range newest[fact.Looked](run.Looks) {
			if len(look.Said) == 0 {
				continue // its log was not read then
			}
			c, ok := complaint(f, look, h.Now.Add(-complainsLately))
			if ok {
				h.explained(&c)
				all = append(all, c)
			}
			if text := warning(f, look, run, h.Now.Add(-complainsLately)); (!ok || c.Before) && text != "" {
				warned = append(warned, answer.Complaint{Container: f.Container, Text: prose.Brief(text, quoted), Another: blames(text), Fact: f.ID})
			}
			break
		}
	}
	return all, warned
}

// explained adds to a complaint about a container itself what its words mean, and what to do about that.
func (h *inquiry) explained(c *answer.Complaint) {
	if c.Another {
		return
	}
	var f finding
	h.namedFile(&f, c.Container, c.Text)
	h.meant(&f, c.Container, c.Text)
	if c.Cause == "" && knowledge.ReadOnly.In(c.Text) && h.readOnlyRoot(c.Container, c.Text) {
		c.Cause = answer.SecurityRefused
		f.because = append([]string{"Its root file system is read-only (readOnlyRootFilesystem)."}, f.because...)
		f.first(h.letWrite(c.Container, c.Text))
	}
	if less := h.fewerRights(h.spec(c.Container)); c.Cause == "" && less != "" && knowledge.Refused.In(c.Text) {
		c.Cause = answer.SecurityRefused
		f.because = append([]string{prose.Upper(less) + "."}, f.because...)
		if !slices.ContainsFunc(f.fixes, func(o answer.Fix) bool { return o.ID == answer.StepAllowUser }) {
			f.first(h.mayThen(c.Container, c.Text))
		}
	}
	c.Means, c.Fixes = strings.Join(f.because, " "), specific(f.fixes)
}

// readOnlyRoot says whether a container may not write to its root file system, and words name no place of a volume.
func (h *inquiry) readOnlyRoot(container, said string) bool {
	ofVolume := func(at string) bool { _, volume := h.volumeOf(container, mounts.Clean(at)); return volume != nil }
	return h.readOnly(h.spec(container)) && !slices.ContainsFunc(anyPath.FindAllString(said, -1), ofVolume)
}

// anyPath fits a path of one part or more.
var anyPath = regexp.MustCompile(`/[\w.@+-]+(?:/[\w.@+-]+)*`)

// begins is how long after its start what a container warns of is about that: many do each time.
const begins = 15 * time.Second

// warning is what a log warns of since a time, its start left out.
func warning(f *fact.Fact, look fact.Looked, run *history.Run, since time.Time) string {
	if len(look.SaidAt) == 0 {
		return ""
	}
	if run.Started != nil && run.Started.When().Add(begins).After(since) {
		since = run.Started.When().Add(begins)
	}
	return words.Read(history.SaidSince(f, since)).Trouble(true)
}

// complaint is what the end of a log says of an error.
func complaint(f *fact.Fact, look fact.Looked, since time.Time) (answer.Complaint, bool) {
	if len(look.Said) == 0 {
		return answer.Complaint{}, false
	}
	text, another, earlier := "", false, false
	switch {
	case len(look.SaidAt) > 0:
		late := words.Read(history.SaidSince(f, since))
		text = late.Trouble(false)
		if warned := late.Trouble(true); text == "" && blames(warned) { // some call another's failure no error
			text = warned
		}
		if text == "" {
			text, earlier = words.Read(look.Said).Trouble(false), true
		}
		another = blames(text)
	default:
		story := words.Read(look.Said)
		if !story.Troubled() {
			break
		}
		text = story.Reason()
		_, another = lastNeed(look.Said)
		another = another || blames(look.Said[story.Primary()])
	}
	var at time.Time
	if text == "" || earlier {
		last := len(look.Said) - 1
		switch i := words.LastOf(look.Said, knowledge.NoSpace, knowledge.Waits); {
		case i >= 0 && (i == last || !knowledge.Waits.In(look.Said[last])):
			text, another, earlier = logline.Message(look.Said[i]), false, false
			if len(look.SaidAt) == len(look.Said) {
				at = look.SaidAt[i]
				earlier = at.Before(since)
			}
		case knowledge.Waits.In(look.Said[last]):
			text, another, earlier = logline.Message(look.Said[last]), true, false
		}
	}
	if text == "" {
		return answer.Complaint{}, false
	}
	if i := words.LastOf(look.Said, knowledge.IsDown); i >= 0 && another && !earlier && !knowledge.IsDown.In(text) {
		text = logline.Message(look.Said[i]) + " / " + text // a proxy's: why it hands nothing on
	}
	c := answer.Complaint{Container: f.Container, Text: prose.Brief(text, quoted), Another: another, Before: earlier, At: at, Fact: f.ID}
	if knowledge.NoSpace.In(text) && !another {
		c.Cause = answer.DiskFull
	}
	return c, true
}

// blames says whether words are that another failed.
func blames(said string) bool {
	_, _, failed := words.FailedBy(said)
	_, unreached := dependency(said)
	return failed || unreached
}

// said gives what a run said last, the newest first: the output of probes, the end of its
// log as looks have it, its last words.
func said(run *history.Run, tell func(f *fact.Fact, line string)) {
	if run.Exit != nil {
		for _, line := range slices.Backward(run.LastSaid(run.FailsSince())) {
			tell(run.Exit, line)
		}
	}
	for i, f := range slices.Backward(run.Probes) {
		if b := fact.Of[fact.Probed](f); bad(b) && b.Evidence != nil && i >= len(run.Probes)-fact.MostNamed {
			tell(f, b.Evidence.Output)
		}
	}
	f, lines := run.Said(run.FailsSince())
	for _, line := range slices.Backward(lines) {
		tell(f, line)
	}
}
