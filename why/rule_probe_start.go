package why

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// probeSlowStart: killed before it ever was healthy, and still starting.
func probeSlowStart(p *probing) *finding {
	if len(p.before) > 0 || p.run.Started == nil || len(p.failed) == 0 || p.mode != refused && p.mode != silent && p.mode != exitCode && p.mode != answered {
		return nil
	}
	said, before := p.progressLately()
	if p.kind == fact.Readiness && !p.clientRefused() && (p.mode != refused && p.mode != silent || said == "" && p.begun() == "" && !p.tookLonger()) {
		return nil
	}
	given := p.until.Sub(p.run.Started.When())
	f := &finding{
		cause: answer.AppSlowStart, weight: weak, chain: append(links(p.run.Started), p.chain()...),
		text: fmt.Sprintf("Container %s was still starting: it was ended %s after its start, before %s had succeeded once.", p.run.Container, prose.Span(given), p.what()),
		fixes: []answer.Fix{
			p.h.specFix(fmt.Sprintf("give container %s a startupProbe that allows more than %s, as with periodSeconds: 10 and failureThreshold: %d", p.run.Container, prose.Span(given), max(3, prose.Seconds(needs(given, said))/10))),
			p.h.inspect("see how far it came", p.h.kubectl("logs %s -c %s -p", p.h.Pod.Name, p.run.Container)),
		},
	}
	if p.kind == fact.Readiness {
		f.fixes = f.fixes[1:] // nothing ends it for that
	}
	ended := p.run.Kill != nil || p.run.Exit != nil
	if !ended {
		f.text = fmt.Sprintf("Container %s is still starting: until %s after its start, %s had not succeeded once.", p.run.Container, prose.Span(given), p.what())
	}
	if p.mode == exitCode {
		f.text = strings.TrimSuffix(f.text, ".") + saying(p.last.Evidence.Output) + "."
	}
	if ev := p.last.Evidence; (p.mode == exitCode || p.mode == answered) && knowledge.StillStarts.In(ev.Output) {
		f.weight = strong
		f.because = []string{fmt.Sprintf("It says so itself%s.", saying(ev.Output))}
		return f
	}
	if said != "" { // it may listen already
		f.weight = strong
		f.because = []string{fmt.Sprintf("Its log says how far it had come: “%s”.", answer.RoleNoted.Mark(prose.Brief(said, quoted)))}
		if before {
			f.because = []string{fmt.Sprintf("The log of the run before it, which was ended while it started, says how far that had come: “%s”.", prose.Brief(said, quoted))}
		}
		return f
	}
	at, look, ok := p.look()
	if ok && p.up(look) && !p.tookLonger() {
		return f
	}
	if said := p.begun(); said != "" {
		f.weight = fair
		f.because = append(f.because, fmt.Sprintf("The last that its log says is what it has begun: “%s”.", answer.RoleNoted.Mark(prose.Brief(said, quoted))))
	}
	if ended && p.tooSoon() {
		f.weight = fair
		f.text = fmt.Sprintf("Container %s was given too little time to start: it was ended %s after its start, because %s had not succeeded.", p.run.Container, prose.Span(given), p.what())
	}
	if took := p.othersTook(); took > given {
		f.weight = strong
		f.because = append(f.because, fmt.Sprintf("Another run needed %s.", prose.Span(took)))
	} else if p.comingUp() && p.cameUpElsewhen() {
		f.weight = fair
		f.because = append(f.because, "Another run did come up.")
	}
	first, last, u := p.used()
	switch {
	case ok && p.atWork(look) && p.mode != exitCode && p.mode != answered:
		f.chain = append(f.chain, link(at))
		f.because = append(f.because, fmt.Sprintf("It was at work: %s.", workWords(look)))
	case p.comingUp() && (u.busy() || u.starved() || p.atLimit(u.cpu, u.over)):
		f.chain = inOrder(append(f.chain, links(first, last)...))
		f.because = append(f.because, fmt.Sprintf("Its processes were at work: %s.", u))
	default:
		return f
	}
	f.weight = strong
	if p.atLimit(u.cpu, u.over) {
		f.because = append(f.because, fmt.Sprintf("Its own CPU limit%s allows no more.", p.cpuLimit()))
		f.fix(p.h.limitsFix("or raise the CPU limit of container " + p.run.Container))
	}
	return f
}

// tookLonger says whether another run needed longer until the probe first succeeded than this one has had.
func (p *probing) tookLonger() bool {
	return p.run.Started != nil && p.othersTook() > p.until.Sub(p.run.Started.When())
}

// needs is how long a start may take that was ended after some time: twice that, or, where its log says how much of
// all was done, half as much again as all of it takes.
func needs(given time.Duration, said string) time.Duration {
	share, ok := logline.Done(said)
	if !ok || share <= 0 {
		return 2 * given
	}
	return max(2*given, time.Duration(1.5*float64(given)/share))
}

// progressLately is the same of the run, or, where it is younger than the one before was when a probe ended that,
// of that one: it does the same again.
func (p *probing) progressLately() (said string, before bool) {
	if said := p.progress(); said != "" {
		return said, false
	}
	runs := p.h.Runs(p.run.Container)
	n := p.place(runs)
	if n < 1 || runs[n-1].Kill == nil || runs[n-1].Exit == nil || runs[n-1].Started == nil || p.run.Started == nil {
		return "", false
	}
	was := runs[n-1]
	kind := probeOfKill[fact.Of[fact.Kill](was.Kill).Reason]
	if kind == "" || p.until.Sub(p.run.Started.When()) > was.Exit.When().Sub(was.Started.When()) {
		return "", false
	}
	return newProbing(p.h, was, kind, was.Kill.Because).progress(), true
}

// progress is what the log of a run that was never well says of how far it had come in the end: one
// that says no more of it for a quarter of its time hangs.
func (p *probing) progress() string {
	lines, at := p.saidSoFar()
	i, least := p.h.read(lines).Progress(), stillGoing
	if ended := fact.Of[fact.Exited](p.run.Exit); i < 0 && len(ended.LastLines) > len(lines) && len(lines) > 0 { // it may not have heard yet that it was to end
		if i = p.h.read(ended.LastLines).Progress(); i >= 0 {
			lines, at = ended.LastLines, ended.LastLinesAt
		}
	}
	if i < 0 {
		i = p.h.read(lines).Stepping()
	}
	if first := p.h.read(lines).ByName(); i < 0 && first >= 0 && len(at) == len(lines) && at[len(at)-1].Sub(at[first]) >= eachTakes {
		i = len(lines) - 1 // what it only lists is said at once
	}
	if p.run.Started != nil {
		least = max(least, p.until.Sub(p.run.Started.When())/4)
	}
	if i < 0 || i < len(at) && p.until.Sub(at[i]) > least {
		return ""
	}
	return logline.Message(lines[i])
}

// soonDone is how long work of a start may take of which nothing is known but that it has begun.
const soonDone = 2 * time.Minute

// begun is what the log says at its end of work of a start that has begun; "" where it says none, or long ago.
func (p *probing) begun() string {
	lines, _ := p.saidSoFar()
	if p.run.Started == nil || p.until.Sub(p.run.Started.When()) > soonDone || !p.h.read(lines).Begun() {
		return ""
	}
	return logline.Message(lines[len(lines)-1])
}

// saidSoFar are the last lines of a run's log, and when they were said, without what it says as it is ended.
func (p *probing) saidSoFar() (lines []string, at []time.Time) {
	ended := fact.Of[fact.Exited](p.run.Exit)
	lines, at = ended.LastLines, ended.LastLinesAt
	for i, said := range at { // what it says as it is ended is no progress
		if p.run.Kill != nil && len(at) == len(lines) && said.After(p.run.Kill.Seen) {
			lines, at = lines[:i], at[:i]
			break
		}
	}
	if f, _ := p.log(); len(lines) == 0 && f != nil {
		b := fact.Of[fact.Looked](f)
		lines, at = b.Said, b.SaidAt
	}
	return lines, at
}

// eachTakes is how long steps of a start that have names take together at least.
const eachTakes = time.Second

// stillGoing is how long ago the last word of progress may be at least.
const stillGoing = 10 * time.Second

// tooSoon says whether a probe ended the run so soon after its start that nothing can be
// said of it but that.
func (p *probing) tooSoon() bool {
	return p.kind != fact.Readiness && p.mode == refused && p.run.Started != nil && p.until.Sub(p.run.Started.When()) < quickly
}

// use is what all processes of a container did with the CPU over a time.
type use struct{ cpu, waited, over time.Duration }

// used compares the samples around the attempts; over is 0 where there are none
// that tell of CPU.
func (p *probing) used() (first, last *fact.Fact, u use) {
	margin := 2*p.period() + 5*time.Second
	return p.usedBetween(p.from.Add(-margin), p.until.Add(margin))
}

func (p *probing) usedBetween(from, until time.Time) (first, last *fact.Fact, u use) {
	first, last = samples(p.run, from, until)
	if first == nil {
		return nil, nil, use{}
	}
	a, b := fact.Of[fact.Sampled](first), fact.Of[fact.Sampled](last)
	if b.CPUUsage == 0 {
		return nil, nil, use{}
	}
	return first, last, use{b.CPUUsage - a.CPUUsage, b.CPUSome - a.CPUSome, last.Seen.Sub(first.Seen)}
}

// busy says whether they used at least half a CPU, or wanted to: on a busy machine
// what was waited for counts, where most of it is not a mere wake-up.
func (u use) busy() bool {
	return u.over >= time.Second && (u.cpu >= u.over/2 || u.cpu >= u.over/10 && u.cpu+u.waited >= u.over/2)
}

// starved says whether they waited for a CPU for half of the time.
func (u use) starved() bool { return u.over >= time.Second && u.waited >= u.over/2 }

func (u use) String() string {
	text := fmt.Sprintf("%s CPU in %s", prose.Span(u.cpu), prose.Span(u.over))
	if u.waited > u.cpu {
		text += fmt.Sprintf(", and they waited %s for more", prose.Span(u.waited))
	}
	return text
}

// childrenWork says whether processes beside the main one may be at work: they are,
// by half a CPU or all that the limit allows, or there are some and nobody saw what
// they used.
func (p *probing) childrenWork(look fact.Looked) bool {
	_, _, u := p.used()
	return u.busy() || u.starved() || p.atLimit(u.cpu, u.over) || u.over == 0 && look.Processes > 1
}

// up says whether the container listens already, on whatever port.
func (p *probing) up(look fact.Looked) bool {
	return slices.ContainsFunc(look.Listeners, func(l fact.Listener) bool { return !l.Other && (l.PID == 0 || p.h.Owner(l.PID) != "" || !p.shared()) })
}

// mayStillStart says whether a probe ended the container within a minute, while its
// main process was a shell with children: a start script, for all that is known,
// which may wait for something before it comes to the application.
func (p *probing) mayStillStart(look fact.Looked) bool {
	if p.kind == fact.Readiness || look.Processes < 2 || p.run.Started == nil || p.until.Sub(p.run.Started.When()) >= time.Minute {
		return false
	}
	command := ""
	if len(p.of.Command) > 0 {
		command = path.Base(p.of.Command[0])
	}
	for _, f := range p.run.Ended {
		if b := fact.Of[fact.ProcessEnded](f); b.Main {
			command = b.Command // what it was in the end
		}
	}
	return slices.Contains(shells, command)
}

// shells are what start scripts run in.
var shells = []string{"sh", "ash", "bash", "dash", "ksh", "zsh"}

// shared says whether other containers run beside this one.
func (p *probing) shared() bool { return p.h.Object == nil || len(p.h.Object.Spec.Containers) > 1 }

// leastLook and leastWork bound what counts as being at work: the kernel counts
// CPU time in ticks, and in a short look one tick is much.
const (
	leastLook = 200 * time.Millisecond
	leastWork = 100 * time.Millisecond
)

// atWork says whether a look shows CPU use: at least half a CPU while it lasted,
// or a quarter of one on average since the process began. The state R alone is
// no such sign: on a busy machine an idle process waits in it for its turn.
func (p *probing) atWork(look fact.Looked) bool {
	return look.Over >= leastLook && look.CPUUsed >= leastWork && share(look) >= busyShare ||
		look.Age >= time.Second && look.CPUTotal >= look.Age/4
}

func workWords(look fact.Looked) string {
	if look.Over >= leastLook && share(look) >= busyShare {
		return fmt.Sprintf("%s CPU in %s", prose.Span(look.CPUUsed), prose.Span(look.Over))
	}
	return fmt.Sprintf("%s CPU since its start %s before", prose.Span(look.CPUTotal), prose.Span(look.Age))
}

// cameUpElsewhen says whether the probe succeeded in any other run, earlier or later.
func (p *probing) cameUpElsewhen() bool {
	for _, r := range p.h.Runs(p.run.Container) {
		for _, f := range r.Probes {
			if b := fact.Of[fact.Probed](f); r.Attempt != p.run.Attempt && b.Probe == p.kind && !bad(b) {
				return true
			}
		}
	}
	return false
}

// othersTook is the longest time that another run took from its start to the first
// success of the probe; 0 when none did.
func (p *probing) othersTook() time.Duration {
	var longest time.Duration
	for _, r := range p.h.Runs(p.run.Container) {
		if r.Started == nil || r.Attempt == p.run.Attempt {
			continue
		}
		failedFirst := false
		for f, b := range each[fact.Probed](r.Probes) {
			if b.Probe != p.kind {
				continue
			}
			if bad(b) {
				failedFirst = true
				continue
			}
			if failedFirst {
				longest = max(longest, f.When().Sub(r.Started.When()))
			}
			break
		}
	}
	return longest
}
