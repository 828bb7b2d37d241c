package why

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
)

// oomMain: the OOM killer took the main process.
func oomMain(e ending) *finding {
	record := lastThat(e.run.OOMKills, func(f *fact.Fact) bool { return fact.Of[fact.OOMKilled](f).Main })
	if record == nil && !e.exit.MainOOMKilled {
		return cmp.Or(e.oomTookMain(), e.oomPerhapsMain())
	}
	f := e.oom(record)
	f.weight = certain
	if chosen := e.run.ChosenBefore(record); chosen != nil {
		o := fact.Of[fact.OOMKilled](chosen)
		f.because = append(f.because, fmt.Sprintf("The kernel had chosen a child%s, and the whole container dies with one of its processes (memory.oom.group).", inBrackets("", process(o.Command, o.PID))))
		f.chain = e.chain(chosen, record)
	}
	if o := fact.Of[fact.OOMKilled](record); record == nil || o.Scope(e.h.Object, e.run.Container) == "" && o.Limit == 0 {
		// The victim is known, and not whose limit it was.
		if o.Constraint == "" {
			f.weight = fair
		}
		if e.limit() == 0 || fact.LimitedTogether(e.h.Object, e.run.Container) {
			f.weight, f.text = weak, "the main process was OOM-killed; whose limit it was only the kernel's record tells"
		}
	}
	return f
}

// openOOM is an OOM kill right before an end with 137 of which nobody knows whether it took
// the main process; nil where there is none.
func (e ending) openOOM() *fact.Fact {
	return lastThat(e.run.OOMKills, func(f *fact.Fact) bool {
		return fact.Of[fact.OOMKilled](f).MainOpen && e.exit.ExitCode == 137 && e.at.Sub(f.When()).Abs() <= fact.OOMFollowedWithin
	})
}

// oomTookMain: the kernel itself killed the main process right when it OOM-killed a child,
// as it does to the whole container (memory.oom.group); of the main process its log has no
// word, or none that came.
func (e ending) oomTookMain() *finding {
	if !e.exit.ByKernel {
		return nil
	}
	for _, record := range slices.Backward(e.run.OOMKills) {
		if e.at.Sub(record.When()).Abs() > fact.OOMFollowedWithin {
			continue
		}
		f := e.oom(record)
		f.weight = strong
		if f.cause == answer.MemoryLimitChild {
			f.cause = answer.MemoryLimit
		}
		f.because = append(f.because, "The kernel itself killed the main process with it: the whole container dies with one of its processes (memory.oom.group).")
		return f
	}
	return nil
}

// oomPerhapsMain: it ended as the main process does that the OOM killer takes. Where that
// one is no shell, hardly anything else ends with 137.
func (e ending) oomPerhapsMain() *finding {
	record := e.openOOM()
	if record == nil {
		return nil
	}
	taken := *record
	b := fact.Of[fact.OOMKilled](record)
	b.Main = true
	taken.Body = b
	f := e.oom(&taken)
	f.weight = fair
	f.because = append(f.because, "nobody saw which process it was: that it was the main one is concluded from its exit code 137, which a shell would also hand on.")
	return f
}

// handsOn says whether a container's main process is one that ends with the exit code of a
// child, by its command.
func handsOn(c *v1.Container) bool {
	if len(c.Command) == 0 {
		return false
	}
	name := path.Base(c.Command[0])
	return slices.Contains(shells, name) || slices.Contains([]string{"busybox", "tini", "dumb-init", "catatonit"}, name)
}

// oomChildThenExit: a child was OOM-killed and the main process, which waited
// for it, ended at once with an error: a shell hands on 137, stress says 1.
func oomChildThenExit(e ending) *finding {
	if e.exit.MainOOMKilled || e.exit.ByKernel {
		return nil
	}
	record := lastThat(e.run.OOMKills, func(f *fact.Fact) bool { return !fact.Of[fact.OOMKilled](f).Main && e.endsOver(f) })
	if record == nil {
		return nil
	}
	open := record == e.openOOM()
	if open && !handsOn(e.spec) {
		return nil
	}
	f := e.oom(record)
	f.weight = strong
	if open {
		f.weight, f.then = fair, []string{"the main process, a shell, may have handed on the child's exit code 137."}
		return f
	}
	how := fmt.Sprintf("the main process ended because of it, with exit code %d", e.exit.ExitCode)
	if e.exit.ExitCode == 137 {
		f.weight = certain
		how = "the main process itself was not killed: it handed on the child's exit code 137"
	}
	f.then = []string{how + "."}
	return f
}

// hookOOM: the postStart hook failed as a process was OOM-killed while it ran; what a hook runs counts to the
// container's limit.
func (e ending) hookOOM(hook *fact.Fact) *finding {
	b := fact.Of[fact.HookRan](hook)
	for _, record := range slices.Backward(e.run.OOMKills) {
		ago := hook.When().Sub(record.When())
		if fact.Of[fact.OOMKilled](record).Main || ago < -successOver || ago > b.Took+successOver {
			continue
		}
		f := e.oom(record)
		f.rule, f.weight = "child-oom", strong
		f.chain = e.chain(record, hook, e.run.Kill)
		f.then = []string{fmt.Sprintf("its postStart hook, whose memory counts to that limit, failed then (%s), so the node ended the container and starts it again.", strings.TrimRight(hookSaid(b.Error), ":. "))}
		return f
	}
	return nil
}

// successOver is how soon after the OOM kill of its child a main process ends with exit code 0
// because of that: a script whose last command has no say in its exit code.
const successOver = 500 * time.Millisecond

// endsOver says whether the main process ended so soon after the OOM kill of a child that it
// was because of that.
func (e ending) endsOver(kill *fact.Fact) bool {
	within := fact.OOMFollowedWithin
	if e.exit.ExitCode == 0 {
		if e.h.Object == nil || e.h.Object.Spec.RestartPolicy != v1.RestartPolicyAlways {
			return false
		}
		within = successOver
	}
	return e.at.Sub(kill.When()).Abs() <= within
}

// oomNotThis rules out memory where an OOM kill is in sight and is not what
// ended the run: an earlier one of a child, or one of a sibling for which the
// runtime marks this container too (cgroup v1 wakes the notifiers of all below
// the cgroup whose limit was hit).
func oomNotThis(e ending) *finding {
	if e.exit.MainOOMKilled {
		return nil
	}
	for _, f := range e.run.OOMKills {
		if fact.Of[fact.OOMKilled](f).Main || e.endsOver(f) {
			return nil
		}
	}
	open := !e.exit.OOMKnown && e.exit.ExitCode == 137 && (e.exit.Signal != 0 || !e.exit.StatusKnown)
	note, ok := e.notMemory()
	if !ok || open && e.oomLately() {
		return nil
	}
	f := &finding{cause: note.Cause, weight: refuted, text: note.Text, chain: e.chain(e.run.OOMKills...)}
	if len(e.childOOM()) > 0 {
		f.text = "the main process was not OOM-killed"
	}
	if e.exit.RuntimeReason == "OOMKilled" && !open {
		f.because = []string{"the runtime's word OOMKilled is not true of this end"}
	}
	return f
}

// lately is how long before an end with an error the OOM kill of a child may have
// brought it about: what was left undone shows when it is needed.
const lately = 10 * time.Second

// childOOM says that a child was OOM-killed a while before the main process ended with
// an error. Whether it ended because of that only the application knows.
func (e ending) childOOM() []answer.Note {
	if len(e.run.OOMKills) == 0 || e.exit.ExitCode == 0 {
		return nil
	}
	last := e.run.OOMKills[len(e.run.OOMKills)-1]
	o, ago := oomRecord(fact.Of[fact.OOMKilled](last)), e.at.Sub(last.When())
	if o.Main || ago <= fact.OOMFollowedWithin || ago > lately {
		return nil
	}
	return []answer.Note{{Cause: answer.MemoryLimitChild, Facts: []fact.ID{last.ID}, Text: fmt.Sprintf(
		"a child process%s was OOM-killed %s before the end, %s: what it was to do was not done, which may be what the main process ended for",
		inBrackets("", process(o.Command, o.PID)), prose.Span(ago), e.h.atLimit(e.run.Container, fact.OOMKilled(o)))}}
}

// oom words an OOM kill in this container, and whose limit it was. record is nil
// where only the counter tells.
func (e ending) oom(record *fact.Fact) *finding {
	f := &finding{chain: e.chain(record)}
	if record == nil {
		record = &fact.Fact{Body: fact.OOMKilled{Main: true, Limit: e.limit()}}
	}
	o := oomRecord(fact.Of[fact.OOMKilled](record))
	e.h.blameOOM(f, e.run, record)
	if left := e.h.leftBehind(e.run); left.kill != nil && (f.cause == answer.MemoryLimit || f.cause == answer.MemoryLimitChild) {
		f.cause, f.because = answer.ProbeCommandFailed, append(f.because, left.String())
		f.fixes = e.h.endsWhatItStarts(left.container, left.kind, time.Second*time.Duration(max(1, fact.ProbeOf(e.spec, left.kind).TimeoutSeconds)))
	}
	if f.cause == answer.MemoryLimit || f.cause == answer.MemoryLimitChild {
		f.fix(e.h.memoryFixes(e.run, o)...)
	}
	return f
}

// blameOOM says whose limit an OOM kill was about, and in whose memory it was.
func (h *inquiry) blameOOM(f *finding, run *history.Run, record *fact.Fact) {
	b, container := fact.Of[fact.OOMKilled](record), run.Container
	o := oomRecord(b)
	victim := fmt.Sprintf("a child process of container %s", container)
	f.cause = answer.MemoryLimitChild
	if o.Main {
		victim = fmt.Sprintf("the main process of container %s", container)
		f.cause = answer.MemoryLimit
	}
	victim += inBrackets("", process(o.Command, o.PID))
	scope := b.Scope(h.Object, container)
	switch {
	case scope == fact.OfMachine:
		f.cause = answer.NodeOutOfMemory
		f.text = fmt.Sprintf("The machine ran out of memory, and the kernel's global OOM killer chose %s; the container's own limit was not the reason.", victim)
		f.fixes = []answer.Fix{h.inspect("see what uses the node's memory", "kubectl top pods -A --sort-by=memory"), h.specFix("give memory-hungry pods requests and limits that fit the node")}
	case scope == fact.OfPod && h.Object != nil && !fact.LimitsMemory(h.Object):
		f.cause = answer.PodMemoryLimit
		f.text = fmt.Sprintf("The pod's containers together hit the sum of their memory limits%s (files in memory that ended runs left count to it), and the kernel chose %s; no container need have been at its own limit.", ofSize(o.Limit), victim)
		f.fixes = []answer.Fix{h.limitsFix("raise the memory limit of the container that uses most"), h.inspect("see which container uses most", h.kubectl("top pod %s --containers", h.Pod.Name))}
	case scope == fact.OfPod:
		f.cause = answer.PodMemoryLimit
		f.text = fmt.Sprintf("The pod as a whole hit its memory limit%s, and the kernel chose %s; the container's own limit was not the reason.", ofSize(o.Limit), victim)
		f.fixes = []answer.Fix{h.limitsFix("raise the pod's memory limit, or bound its containers one by one"), h.inspect("see which container uses most", h.kubectl("top pod %s --containers", h.Pod.Name))}
	case scope == fact.OfAllPods:
		f.cause = answer.NodeOvercommitted
		f.text = fmt.Sprintf("All pods of the node together hit what pods may have%s, and the kernel chose %s.", ofSize(o.Limit), victim)
		f.fixes = []answer.Fix{h.inspect("see how much was promised", "kubectl describe nodes | grep -A8 'Allocated resources'")}
	case o.inFiles(run.Dying(record)):
		f.cause = answer.MemoryBackedVolume
		f.text = fmt.Sprintf("Files in memory (a tmpfs volume or /dev/shm) used up the memory limit%s of container %s; the kernel then killed %s, though its processes held only %s at that moment.",
			ofSize(o.Limit), container, victim, prose.Size(o.held()))
		which := "the memory-backed volume"
		if volumes := h.inMemory(container); len(volumes) > 0 {
			which = "volume " + strings.Join(volumes, " and volume ")
			f.because = []string{fmt.Sprintf("Its %s is an emptyDir of medium Memory.", which)}
		}
		f.fixes = []answer.Fix{h.specFix(fmt.Sprintf("give %s a sizeLimit well below the memory limit, or use a volume on disk; its files outlive the container, and go only with the pod", which)), h.inside("see what lies in memory", container, "df -h -t tmpfs")}
	default:
		f.text = fmt.Sprintf("%s was OOM-killed: container %s hit its memory limit%s%s.", prose.Upper(victim), container, ofSize(o.Limit), o.crowd())
		if h.LimitRanged(container) {
			f.because = []string{"its manifest does not ask for that limit: a LimitRange of the namespace sets it where none is asked for."}
		}
		if words := heapWords(h.spec(container), o.Limit); words != "" {
			f.because = append(f.because, words)
		}
	}
}

func ofSize(bytes int64) string { return prose.Whether(bytes == 0, "", " of "+prose.Size(bytes)) }

// oomRecord is the kernel's record of an OOM kill, with what follows from it.
type oomRecord fact.OOMKilled

// atLimit words whose limit an OOM kill in a container was about.
func (h *inquiry) atLimit(container string, b fact.OOMKilled) string {
	switch b.Scope(h.Object, container) {
	case fact.OfMachine:
		return "because the machine had run out of memory"
	case fact.OfContainer:
		return "at its limit" + ofSize(b.Limit)
	case fact.OfPod:
		return "at the pod's limit" + ofSize(b.Limit)
	case fact.OfAllPods:
		return "at the limit of all pods together" + ofSize(b.Limit)
	}
	return "at a limit" + ofSize(b.Limit)
}

// held is what the processes held together: by the cgroup's statistics, or else by
// the kernel's table; of the victim alone where there is neither.
func (o oomRecord) held() int64 {
	if o.CgroupAnon > 0 {
		return o.CgroupAnon
	}
	var sum int64
	for _, t := range o.Tasks {
		sum += t.RSS
	}
	return cmp.Or(sum, o.AnonRSS+o.FileRSS+o.ShmemRSS)
}

// crowded is how many processes must be in the kernel's table to be called many.
const crowded = 8

// crowd words that many processes filled the memory together, and none by itself.
func (o oomRecord) crowd() string {
	if len(o.Tasks) < crowded {
		return ""
	}
	count := map[string]int{}
	most := o.Tasks[0]
	for _, t := range o.Tasks {
		if t.RSS >= o.Limit/4 {
			return ""
		}
		if count[t.Command]++; count[t.Command] > count[most.Command] {
			most = t
		}
	}
	atLeast := prose.Whether(len(o.Tasks) == fact.MostTasks, "at least ", "")
	return fmt.Sprintf(", which %s%d processes filled together, %d of them %s", atLeast, len(o.Tasks), count[most.Command], most.Command)
}

// inFiles says whether most of the limit was taken by files in memory. The
// statistics of the cgroup say so, where the kernel printed them. Without them it
// is what no process of the table maps: page cache would have been given back
// first. The table counts shared memory once a process, so it can only look too
// large; but it does not have those that were killed shortly before and are still
// to give their memory back: dying is what they held.
func (o oomRecord) inFiles(dying int64) bool {
	if o.CgroupAnon > 0 {
		return o.CgroupShmem > o.CgroupAnon && o.CgroupShmem >= o.Limit/4
	}
	return o.Limit > 0 && len(o.Tasks) > 0 && len(o.Tasks) < fact.MostTasks && o.held()+dying < o.Limit/2
}
