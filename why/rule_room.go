package why

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
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

// startDiskFull: the runtime says that a disk is full.
func startDiskFull(c notStarted) *finding {
	if !knowledge.NoSpace.In(c.message) {
		return nil
	}
	return c.finds(answer.DiskFull, certain).
		says("Container %s does not start because a disk of the node is full: %s.", c.run.Container, prose.Brief(c.message, kept)).
		fix(nodesDisks)
}

var nodesDisks = kubectl.OnNode("see what fills the node's disks", "df -h; df -i")

// startProcessLimit: the runtime says that it could not fork.
func startProcessLimit(c notStarted) *finding {
	if !words.NoFork(c.message) {
		return nil
	}
	return c.finds(answer.ProcessLimit, certain).
		says("Container %s does not start because no more processes are allowed: %s.", c.run.Container, prose.Brief(c.message, kept)).
		fix(kubectl.OnNode("see how many there are", "cat /proc/loadavg; sysctl kernel.pid_max kernel.threads-max"))
}

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
	f.text = fmt.Sprintf("Container %s ended%s with exit code %d because it could not start another process%s%s.", e.run.Container, e.after(), e.exit.ExitCode, pidWords(full), colon(said))
	return f
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
		h.specFix("have the application reap its children and bound its threads; the node's pids limit is the same for all pods"),
		h.inside("see which processes the container has, and whether they pile up", run.Container, "ps"),
	}
}

// probeDiskFull: the answer says that a disk is full.
func probeDiskFull(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || !knowledge.NoSpace.In(ev.Output) && !knowledge.NoSpace.In(p.last.Message) {
		return nil
	}
	return &finding{
		cause: answer.DiskFull, weight: strong, chain: p.chain(),
		text:  fmt.Sprintf("Container %s says that there is no room to write: %s failed, saying %q.", p.run.Container, p.what(), prose.Midst(words.Told(cmp.Or(ev.Output, p.last.Message)), kept)),
		fixes: []answer.Fix{p.h.inside("see whether it is one of its own file systems", p.run.Container, "df -h")}, // it may pass on another's words
	}
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
	f.text = fmt.Sprintf("Container %s cannot start another process%s; so %s fails.", p.run.Container, pidWords(full), p.what())
	return f
}
