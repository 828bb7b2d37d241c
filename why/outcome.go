package why

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// mostOutcomes is the maximum number of outcomes shown after the first inspecting step.
const mostOutcomes = 2

// decide adds the change that an inspecting step decides about, so that no answer ends with an inspection. An unknown
// verdict gets a change for each possible cause.
func (h *inquiry) decide(v *answer.Verdict) {
	causes := []answer.Cause{v.Cause}
	switch {
	case h.Causes, v.HasStep(answer.StepMendAsked), v.Probe != "" && v.Cause == answer.CauseUnknown && slices.ContainsFunc(v.Steps(), changes):
		return
	case v.Cause == answer.CauseUnknown:
		causes = v.Possible
	case slices.ContainsFunc(v.Fixes, changes):
		return
	}
	var looks, steps []answer.Fix
	for _, f := range v.Fixes {
		if changes(f) {
			steps = append(steps, f)
		} else {
			looks = append(looks, f)
		}
	}
	for _, cause := range causes {
		if step := outcomes[cause]; step != nil && len(steps) < mostOutcomes {
			if f := step(h, v); f.Risk != "" {
				steps = append(steps, f)
			}
		}
	}
	if slices.ContainsFunc(steps, func(f answer.Fix) bool { return f.ID == answer.StepCorrect }) { // it names what to look at
		looks = slices.DeleteFunc(looks, func(f answer.Fix) bool { return f.ID == answer.StepCompare })
	}
	first := min(len(looks), 1)
	v.Fixes = slices.Concat(looks[:first], steps, looks[first:])
}

// OnlyInspects reports whether a verdict other than none shows steps, and none of them changes anything.
func OnlyInspects(v answer.Verdict) bool {
	steps := v.Steps()
	return v.Cause != answer.None && len(steps) > 0 && !slices.ContainsFunc(steps, changes)
}

// Decide adds a change to verdict i, whose visible steps only inspect, or moves its first change into view. pod is the pod
// that the verdict blames.
func Decide(a *answer.Answer, i int, pod *v1.Pod) {
	v := &a.Verdicts[i]
	n := slices.IndexFunc(v.Fixes, changes)
	if n < 0 {
		inquiryOf(a, pod).decide(v)
		return
	}
	f := v.Fixes[n]
	v.Fixes = slices.Insert(slices.Delete(slices.Clone(v.Fixes), n, n+1), min(n, answer.MostSteps-1), f)
}

// outcomes maps a cause to the change that mends it, conditional on an inspection that confirms the cause. The zero step is none.
var outcomes = map[answer.Cause]func(h *inquiry, v *answer.Verdict) answer.Fix{
	answer.AppUnhealthy:             unhealthyOutcome,
	answer.AppExitError:             exitOutcome,
	answer.InitFailed:               correctConfig,
	answer.DependencyDown:           configOutcome("if the name or the address is wrong: correct it"),
	answer.AppExitSuccess:           successOutcome,
	answer.AppCrashSignal:           specOutcome("if it crashes in the same place again: use another version of the image; a restart does not fix a bug in the program"),
	answer.AppSlowStart:             slowStartOutcome,
	answer.AppOverloaded:            specOutcome("if it is busy with requests: raise its CPU request and limit, or run more pods"),
	answer.CPUThrottled:             specOutcome("if it needs more CPU than its limit: raise the limit"),
	answer.AppNotListening:          specOutcome("if it listens on another port now: set the port of the probe to that port"),
	answer.AppListensElse:           specOutcome("if it listens on another port: set the probe to that port; if only on 127.0.0.1: have it listen on 0.0.0.0; if on no port: fix the errors in its log; if on the probed port: look for a NetworkPolicy or firewall in between"),
	answer.ChildProcessEnded:        childEndedOutcome,
	answer.AppHang:                  hangOutcome,
	answer.MemoryLimit:              memoryOutcome,
	answer.MemoryLimitChild:         memoryOutcome,
	answer.DiskFull:                 specOutcome("if a volume is full: enlarge it (the claim's request, or the emptyDir's sizeLimit), or delete files; if the container's own file system is full: write to a volume"),
	answer.ProbeTimeoutTooShort:     specOutcome("if it answers after the timeout: raise timeoutSeconds of the probe"),
	answer.ProbeWrongScheme:         specOutcome("if the port speaks the other scheme (HTTP or HTTPS): set it as scheme of the probe"),
	answer.ProbeProtocol:            specOutcome("if the port speaks another protocol: use a tcpSocket probe, or probe another port"),
	answer.KilledByOther:            specOutcome("if a script, a hook or a probe of the pod sent the signal: correct that command; if a program of the node did (systemd-oomd, earlyoom): exempt pods from it"),
	answer.NetworkBlocked:           textOutcome("if a rule drops packets from the node to the pod: allow them in the program that created the rule; a rule that is deleted by hand comes back"),
	answer.Deleted:                  deletedOutcome,
	answer.RolledOut:                rolledOutOutcome,
	answer.ScaledDown:               scaledOutcome,
	answer.SpecChanged:              specOutcome("if that change was a mistake: revert it"),
	answer.RestartPolicy:            restartPolicyOutcome,
	answer.InitWaiting:              specOutcome("if it waits for the wrong name: correct that; if it need not wait: remove the init container"),
	answer.Preempted:                specOutcome("if this pod matters more: set priorityClassName to a class of higher value"),
	answer.SandboxFailed:            sandboxOutcome,
	answer.VolumeFailed:             specOutcome("if the events name a wrong server, path or driver: correct that volume; otherwise kubelet retries the mount by itself"),
	answer.MeshSidecarAnswered:      restartOutcome("if the application itself answers correctly: restart the pod, so that the sidecar fetches its configuration again"),
	answer.ImageRegistryUnreachable: specOutcome("if the registry's name is wrong: correct the image; if the node cannot reach the registry: fix its DNS, route or proxy; kubelet then retries the pull by itself"),
}

// correctConfig changes the configuration of a container where it stands; the text depends on whether the answer quotes the
// log.
func correctConfig(h *inquiry, v *answer.Verdict) answer.Fix {
	text := "if its log names a setting, a file or an address that is wrong: correct that"
	if v.QuotesLog(answer.RoleLog, answer.RoleEnd) {
		text = "correct the setting, file or address that its message names"
	}
	f := h.configured(v.Container, text)
	f.ID = answer.StepCorrect
	f.Text += "; otherwise go back to the version of the image that worked"
	return f
}

// configured changes what configures a container: its ConfigMaps, else its only Secret, else its template, whose fields it
// names.
func (h *inquiry) configured(container, text string) answer.Fix {
	c := h.Spec(container)
	if c == nil {
		return h.specFix(text)
	}
	named := map[string][]string{}
	var where []string
	for _, s := range h.sources(c) {
		if !slices.Contains(named[s.kind], s.name) {
			named[s.kind] = append(named[s.kind], s.name)
			where = append(where, fmt.Sprintf("%s %s (%s)", s.kind, s.name, s.as))
		}
	}
	if own := ownVariables(c); len(own) > 0 && len(own) <= mostOwn {
		where = append(where, "variable "+strings.Join(withValues(own), ", ")+" of its spec")
	}
	kind := prose.Whether(len(named["ConfigMap"]) > 0, "ConfigMap", "Secret")
	switch names := named[kind]; {
	case len(names) == 1 && len(where) == 1:
		return kubectl.Edit(text+", in "+where[0], kind, h.Pod.Namespace, names[0], h.Object)
	case len(names) > 0 && len(names) <= mostSources:
		return kubectl.EditEach(text+", in "+strings.Join(where, " or "), kind, h.Pod.Namespace, names, h.Object)
	}
	var fields []string
	if len(c.Env) > 0 {
		fields = append(fields, "env")
	}
	if len(c.Command) > 0 {
		fields = append(fields, "command")
	}
	if len(c.Args) > 0 {
		fields = append(fields, "args")
	}
	if len(fields) > 0 {
		return h.specFix(fmt.Sprintf("%s, in %s of container %s", text, strings.Join(fields, " or "), container))
	}
	return h.specFix(text)
}

// mostSources is how many ConfigMaps or Secrets a step edits: with more, the right one is a guess.
const mostSources = 3

// outcome makes a step for one verdict.
type outcome = func(*inquiry, *answer.Verdict) answer.Fix

// specOutcome changes the pod's template.
func specOutcome(text string) outcome {
	return func(h *inquiry, _ *answer.Verdict) answer.Fix { return h.specFix(text) }
}

// configOutcome edits the ConfigMap of the failing container, or its template.
func configOutcome(text string) outcome {
	return func(h *inquiry, v *answer.Verdict) answer.Fix {
		return editConfig(h, counsel{Step: knowledge.Step{Text: text}, container: v.Container}).As(answer.StepReaddress, nil)
	}
}

// restartOutcome restarts the pods of the workload.
func restartOutcome(text string) outcome {
	return func(h *inquiry, _ *answer.Verdict) answer.Fix {
		return restart(h, counsel{Step: knowledge.Step{Text: text}})
	}
}

// textOutcome is a change without a command.
func textOutcome(text string) outcome {
	return func(*inquiry, *answer.Verdict) answer.Fix { return answer.Fix{Text: text, Risk: answer.Restarts} }
}

// unhealthyOutcome changes what the failing probe depends on; for a Ready pod, what its log complains about.
func unhealthyOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	if v.Rule == logComplains {
		return correctConfig(h, v)
	}
	c := h.spec(v.Container)
	p := map[fact.ProbeKind]*v1.Probe{fact.Readiness: c.ReadinessProbe, fact.Liveness: c.LivenessProbe, fact.Startup: c.StartupProbe}[v.Probe]
	switch {
	case p != nil && p.Exec != nil && !v.QuotesLog(answer.RoleLog):
		return h.specFix(fmt.Sprintf("if the command itself is wrong: correct %sProbe.exec.command of container %s", kindWord(v.Probe), v.Container))
	case p != nil && p.GRPC != nil:
		return h.specFix("if a dependency is down: fix it; if the probe asks for the wrong gRPC service: correct grpc.service of the probe")
	case p != nil && p.HTTPGet != nil && !v.QuotesLog(answer.RoleLog):
		return h.specFix(fmt.Sprintf("mend what the answer reports; if the pod can do its work without that: set %sProbe.httpGet.path of container %s to a path that does not test it", kindWord(v.Probe), v.Container))
	}
	return correctConfig(h, v)
}

// slowStartOutcome raises the limit of the startup probe, or adds a startup probe.
func slowStartOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	if p := h.spec(v.Container).StartupProbe; p != nil {
		return h.specFix(fmt.Sprintf("if it was still starting: raise failureThreshold of its startupProbe (now %d) to allow for its slowest start", p.FailureThreshold))
	}
	return h.specFix("if it was still starting: add a startupProbe that allows for its slowest start")
}

// restartPolicyOutcome changes the restartPolicy that leaves a container ended.
func restartPolicyOutcome(h *inquiry, _ *answer.Verdict) answer.Fix {
	if h.podSpec().RestartPolicy == v1.RestartPolicyOnFailure {
		return h.specFix("if it is meant to keep running: set restartPolicy to Always")
	}
	return h.specFix("if it is meant to restart: set restartPolicy to OnFailure or Always")
}

// outlives is the minimum run after which the failure before it counts as over: the longest back-off.
const outlives = 5 * time.Minute

// exitOutcome changes the configuration of a main process that exited with an error.
func exitOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	f := correctConfig(h, v)
	if now := h.Last(v.Container); h.isRunning(now) && isReady(now) && h.Now.Sub(now.Started.When()) > outlives {
		f.Text = "no action is needed while it runs; " + f.Text
	}
	return f
}

// successOutcome has the container stay up whose last run ended with exit code 0.
func successOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	for _, run := range slices.Backward(h.Runs(v.Container)) {
		if run.Exit != nil {
			return newEnding(h, run).stayFix()
		}
	}
	return h.specFix("if it is meant to keep running: keep its command in the foreground; if it is meant to finish: run it as a Job")
}

// crashes are the signals of native code that crashed, crashed fits a log that names one, restarts what a main process logs
// that starts another child.
var (
	crashes  = []int32{4, 7, 8, 11}
	crashed  = regexp.MustCompile(`(?i)\bSIG(?:SEGV|BUS|ILL|FPE)\b|\bsignal:? (?:4|7|8|11)\b|\bsegmentation fault\b|\bsegfault\b`)
	restarts = regexp.MustCompile(`(?i)\bbooting worker\b|\bforking another\b|\brespawn|\brestarting\b|\bspawned: '|\bstart(?:ing|ed) (?:a )?(?:new )?(?:worker|child)\b`)
)

// childEndedOutcome changes what ends a child process; the main process restarts it already where its log says so.
func childEndedOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	dies := slices.ContainsFunc(v.LastWords, crashed.MatchString)
	if run := h.Last(v.Container); run != nil {
		for _, b := range newest[fact.ProcessEnded](run.Ended) {
			dies = dies || !b.Main && slices.Contains(crashes, b.Signal)
		}
	}
	again := slices.ContainsFunc(v.LastWords, restarts.MatchString)
	switch {
	case dies:
		return h.specFix(fmt.Sprintf("go back to the version of the image of container %s that worked, or update the native library that crashes; PYTHONFAULTHANDLER=1 (Python) or a core dump names it%s", v.Container, prose.Whether(again, "", "; have the main process restart what crashes")))
	case again:
		return correctConfig(h, v)
	}
	return h.specFix("if nothing restarts that process: have the main process restart it, or exit with it, so that kubelet restarts the container")
}

// hangOutcome restarts a container that hangs, unless a liveness probe does so already.
func hangOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	if c := h.Spec(v.Container); c != nil && c.LivenessProbe != nil {
		return answer.Fix{Text: "if it waits for a dependency: fix that, and give the request a timeout; if it only needs longer: raise timeoutSeconds of the probe", Command: kubectl.EditTemplateCommand(h.Pod.Namespace, h.Object), Risk: answer.Restarts}
	}
	return restart(h, counsel{Step: knowledge.Step{Text: "if it does not answer at all: restart it, and fix the lock or the dependency for which its threads wait, or it hangs again"}})
}

// memoryOutcome raises the memory limit of the container, if it has one.
func memoryOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	c := h.Spec(v.Container)
	if c == nil || c.Resources.Limits.Memory().IsZero() {
		return answer.Fix{}
	}
	limit := c.Resources.Limits.Memory()
	return h.raiseMemory(v.Container, fmt.Sprintf("if the memory limit (%s) was reached: raise it", limit), 2*limit.Value())
}

func deletedOutcome(h *inquiry, _ *answer.Verdict) answer.Fix {
	if kubectl.Workload(h.Object) != "" {
		return answer.Fix{} // its controller has made another, or was told not to
	}
	return answer.Fix{Text: "if the deletion was a mistake: create the pod again from its manifest, best as part of a Deployment or StatefulSet, which replaces deleted pods", Risk: answer.Safe}
}

func rolledOutOutcome(h *inquiry, _ *answer.Verdict) answer.Fix {
	workload := kubectl.Workload(h.Object)
	if !kubectl.Restartable(workload) {
		return answer.Fix{}
	}
	return answer.Fix{Text: "if the previous revision worked: roll back to it", Command: h.kubectl("rollout undo %s", workload), Risk: answer.Restarts}
}

func scaledOutcome(h *inquiry, _ *answer.Verdict) answer.Fix {
	workload := kubectl.Editable(h.Object)
	if workload == "" {
		return answer.Fix{}
	}
	return answer.Fix{Text: "if there should be more pods: set spec.replicas", Command: h.kubectl("edit %s", workload), Risk: answer.Restarts}
}

func sandboxOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	if h.Object == nil || slices.ContainsFunc(h.Containers(), func(name string) bool { return len(h.Runs(name)) > 0 }) {
		return answer.Fix{} // it was set up once, and is again
	}
	if class := h.Object.Spec.RuntimeClassName; class != nil {
		return h.specFix(fmt.Sprintf("if the node's container runtime has no handler for runtimeClassName %s: remove it, or schedule the pod onto a node that has the handler", *class))
	}
	return textOutcome("if the node's network plugin (CNI) is not ready: fix its pod on that node; kubelet then retries the sandbox by itself")(h, v)
}
