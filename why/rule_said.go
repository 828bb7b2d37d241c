package why

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// said gives what a container said last that fits: its termination message, or
// else the latest of the last lines of its log; "" when nothing does.
func (e ending) said(fits func(string) bool) string {
	if e.exit.Message != "" && fits(e.exit.Message) {
		return e.exit.Message
	}
	if code := e.exit.ExitCode; e.exit.Signal != 0 && e.exit.Signal != sigabrt || code >= 128 && code != 255 && code != 128+sigabrt {
		return "" // a signal ended it, not what it last complained of
	}
	lines := e.saidAtLast()
	if i := e.h.read(lines).Primary(); i >= 0 && fits(lines[i]) {
		return lines[i] // before a mere member of what it says
	}
	for _, line := range slices.Backward(lines) {
		if fits(line) {
			return line
		}
	}
	return ""
}

// atLast is how long before its end a process may have said what it ended for.
const atLast = 2 * time.Minute

// saidAtLast are the last lines of its log that it said shortly before its end.
func (e ending) saidAtLast() []string { return e.run.LastSaid(e.at.Add(-atLast)) }

// story is what the last lines of its log tell, storyAtLast what those do that it said at last.
func (e ending) story() *logline.Story       { return e.h.read(e.exit.LastLines) }
func (e ending) storyAtLast() *logline.Story { return e.h.read(e.saidAtLast()) }

// longBefore words how long before its end a process said last what it said, where that is
// long.
func (e ending) longBefore() string {
	if n := len(e.exit.LastLinesAt); n > 0 && e.exit.LastLinesAt[n-1].Before(e.at.Add(-atLast)) {
		return fmt.Sprintf(" (%s before)", prose.Span(e.at.Sub(e.exit.LastLinesAt[n-1])))
	}
	return ""
}

// gist is what a line says, without what a logger put before it.
func gist(said string) string { return quote(logline.Message(said), quoted) }

// quote is what somebody said, as it stands before a full stop. What is too much is cut out of its
// midst: errors name last what they come from.
func quote(said string, most int) string { return quoteAs(answer.RoleWords, said, most) }

// quoteAs is the same with what it is quoted for.
func quoteAs(role answer.Role, said string, most int) string {
	return role.Mark(strings.TrimRight(prose.Midst(said, most), ".! "))
}

// lastWord is what a container said last, its termination message before its log;
// "" when it said nothing.
func (e ending) lastWord() string {
	if strings.TrimSpace(e.exit.Message) != "" {
		return e.exit.Message
	}
	if i := e.story().Primary(); i >= 0 {
		return e.exit.LastLines[i]
	}
	return ""
}

// execSaid: the kernel refused the program when the runtime's own process had
// already been started in its place, so the container counts as started (runc exits
// with 255 then). A script is refused so for its interpreter (execve(2), ENOENT).
func execSaid(e ending) *finding {
	said := strings.TrimSpace(e.lastWord())
	if e.exit.ExitCode != 255 || e.lasted() > quickly || !strings.HasPrefix(said, "exec ") || len(e.exit.LastLines) > 1 {
		return nil
	}
	f := e.finds(answer.AppStartFailed, strong)
	switch {
	case knowledge.ExecFormat.In(said):
		f.text = fmt.Sprintf("The program of container %s is made for another kind of machine: %s.", e.run.Container, prose.Brief(said, kept))
		f.fixes = []answer.Fix{e.h.specFix("use an image for this kind of machine; a script needs a first line such as #!/bin/sh")}
	case knowledge.NoFile.In(said):
		f.text = fmt.Sprintf("The command of container %s is there and cannot be run, because what runs it is missing in the image: the interpreter that a script names in its first line (or that line ends in CR LF), or a program's loader. It said: %s.", e.run.Container, prose.Brief(said, kept))
		f.fixes = []answer.Fix{e.h.specFix("name an interpreter that the image has (#!/bin/sh), save the script with Unix line ends, or use an image that has the interpreter or the C library")}
	default:
		f.text = fmt.Sprintf("The command of container %s cannot be run: %s.", e.run.Container, prose.Brief(said, kept))
		f.fixes = []answer.Fix{e.h.specFix("correct command and args, or the file's mode in the image")}
	}
	return f
}

// readOnlySaid: it tried to write to its own image, which its security context
// forbids.
func readOnlySaid(e ending) *finding {
	said := e.said(func(line string) bool { return knowledge.Any(line, knowledge.ReadOnly, knowledge.NoTemporary) })
	if e.exit.ExitCode == 0 && !e.storyAtLast().EndsFailed() || said == "" || !e.h.readOnly(e.spec) {
		return nil
	}
	if _, volume := e.h.volumeOf(e.run.Container, "/tmp"); volume != nil && !knowledge.ReadOnly.In(said) {
		return nil // there is a place for temporary files, and something else is wrong with it
	}
	return e.finds(answer.SecurityRefused, strong).
		says("Container %s ended%s because it may not write to its own root file system (readOnlyRootFilesystem): %s.", e.run.Container, e.after(), gist(said)).
		fix(e.h.letWrite(e.run.Container, e.naming(said, knowledge.ReadOnly, knowledge.NoTemporary)))
}

// permissionSaid: it was refused something, and its security context says that it
// has less than its image was made for.
func permissionSaid(e ending) *finding {
	if e.exit.ExitCode == 0 && !e.storyAtLast().EndsFailed() {
		return nil
	}
	said, less := e.said(knowledge.Refused.In), e.h.fewerRights(e.spec)
	at := said
	if said != "" && less == "" {
		at, less = e.notItsVolume()
	}
	if said == "" {
		said, less = e.notItsFile()
	}
	if said == "" {
		if f := e.notItsDatabase(); f != nil {
			return f
		}
	}
	if said == "" || less == "" {
		return e.notGiven()
	}
	f := e.finds(answer.SecurityRefused, strong).fix(e.h.logsFix(e.run)).
		says("Container %s ended%s because it was refused something, and %s: %s.", e.run.Container, e.after(), less, gist(said))
	f.saysUser = e.h.userOf(e.spec) != 0
	if add := e.h.addFixes(e.spec, said); add != nil {
		f.fixes = append(add, f.fixes...)
		return f // whose a file is, is of no matter then
	}
	f.fix(e.h.mayThen(e.run.Container, e.naming(cmp.Or(at, said), knowledge.Refused)))
	e.h.namedFile(f, e.run.Container, said)
	return f
}

// notItsVolume returns the line that says that a process was refused something in a volume that others may fill, and that:
// root would not have been refused.
func (e ending) notItsVolume() (said, less string) {
	for _, line := range e.saidAtLast() {
		if !knowledge.Refused.In(line) {
			continue
		}
		_, volume := e.h.volumeOf(e.run.Container, deniedAt(line))
		if volume != nil && (volume.EmptyDir != nil || volume.PersistentVolumeClaim != nil || volume.HostPath != nil) {
			return line, fmt.Sprintf("what it needs is in volume %s and belongs to a user other than the one that its image sets", volume.Name)
		}
	}
	return "", ""
}

// notItsFile are words that a file was not opened which its volume lets root alone read, of a process that the spec
// has run as another user; and that.
func (e ending) notItsFile() (said, less string) {
	pod := e.h.Object
	if pod == nil || e.h.userOf(e.spec) == 0 {
		return "", ""
	}
	for _, line := range e.saidAtLast() {
		for _, m := range aPath.FindAllStringSubmatch(line, mostPaths) {
			_, volume := e.h.volumeOf(e.run.Container, mounts.Clean(strings.TrimRight(m[1], ".-")))
			mode := defaultMode(volume)
			grouped := pod.Spec.SecurityContext != nil && pod.Spec.SecurityContext.FSGroup != nil
			if knowledge.NotOpened.In(line) && mode&0o004 == 0 && !grouped {
				return line, fmt.Sprintf("%s, and volume %s lets root alone read its files (defaultMode %04o)", e.h.fewerRights(e.spec), volume.Name, mode)
			}
		}
	}
	return "", ""
}

// notItsDatabase: SQLite, which does not say why, could not open its file, of a process that the spec has run as
// another user than root, in a volume whose folders belong to whoever made them.
func (e ending) notItsDatabase() *finding {
	pod, user := e.h.Object, e.h.fewerRights(e.spec)
	said := e.said(knowledge.SQLiteNotOpened.In)
	if said == "" || pod == nil || e.h.userOf(e.spec) == 0 || pod.Spec.SecurityContext != nil && pod.Spec.SecurityContext.FSGroup != nil {
		return nil
	}
	for _, m := range aPath.FindAllStringSubmatch(e.h.valuesOf(e.run.Container), -1) {
		file := mounts.Clean(m[1])
		mount, volume := e.h.volumeOf(e.run.Container, file)
		if volume == nil || volume.PersistentVolumeClaim == nil && volume.HostPath == nil && (volume.EmptyDir == nil || mount.SubPath == "" && path.Dir(file) == path.Clean(mount.MountPath)) {
			continue // everybody may write to an emptyDir itself
		}
		f := e.finds(answer.SecurityRefused, strong).
			says("Container %s ended%s because SQLite could not open its file, most likely since %s, and volume %s, in which %s is, belongs to another one: %s.", e.run.Container, e.after(), user, volume.Name, file, gist(said)).
			fix(e.h.mayThen(e.run.Container, file+" denied"), e.h.specFix("or, if its folder is not there, make that before it starts (an init container)"), e.h.logsFix(e.run))
		f.saysUser = true
		return f
	}
	return nil
}

// byDefault are the capabilities that runtimes give a container whose spec says nothing of them.
var byDefault = []string{"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}

// gives says whether a container has a capability, as far as its spec tells.
func gives(c *v1.Container, capability string) bool {
	own, usual := c.SecurityContext, slices.Contains(byDefault, capability)
	switch {
	case own != nil && ptr.Deref(own.Privileged, false):
		return true
	case own == nil || own.Capabilities == nil:
		return usual
	}
	is := func(one v1.Capability) bool {
		name := strings.TrimPrefix(strings.ToUpper(string(one)), "CAP_")
		return name == "ALL" || name == capability
	}
	return slices.ContainsFunc(own.Capabilities.Add, is) || usual && !slices.ContainsFunc(own.Capabilities.Drop, is)
}

// notGiven: what it says that it ends for needs a capability that it has not.
func (e ending) notGiven() *finding {
	if e.spec.Name == "" {
		return nil
	}
	for said := range strings.SplitSeq(e.inItsWords(), " / ") { // as [logline.Story.Reason] puts them together
		needs := words.LackedCapability(strings.TrimRight(said, ".! "))
		if needs == "" || gives(e.spec, needs) {
			continue
		}
		why := prose.Whether(slices.Contains(byDefault, needs), "which its security context drops", "which none has unless its security context adds it")
		return e.finds(answer.SecurityRefused, strong).
			says("Container %s ended%s because it was refused what needs capability %s, %s: %s.", e.run.Container, e.after(), needs, why, gist(said)).
			fix(e.h.addFix(e.spec, needs), e.h.logsFix(e.run))
	}
	return nil
}

// contexts are the security contexts of the pod and of a container, empty where there are none.
func (h *inquiry) contexts(c *v1.Container) (*v1.PodSecurityContext, *v1.SecurityContext) {
	return cmp.Or(h.podSpec().SecurityContext, &v1.PodSecurityContext{}), cmp.Or(c.SecurityContext, &v1.SecurityContext{})
}

// userOf is the user other than root whom the spec has a container run as; 0 where it names none.
func (h *inquiry) userOf(c *v1.Container) int64 {
	pod, own := h.contexts(c)
	return ptr.Deref(cmp.Or(own.RunAsUser, pod.RunAsUser), 0)
}

// readOnly says whether a container may not write to its root file system.
func (h *inquiry) readOnly(c *v1.Container) bool {
	_, own := h.contexts(c)
	return ptr.Deref(own.ReadOnlyRootFilesystem, false)
}

// fewerRights says what a container's security context takes from it; "" when it
// takes nothing that could make a call fail with EACCES or EPERM.
func (h *inquiry) fewerRights(c *v1.Container) string {
	switch user, own := h.userOf(c), c.SecurityContext; {
	case user != 0:
		return fmt.Sprintf("it runs as user %d (runAsUser)", user)
	case own != nil && own.Capabilities != nil && len(own.Capabilities.Drop) > 0:
		return fmt.Sprintf("it runs without capabilities (%v dropped)", own.Capabilities.Drop)
	}
	return ""
}

// portTakenSaid: somebody in the pod's network had the port already.
func portTakenSaid(e ending) *finding {
	said := e.said(knowledge.PortUsed.In)
	if said == "" || e.exit.ExitCode == 0 && !e.storyAtLast().EndsFailed() {
		return nil
	}
	if all := e.inItsWords(); logline.IsRaised(strings.TrimSpace(said)) && knowledge.PortUsed.In(all) {
		said = all // which port that is stands beside it
	}
	with := fmt.Sprintf("with exit code %d", e.exit.ExitCode)
	if e.exit.ExitCode == 0 {
		with += ", as if all were well,"
	}
	if socket := words.Socket(said); socket != "" {
		return e.socketTaken(said, with, socket)
	}
	where, own := "another process of the container", "have each of them listen on a port of its own"
	if e.h.soleContainer() && len(e.spec.Command)+len(e.spec.Args) > 0 && e.exit.ExitCode != 0 {
		own = "see what else the container's command starts before it and leaves running (in the background, or as a daemon), end that first, or have it listen on a port of its own"
	}
	if e.h.Object != nil && len(e.h.Object.Spec.Containers) > 1 {
		where = "another container of the pod (they share one network)"
	}
	if e.h.Object != nil && e.h.Object.Spec.HostNetwork {
		where = "something else on the node (the pod uses the node's network)"
	}
	var fixes []answer.Fix
	if kind, output, line := e.probeListens(); kind != "" {
		where = fmt.Sprintf("the command of its own %s probe, which runs at that time and says %q", kindWord(kind), prose.Brief(line, kept))
		fixes = e.h.withoutFixes(e.spec, output)
	}
	return e.finds(answer.AppExitError, strong).
		says("Container %s ended%s %s because the port that it wants is taken, by %s: %s.", e.run.Container, e.after(), with, where, gist(said)).
		fix(fixes...).
		fix(e.h.specFix(own), e.h.inside("see who listens", e.run.Container, "netstat -ltnp"), e.h.logsFix(e.run))
}

// socketTaken words that a process ended for the file of a socket that it was to make: that is there
// as long as nobody removes it, whether somebody listens on it or not.
func (e ending) socketTaken(said, with, socket string) *finding {
	return e.finds(answer.AppExitError, strong).
		says("Container %s ended%s %s because the file of the socket that it wants to listen on, %s, is there already, left by a process that ended without removing it or held by one that runs: %s.",
			e.run.Container, e.after(), with, socket, gist(said)).
		fix(e.h.specFix(fmt.Sprintf("if no other process listens on it, have the container's command remove %s before it starts", socket)), e.h.logsFix(e.run))
}

// probeListens finds the probe of a run whose command says that it listens itself, with all
// that it says.
func (e ending) probeListens() (kind fact.ProbeKind, output, line string) {
	for f, b := range each[fact.Probed](e.run.Probes) {
		if b.Evidence == nil || b.Evidence.Handler != fact.Exec || f.At.After(e.at) {
			continue
		}
		for line := range strings.Lines(b.Evidence.Output) {
			if knowledge.Listens.In(line) {
				return b.Probe, b.Evidence.Output, strings.TrimSpace(line)
			}
		}
	}
	return "", "", ""
}
