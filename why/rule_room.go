package why

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// moreShared gives a container more shared memory than the runtime does.
const moreShared = "mount an emptyDir with medium: Memory at /dev/shm (what is in it counts to the container's memory limit)"

// inMemory fits the path of a volume that kubelet keeps in memory: with tokens, or secrets.
var inMemory = regexp.MustCompile(`kubernetes\.io~(projected|secret|empty-dir)`)

// thousandths is the container whose memory limit is written with m for Mi, and what is meant, where
// the words are about a volume that is kept in memory: kubelet makes that no larger than the limits of
// the pod (pkg/volume/emptydir, calculateEmptyDirMemorySize).
func (h *inquiry) thousandths(message string) (container, meant string) {
	if !inMemory.MatchString(message) {
		return "", ""
	}
	for _, c := range h.podSpec().Containers {
		if limit := c.Resources.Limits.Memory(); strings.HasSuffix(limit.String(), "m") {
			return c.Name, strings.TrimSuffix(limit.String(), "m") + "Mi"
		}
	}
	return "", ""
}

var nodesDisks = kubectl.OnNode("see what fills the node's disks", "df -h; df -i")

// diskFullSaid: the application's last words are ENOSPC's.
func diskFullSaid(e ending) *finding {
	said := e.said(knowledge.NoSpace.In)
	if e.exit.ExitCode == 0 || said == "" {
		return nil
	}
	return e.finds(answer.DiskFull, strong).
		says("Container %s ended%s because it could not write: %s.", e.run.Container, e.after(), prose.Brief(said, kept)).
		fix(e.h.inside("see what fills its file systems", e.run.Container, "df -h"), e.h.roomFix(e.run.Container, said))
}

// roomFix gives the volume more room in which words name a file, or shared memory; where they name
// none of a volume's, the only one of the container that is bounded may be it.
func (h *inquiry) roomFix(container, said string) answer.Fix {
	for _, m := range aPath.FindAllStringSubmatch(sharedMemory.ReplaceAllString(said, " /dev/shm/x "), mostPaths) {
		if _, v := h.volumeOf(container, path.Clean(m[1])); v != nil {
			if fix, ok := h.moreRoom(v); ok {
				return fix
			}
			return h.specFix(fmt.Sprintf("have it write less to volume %s, or give that more room", v.Name))
		}
	}
	if knowledge.SmallShm.In(said) {
		return h.specFix(moreShared)
	}
	var may []answer.Fix
	for m, v := range h.mounted(container) {
		if fix, ok := h.moreRoom(v); ok && !m.ReadOnly {
			fix.Text = "if it is at " + m.MountPath + ": " + fix.Text
			may = append(may, fix)
		}
	}
	if len(may) == 1 {
		return may[0]
	}
	return h.specFix("have it write less, or give it more room where it writes")
}

// moreRoom is how a volume that is bounded gets more room; ok is false where nothing but the node's disk bounds it.
func (h *inquiry) moreRoom(v *v1.Volume) (f answer.Fix, ok bool) {
	switch {
	case v.PersistentVolumeClaim != nil:
		claim := v.PersistentVolumeClaim.ClaimName
		return answer.Fix{
			Text: fmt.Sprintf("delete what is not needed there, or have claim %s ask for more (spec.resources.requests.storage), if its StorageClass lets claims grow", claim), Command: h.kubectl("edit pvc %s", claim), Risk: answer.Restarts,
			ID: answer.StepGrowClaim, Target: "persistentvolumeclaim/" + h.Pod.Namespace + "/" + claim,
		}, true
	case v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil:
		return f, false
	case v.EmptyDir.Medium == v1.StorageMediumMemory:
		f.Text = fmt.Sprintf("raise the sizeLimit of volume %s, which is in memory (emptyDir, now %s), and the container's memory limit with it", v.Name, v.EmptyDir.SizeLimit)
	default:
		f.Text = fmt.Sprintf("raise the sizeLimit of volume %s (emptyDir, now %s), or have it write less there", v.Name, v.EmptyDir.SizeLimit)
	}
	f.Command, f.Risk = kubectl.EditTemplateCommand(h.Pod.Namespace, h.Object), answer.Restarts
	return f, true
}

// sharedMemory fits what is said of shared memory, which is at /dev/shm.
var sharedMemory = regexp.MustCompile(`(?i)shared memory segment ["\\]*/?[\w.]+`)

// processLimitHit: it could not fork, and ended.
func processLimitHit(e ending) *finding {
	if e.exit.ExitCode == 0 || e.exit.Vanished || e.exit.Signal == 9 || e.exit.MainOOMKilled {
		return nil
	}
	full := e.run.AtPIDLimit(e.at.Add(-time.Minute), e.at)
	said := e.said(words.NoFork)
	if full == nil && said == "" {
		return nil
	}
	f := e.finds(answer.ProcessLimit, strong, full).fix(e.h.pidFixes(e.run)...)
	if full == nil {
		f.fix(e.h.inside("a user other than root has a limit of its own, counted over all its processes on the node", e.run.Container, "sh -c 'ulimit -u'"))
	}
	return f.says("Container %s ended%s with exit code %d because it could not start another process%s%s.", e.run.Container, e.after(), e.exit.ExitCode, pidWords(full), colon(said))
}

func pidWords(sample *fact.Fact) string {
	if sample == nil {
		return ""
	}
	b := fact.Of[fact.Sampled](sample)
	return fmt.Sprintf(": it had %d of the %d tasks that it may have", b.PIDs, b.PIDLimit)
}

func (h *inquiry) pidFixes(run *history.Run) []answer.Fix {
	return []answer.Fix{
		{Text: "have the application reap its children and bound its threads; the node's pids limit is the same for all pods", Risk: answer.Restarts},
		h.inside("see which processes the container has, and whether they pile up", run.Container, "ps"),
	}
}

// probeDiskFull: the answer says that a disk is full.
func probeDiskFull(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || !knowledge.NoSpace.In(ev.Output) && !knowledge.NoSpace.In(p.last.Message) {
		return nil
	}
	return p.finds(answer.DiskFull, strong).
		says("Container %s says that there is no room to write: %s failed, saying %q.", p.run.Container, p.what(), prose.Midst(words.Told(cmp.Or(ev.Output, p.last.Message)), kept)).
		fix(p.h.inside("see whether it is one of its own file systems", p.run.Container, "df -h")) // it may pass on another's words
}

// probeProcessLimit: no process could be started any more.
func probeProcessLimit(p *probing) *finding {
	ev := p.last.Evidence
	full := p.run.AtPIDLimit(p.from.Add(-p.period()), p.until.Add(p.period()))
	said := words.NoFork(p.last.Message) || ev != nil && words.NoFork(ev.Output)
	if full == nil && !said || p.mode == refused && len(p.before) == 0 {
		return nil
	}
	f := p.finds(answer.ProcessLimit, strong, full).fix(p.h.pidFixes(p.run)...)
	if full != nil && said {
		f.weight = certain
	}
	return f.says("Container %s cannot start another process%s; so %s fails.", p.run.Container, pidWords(full), p.what())
}

func filesSaid(e ending) *finding {
	said := e.said(knowledge.OpenFiles.In)
	if e.exit.ExitCode == 0 || said == "" {
		return nil
	}
	f := e.finds(answer.AppExitError, strong)
	why := "it may have no more files and connections open (RLIMIT_NOFILE)"
	f.fixes = []answer.Fix{e.h.logsFix(e.run), e.h.filesFix(nil)}
	if knowledge.Inotify.In(said) {
		why = "the node lets its user watch files no more often (fs.inotify.max_user_instances, counted over all containers of that user)"
		f.fixes = []answer.Fix{kubectl.OnNode("see the node's limit, and raise it there", "sysctl fs.inotify.max_user_instances")}
	}
	return f.says("Container %s ended%s with exit code %d because %s: %s.", e.run.Container, e.after(), e.exit.ExitCode, why, gist(said))
}

// probeFilesLimit: it can accept no connection, or open nothing that an answer needs.
func probeFilesLimit(p *probing) *finding {
	f := &finding{weight: fair}
	at, look := p.lookFull()
	switch p.mode {
	case silent, unreachable:
		f.cause = answer.AppHang
		if share(look) >= busyShare {
			f.cause = answer.AppOverloaded // it tries again and again, or serves what it has
		}
	case answered, notServing, exitCode, broken:
		f.cause = answer.AppUnhealthy
	default:
		return nil
	}
	full := look.Files
	if full != nil && full.Open < full.Limit {
		full = nil
	}
	said := p.said(knowledge.OpenFiles.In)
	if full == nil && said == "" {
		return nil
	}
	said = words.Told(said)
	f.text = fmt.Sprintf("Container %s may have no more files and connections open (RLIMIT_NOFILE)%s, so %s fails%s.", p.run.Container, p.filesWords(full), p.what(), colon(prose.Brief(said, kept)))
	f.fixes = []answer.Fix{p.h.logsFix(p.run), p.h.filesFix(full)}
	if said != "" {
		f.weight = strong
	}
	if full == nil {
		f.chain = p.chain()
		return f
	}
	f.chain = p.chain(at)
	f.fixes[0] = kubectl.OnNode("see what it has open", shell.Linef("ls -l /proc/%d/fd", full.PID))
	waits := slices.ContainsFunc(p.here(look), func(l fact.Listener) bool { return l.Backlog > 0 })
	if said != "" || waits && f.cause != answer.AppUnhealthy {
		f.weight = certain
	}
	return f
}

// lookFull is the newest look, or of one that is made as the container ends, and closes what it has open, the last before
// the order to end it that found it at its limit.
func (p *probing) lookFull() (at *fact.Fact, look fact.Looked) {
	at, look, _ = p.look()
	if at == nil || p.run.Kill == nil || !at.Seen.After(p.run.Kill.Seen) {
		return at, look
	}
	for _, f := range slices.Backward(p.run.Looks) {
		if b := fact.Of[fact.Looked](f); f.Seen.Before(p.run.Kill.Seen) && !f.Seen.Before(p.from) && b.Files != nil && b.Files.Open >= b.Files.Limit {
			return f, b
		}
	}
	return at, look
}

// said gives what the application complained of: in its answer, or at the end of its
// log once the node had killed it for the probe; "" when nothing fits.
func (p *probing) said(fits func(string) bool) string {
	texts := []string{p.last.Message, cmp.Or(p.last.Evidence, &fact.Evidence{}).Output}
	if _, lines := p.log(); p.run.Exit == nil && len(lines) > 0 {
		texts = append(texts, lines[len(lines)-1])
	} else if p.run.Exit != nil {
		texts = append(append(texts, fact.Of[fact.Exited](p.run.Exit).Message), p.run.LastSaid(p.since())...)
	}
	for _, text := range slices.Backward(texts) {
		if fits(text) {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// filesWords says who is at the limit, and what it had open when all was well.
func (p *probing) filesWords(full *fact.Files) string {
	if full == nil {
		return ""
	}
	text := fmt.Sprintf(": %s has %d open of %d", process(full.Command, full.PID), full.Open, full.Limit)
	for _, f := range p.run.Looks {
		if b := fact.Of[fact.Looked](f); b.Files != nil && b.Files.PID == full.PID && f.Seen.Before(p.from) {
			return text + fmt.Sprintf(", and had %d %s before", b.Files.Open, prose.Span(p.from.Sub(f.Seen)))
		}
	}
	return text
}

func (h *inquiry) filesFix(full *fact.Files) answer.Fix {
	text := "have it close what it opens, and bound the connections that it holds at once; a higher limit (ulimit -n) only delays the end of a leak"
	if full != nil && full.Most > full.Limit {
		text += fmt.Sprintf(", and can be raised to %d", full.Most)
	}
	return h.specFix(text)
}

func heapSaid(e ending) *finding {
	if e.exit.ExitCode == 0 || e.exit.Vanished || !e.sawNoOOM() || e.exit.Signal != 0 && !slices.Contains(fact.Faults, e.exit.Signal) {
		return nil
	}
	said := ""
	for _, line := range append([]string{e.exit.Message}, e.exit.LastLines...) {
		if knowledge.NoMemory.In(line) && !words.NoFork(line) {
			said = line
		}
	}
	if said == "" {
		return nil
	}
	f := e.finds(answer.AppExitError, strong).fix(e.h.logsFix(e.run))
	how := fmt.Sprintf("with exit code %d", e.exit.ExitCode)
	if e.exit.Signal != 0 {
		f.cause, f.weight, how = answer.AppCrashSignal, certain, "by "+signalName(e.exit.Signal)
	} else if slices.Contains([]int32{128 + sigill, 128 + sigtrap, 128 + sigabrt, 128 + sigsegv}, e.exit.ExitCode) && !e.exit.StatusKnown { // as V8 and the JVM end themselves when the heap is full
		f.cause = answer.AppCrashSignal
	}
	said = e.reasonFor(said)
	f.text = fmt.Sprintf("Container %s ended%s %s because its program could get no more memory. The kernel killed nothing: there was no OOM kill at the container's limit. It said: %s.", e.run.Container, e.after(), how, quote(said, quotedHint))
	return f.fix(e.h.specFix(e.moreMemory(said)))
}

// quotedHint is how much is quoted of words that may have advice in them.
const quotedHint = 440

// reasonFor is what the process said last of why, where that line is part of it, or the line.
func (e ending) reasonFor(said string) string {
	line := logline.Message(said)
	if all := e.story().Reason(); strings.Contains(all, line) {
		return all
	}
	return line
}

// moreMemory is what lets a program have more memory, by what it said and is set to.
func (e ending) moreMemory(said string) string {
	switch _, sized := heapOf(e.spec); {
	case sized:
	case knowledge.HugePages.In(said):
		return "have it use no huge pages (huge_pages of PostgreSQL, -XX:+UseLargePages of Java), or give the container some, as hugepages-2Mi among its limits, on a node that has them; or have it ask for less"
	case knowledge.RefusedMemory.In(said):
		return "have it ask for less (caches, shared buffers, workers), or lift what refuses it more: a limit of its address space (ulimit -v in its start script), or the node's rule for how much it promises (vm.overcommit_memory)"
	}
	return e.h.moreHeap(e.run.Container, e.limit())
}

// moreHeap returns the step for a larger heap; limit is the memory limit in bytes, 0 if unknown.
func (h *inquiry) moreHeap(container string, limit int64) string {
	g, sized := heapOf(h.spec(container))
	if !sized {
		return "find what fills its heap, or allow it a larger one (-Xmx, --max-old-space-size, ulimit -v); the container's memory limit matters only as far as the heap's is derived from it"
	}
	text := fmt.Sprintf("find what fills its heap, or allow it a larger one than %s", g)
	if limit > 0 && float64(g.bytes) > besideHeap*float64(limit)/2 {
		text += fmt.Sprintf(", and the container more than %s of memory with it", prose.Size(limit))
	}
	return text
}
