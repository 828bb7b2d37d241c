package level0

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// end explains why a run of a container ended.
func (c *podCase) end(st v1.ContainerStatus, t *v1.ContainerStateTerminated) answer.Verdict {
	v := c.whyEnded(st, t)
	v.Chain = append([]answer.Link{link(t.FinishedAt.Time, fromStatus, fmt.Sprintf("container %s ended: %s, exit code %d", st.Name, orNothing(t.Reason), t.ExitCode))}, v.Chain...)
	v.LastWords = c.Words[st.Name]
	return v
}

func orNothing(reason string) string {
	if reason == "" {
		return "no reason given"
	}
	return reason
}

func (c *podCase) whyEnded(st v1.ContainerStatus, t *v1.ContainerStateTerminated) answer.Verdict {
	name := st.Name
	// A kill by kubelet comes first: what the runtime says of an OOM kill may be about a
	// child of long ago, and an exit code about how the application took the order.
	if e := c.ordered(name, t.FinishedAt.Time); e != nil {
		return c.killed(name, t, e)
	}
	if t.Reason == "StartError" || t.Reason == "ContainerCannotRun" { // it never ran, whatever became of its sandbox
		return c.notRun(name, t.Message)
	}
	if c.sandboxAnew(t) {
		v := unknown(name, fmt.Sprintf("Container %s ended with exit code %d, and its pod got a new sandbox then: all that ran in the old one was ended with it. Whether that came of the node, of its runtime or of somebody is not known.", name, t.ExitCode),
			"what ended the sandbox, and when", c.describe())
		v.Possible = []answer.Cause{answer.SandboxFailed, answer.NodeRestarted}
		return v
	}
	switch {
	case t.Reason == "OOMKilled" && t.ExitCode == 137 && !c.silent(name, t.FinishedAt.Time):
		return unknown(name, fmt.Sprintf("Container %s ended with exit code 137, and the runtime says OOMKilled: some process in it was killed for memory. Whether the end came of that, or kubelet ended it meanwhile for a probe, a hook or a change, is not known: what kubelet said then is not there any more.", name),
			"which process was killed, and whether kubelet ended the container", c.logsBefore(name))
	case t.Reason == "OOMKilled" && t.ExitCode == 137:
		return c.outOfMemory(name)
	case t.Reason == "OOMKilled":
		return unknown(name, fmt.Sprintf("Container %s ended with exit code %d, and the runtime says OOMKilled: some process in it was killed for memory at some time, and whether the end came of it is not known.", name, t.ExitCode),
			"which process was killed, when, and whose limit was hit", c.logsBefore(name))
	case t.Reason == "ContainerStatusUnknown", t.Reason == "Unknown": // kubelet's word; containerd's, after the machine was restarted
		return unknown(name, fmt.Sprintf("Container %s was gone when its kubelet looked for it again: its exit code of %d is not its own.", name, t.ExitCode), "how it ended", c.describe())
	case sent[t.ExitCode] != "":
		return unknown(name, fmt.Sprintf("Container %s ended with exit code %d, which stands for %s. The runtime saw no OOM kill of the container, and there is no word of kubelet that it ended it; who did is not known.", name, t.ExitCode, sent[t.ExitCode]),
			"who sent the signal, or that nobody did", c.logsBefore(name), c.describe())
	case !c.silent(name, t.FinishedAt.Time):
		return unknown(name, fmt.Sprintf("Container %s ended with exit code %d, and whether it was told to is not known: kubelet may have ended it for a probe, a hook or a change of its spec, and what kubelet said then is not there any more.", name, t.ExitCode),
			"whether kubelet ended it", c.logsBefore(name))
	case t.ExitCode == 0 && c.restartsDone() && c.soEachTime(name, t) && !slices.ContainsFunc(c.Words[name], words.Complains):
		return because(answer.AppExitSuccess, "api-exit-zero", name, fmt.Sprintf("Container %s ends by itself with exit code 0, %s after each start, as a program does that is done; its pod's restart policy %s starts it again. Kubelet did not ask it to end.", name, ran(t), c.Pod.Spec.RestartPolicy),
			answer.Fix{Text: "if it is done: run it as a Job; if not: let its main process stay in the foreground", Risk: answer.Restarts}, c.logsBefore(name))
	case t.ExitCode == 0:
		v := unknown(name, fmt.Sprintf("Container %s ended with exit code 0, after %s, and its pod's restart policy %s starts it again. Kubelet did not ask it to end. Whether it was done, or somebody else asked it to, the status does not tell.", name, ran(t), c.Pod.Spec.RestartPolicy),
			"whether it was sent a signal", answer.Fix{Text: "if it is done: let its main process stay in the foreground, or run it as a Job", Risk: answer.Restarts}, c.logsBefore(name))
		v.Possible = []answer.Cause{answer.AppExitSuccess}
		return v
	case t.ExitCode > 128 && crash(t.ExitCode) != "":
		return because(answer.AppCrashSignal, "api-exit", name, fmt.Sprintf("Container %s ended of %s (exit code %d), after %s.", name, crash(t.ExitCode), t.ExitCode, ran(t)), c.logsBefore(name))
	}
	return c.ownError(name, t)
}

// sent names the signals that exit codes stand for, where they mostly come from others. A
// process that gets one may end with such a code of its own as well.
var sent = map[int32]string{
	129: "SIGHUP", 130: "SIGINT", 131: "SIGQUIT", 137: "SIGKILL", 138: "SIGUSR1", 140: "SIGUSR2", 141: "SIGPIPE", 142: "SIGALRM",
	143: "SIGTERM", 152: "SIGXCPU", 153: "SIGXFSZ", 159: "SIGSYS",
}

// sandboxAnew says whether the pod got another sandbox after a run had begun: what was in
// the first ended with it. Its condition is set soon after the first containers run.
func (c *podCase) sandboxAnew(t *v1.ContainerStateTerminated) bool {
	up := condition(c.Pod, v1.PodReadyToStartContainers)
	return up != nil && up.Status == v1.ConditionTrue && up.LastTransitionTime.Sub(t.StartedAt.Time) > 10*time.Second
}

// ownError is about an end with an error of its own: what it said is not judged here
// beyond what only one cause can be.
func (c *podCase) ownError(name string, t *v1.ContainerStateTerminated) answer.Verdict {
	if (t.ExitCode == 126 || t.ExitCode == 127) && t.FinishedAt.Sub(t.StartedAt.Time) <= 3*time.Second {
		return because(answer.AppStartFailed, "api-command", name, fmt.Sprintf("Container %s ended at once with exit code %d: a shell in it found no such command (127), or could not run it (126).", name, t.ExitCode),
			answer.Fix{Text: "correct command and args, or the image", Risk: answer.Restarts}, c.logsBefore(name))
	}
	k := c.container(name)
	lines, read := c.Words[name]
	if !read && t.Message != "" {
		lines, read = strings.Split(t.Message, "\n"), true
	}
	begins := fmt.Sprintf("Container %s ended by itself with exit code %d, after %s", name, t.ExitCode, ran(t))
	if !read || k == nil {
		return unknown(name, begins+"; what it said before could not be read.", "its last words", c.logsBefore(name))
	}
	if execSaid(t, lines) {
		return because(answer.AppStartFailed, "api-exec-said", name, fmt.Sprintf("The program of container %s could not be run: %s.", name, short(strings.Join(lines, " "))),
			answer.Fix{Text: "correct command and args, or use an image that has the program, what runs it, and for this kind of machine", Risk: answer.Restarts})
	}
	switch of, ok := c.complains(k, lines); {
	case ok && of.cause == "":
		v := unknown(name, begins+"; it said shortly before "+of.text+", and whether it ended of that is not known.", "what it had open, waited for and was refused", c.logsBefore(name))
		v.Possible = []answer.Cause{of.possible}
		return v
	case ok:
		return because(of.cause, "api-last-words", name, begins+", and said last "+of.text+".", c.logsBefore(name))
	case c.wasWell(k, t):
		if v, ok := c.changedThenEnded(k, t, begins); ok {
			return v
		}
		v := unknown(name, begins+". It had run for longer before, and takes some of its configuration from ConfigMaps or Secrets: whether these were changed is not known.", "when they were changed", c.logsBefore(name))
		v.Possible = []answer.Cause{answer.AppExitError, answer.ConfigChanged}
		return v
	}
	if means := words.ShellCodes[t.ExitCode]; means != "" {
		begins += "; " + means
	}
	v := because(answer.AppExitError, "api-exit", name, begins+".", c.logsBefore(name))
	v.RuledOut = c.onlyReadiness(k)
	return v
}

// onlyReadiness rules out that a container was ended for a probe that failed, where it has
// none but that of its readiness.
func (c *podCase) onlyReadiness(k *v1.Container) []answer.Note {
	if k.LivenessProbe != nil || k.StartupProbe != nil || k.ReadinessProbe == nil || c.newestEvent(k.Name, "Unhealthy") == nil {
		return nil
	}
	return []answer.Note{{Cause: answer.AppUnhealthy, Text: "attempts of its readiness probe failed, too; that ends no container"}}
}

// execSaid says whether the kernel refused the program when the runtime's own process had
// already been started in its place (runc exits with 255 then, and its words are all that
// the container said).
func execSaid(t *v1.ContainerStateTerminated, lines []string) bool {
	said := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.TrimSpace(line) == "" })
	return t.ExitCode == 255 && len(said) == 1 && strings.HasPrefix(said[0], "exec ") && t.FinishedAt.Sub(t.StartedAt.Time) <= 3*time.Second
}

// wasWell says whether a container that is configured from outside has run for much longer
// at some time than in the run that is over: something may have changed since.
func (c *podCase) wasWell(k *v1.Container, t *v1.ContainerStateTerminated) bool {
	if !c.mayHaveChanged(variablesOf(k)) && !c.configured(k.Name) {
		return false
	}
	return t.FinishedAt.Sub(started(c.Pod)) > c.ifAlike(k.Name, t)+30*time.Second
}

// ifAlike is how long it takes to come to the end of a run if all runs before were like
// it, with the waits between them, which begin with none and 10 s (kubelet's back-off).
func (c *podCase) ifAlike(name string, t *v1.ContainerStateTerminated) time.Duration {
	last := t.FinishedAt.Sub(t.StartedAt.Time)
	spent, backOff := last, time.Duration(0)
	for range c.runsBefore(name) {
		spent += last + backOff + 5*time.Second
		backOff = min(max(2*backOff, 10*time.Second), 5*time.Minute)
	}
	return spent
}

// runsBefore is how many runs of a container there were before the last that ended.
func (c *podCase) runsBefore(name string) int32 {
	for _, st := range slices.Concat(c.Pod.Status.InitContainerStatuses, c.Pod.Status.ContainerStatuses) {
		if st.Name == name && st.State.Running != nil {
			return max(st.RestartCount-1, 0)
		} else if st.Name == name {
			return st.RestartCount
		}
	}
	return 0
}

// soEachTime says whether a container has ended several times as in the run that is over,
// which nobody who sends a signal would do: all runs before took as long as this one.
func (c *podCase) soEachTime(name string, t *v1.ContainerStateTerminated) bool {
	return c.runsBefore(name) > 0 && !c.Pod.Spec.HostPID && (c.Pod.Spec.ShareProcessNamespace == nil || !*c.Pod.Spec.ShareProcessNamespace) &&
		t.FinishedAt.Sub(started(c.Pod)) <= c.ifAlike(name, t)+30*time.Second
}

func ran(t *v1.ContainerStateTerminated) string {
	return t.FinishedAt.Sub(t.StartedAt.Time).String()
}

// crash names the signal that an exit code stands for, where programs bring it about
// themselves.
func crash(code int32) string {
	names := map[int32]string{4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}
	return names[code-128]
}

// outOfMemory is about the runtime's word OOMKilled with the exit code of SIGKILL.
func (c *podCase) outOfMemory(name string) answer.Verdict {
	k := c.container(name)
	if k == nil {
		return unknown(name, fmt.Sprintf("Container %s was killed by the kernel for memory.", name), "whose limit was hit, and which process was killed")
	}
	limit, ok := k.Resources.Limits[v1.ResourceMemory]
	if c.Pod.Spec.Resources != nil {
		whole, has := c.Pod.Spec.Resources.Limits[v1.ResourceMemory]
		if has && !ok && !handsOn(k) {
			return because(answer.PodMemoryLimit, "api-oom-killed", name, fmt.Sprintf("Container %s was killed by the kernel for memory; it has no limit of its own, and all containers of its pod together have one of %s.", name, whole.String()),
				answer.Fix{Text: "see which of its containers holds the memory", Command: fmt.Sprintf("kubectl -n %s top pod %s --containers", c.Pod.Namespace, c.Pod.Name), Risk: answer.Inspect}, c.logsBefore(name))
		}
		v := unknown(name, fmt.Sprintf("Container %s was killed by the kernel for memory; whether its own limit was hit, or its pod's, is not known.", name), "whose limit was hit, and which process was killed")
		v.Possible = []answer.Cause{answer.MemoryLimit, answer.PodMemoryLimit}
		return v
	}
	if !ok {
		return unknown(name, fmt.Sprintf("Container %s was killed by the kernel for memory, and it has no limit of its own: the node, or all pods together, had no more.", name), "whether the machine had no memory left or its pods had used up their share, and who held it")
	}
	if handsOn(k) {
		v := unknown(name, fmt.Sprintf("Container %s ended of the kernel's OOM kill at its limit of %s; whether it took the main process, or a child whose end the shell handed on, is not known.", name, limit.String()), "which process was killed", c.logsBefore(name))
		v.Possible = []answer.Cause{answer.MemoryLimit, answer.MemoryLimitChild}
		return v
	}
	for _, m := range k.VolumeMounts {
		if inMemory(c.Pod, m.Name) {
			v := unknown(name, fmt.Sprintf("Container %s was killed by the kernel for memory. Its limit is %s, and what is in its memory-backed volume %s counts for it; which of the two filled it is not known.", name, limit.String(), m.Name), "what the memory was made of")
			v.Possible = []answer.Cause{answer.MemoryLimit, answer.MemoryBackedVolume}
			return v
		}
	}
	return because(answer.MemoryLimit, "api-oom-killed", name, fmt.Sprintf("Container %s was killed by the kernel for memory; it has a limit of %s%s.", name, limit.String(), c.limitRanged(name)),
		answer.Fix{Text: "find out what it needs before the limit is raised: a leak takes any limit", Command: fmt.Sprintf("kubectl -n %s top pod %s --containers", c.Pod.Namespace, c.Pod.Name), Risk: answer.Inspect}, c.logsBefore(name))
}

// limitRanged says that a container's memory limit is none of its manifest's, by the
// annotation that tells so (plugin/pkg/admission/limitranger/admission.go).
func (c *podCase) limitRanged(name string) string {
	for part := range strings.SplitSeq(strings.TrimPrefix(c.Pod.Annotations["kubernetes.io/limit-ranger"], "LimitRanger plugin set: "), "; ") {
		what, of, _ := strings.Cut(part, " for ")
		if of == "container "+name && strings.Contains(what, "memory") && strings.Contains(what, "limit") {
			return ", which a LimitRange of the namespace sets"
		}
	}
	return ""
}

// handsOn says whether a container's main process is by its command one that hands on the
// exit code of a child: a shell, unless another program takes its place in the end.
func handsOn(k *v1.Container) bool {
	if len(k.Command) == 0 {
		return false
	}
	program := path.Base(k.Command[0])
	return program == "tini" || program == "dumb-init" || slices.Contains(shells, program) && !replaced(slices.Concat(k.Command[1:], k.Args))
}

// replaced says whether the script that a shell is given ends with exec of a program,
// whatever it does before, and leaves nothing running beside that. A script that is not
// as simple as that is not read.
func replaced(args []string) bool {
	if len(args) < 2 || !strings.HasPrefix(args[0], "-") || !strings.HasSuffix(args[0], "c") {
		return false
	}
	script := strings.TrimRight(args[1], "; \n")
	for _, beside := range []string{"/dev/shm", "|", "$(", "`", "trap "} {
		if strings.Contains(script, beside) {
			return false
		}
	}
	if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(script, "&&", ""), "2>&1", ""), ">&2", ""), "&") {
		return false
	}
	statements := strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == '\n' })
	if len(statements) == 0 {
		return false
	}
	ends := strings.TrimSpace(statements[len(statements)-1])
	return strings.HasPrefix(ends, "exec ") && strings.Count(ends, "'")%2 == 0 && strings.Count(ends, `"`)%2 == 0
}

// killed is about an end that kubelet says it ordered.
func (c *podCase) killed(name string, t *v1.ContainerStateTerminated, e *v1.Event) answer.Verdict {
	chain := []answer.Link{link(last(*e), fromEvent, e.Message)}
	var v answer.Verdict
	switch {
	case strings.Contains(e.Message, "failed liveness probe"), strings.Contains(e.Message, "failed startup probe"):
		kind := "Liveness"
		if strings.Contains(e.Message, "startup") {
			kind = "Startup"
		}
		v = c.probeFailed(name, kind, last(*e))
		if t.Reason == "OOMKilled" {
			v = unknown(name, fmt.Sprintf("Kubelet was ending container %s for its %s probe, and the runtime says OOMKilled: which of the two came first is not known.", name, strings.ToLower(kind)), "which process the kernel killed, and when", c.logsBefore(name))
		}
	case strings.Contains(e.Message, "PostStartHook"):
		v = because(answer.HookFailed, "api-hook", name, fmt.Sprintf("Kubelet ended container %s because its postStart hook failed.", name), c.describe())
	case strings.Contains(e.Message, "definition changed"):
		v = because(answer.SpecChanged, "api-spec", name, fmt.Sprintf("Kubelet ended container %s because its definition was changed.", name), c.describe())
	default:
		v = unknown(name, fmt.Sprintf("Kubelet ended container %s: %q.", name, e.Message), "what it decided that from", c.describe())
		if lost := c.newestEvent("", "SandboxChanged"); lost != nil && last(*lost).Sub(last(*e)).Abs() <= slack {
			v = because(answer.SandboxFailed, "api-sandbox", name, fmt.Sprintf("The pod's sandbox ended or had to be made anew, so kubelet ended container %s, which still ran, and started it in another one.", name), c.describe())
			chain = append(chain, link(last(*lost), fromEvent, lost.Message))
		}
	}
	v.Chain = chain
	if k := c.container(name); t.ExitCode == 137 && t.Reason != "OOMKilled" && k != nil && k.Resources.Limits.Memory().Sign() > 0 {
		v.RuledOut = append(v.RuledOut, answer.Note{Cause: answer.MemoryLimit, Text: "exit code 137 is of the SIGKILL that kubelet sends when the grace period is over; the runtime saw no OOM kill in the container"})
	}
	return v
}

// probeFailed is about a probe whose failure kubelet acted on: what it said of its
// attempts tells what it met, seldom why.
func (c *podCase) probeFailed(name, kind string, by time.Time) answer.Verdict {
	e := c.unhealthy(name, kind, by, by.Add(slack))
	begins := fmt.Sprintf("Kubelet ended container %s because its %s probe failed", name, strings.ToLower(kind))
	if e == nil {
		return unknown(name, begins+"; what the probe met is not there any more.", "each attempt, and why it failed", c.describe())
	}
	return c.probeMet(name, kind, begins, e)
}

// unhealthy is kubelet's last word about a failed attempt of a probe that can belong to
// what happened between the given times.
func (c *podCase) unhealthy(name, kind string, by, until time.Time) *v1.Event {
	var best *v1.Event
	for i := range c.events {
		e := &c.events[i]
		if e.Reason != "Unhealthy" || !of(*e, name) || !strings.HasPrefix(e.Message, kind+" probe ") {
			continue
		}
		// The period tells how old the last failure can be.
		if last(*e).Before(by.Add(-c.period(name, kind)-slack)) || first(*e).After(until) {
			continue
		}
		if best == nil || last(*e).After(last(*best)) {
			best = e
		}
	}
	return best
}

func (c *podCase) probe(name, kind string) *v1.Probe {
	k := c.container(name)
	switch {
	case k == nil:
		return nil
	case kind == "Liveness":
		return k.LivenessProbe
	case kind == "Startup":
		return k.StartupProbe
	}
	return k.ReadinessProbe
}

// period is the time between two attempts, with what an attempt takes.
func (c *podCase) period(name, kind string) time.Duration {
	p := c.probe(name, kind)
	if p == nil {
		return 10 * time.Second
	}
	return time.Duration(max(p.PeriodSeconds, 1)+max(p.TimeoutSeconds, 1)) * time.Second
}
