package why

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
)

// mostOutcomes is how many of them people are told, behind the look that decides between them.
const mostOutcomes = 2

// decide adds what to change by what the steps show, where they do nothing but look: whoever reads the answer is to know
// what to do next, not only where to look. Where the cause is unknown, that is one step for each that remains possible.
func (h *inquiry) decide(v *answer.Verdict) {
	causes := []answer.Cause{v.Cause}
	if v.Cause == answer.CauseUnknown {
		causes = v.Possible
	} else if slices.ContainsFunc(v.Fixes, changes) {
		return
	}
	if h.Causes {
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
	first := min(len(looks), answer.MostSteps-min(len(steps), mostOutcomes))
	v.Fixes = slices.Concat(looks[:first], steps, looks[first:])
}

// outcomes are what to change where a look shows that a cause is so, by that cause. The zero step is none.
var outcomes = map[answer.Cause]func(h *inquiry, v *answer.Verdict) answer.Fix{
	answer.AppUnhealthy:             unhealthyOutcome,
	answer.AppExitError:             exitOutcome,
	answer.InitFailed:               correctConfig,
	answer.DependencyDown:           configOutcome("if the name or the address is wrong: correct it"),
	answer.AppExitSuccess:           specOutcome("if it is meant to keep running: have its command stay in the foreground; if its work is done then: run it as a Job"),
	answer.AppCrashSignal:           specOutcome("if it crashes in the same place again: use another version of the image; a restart does not mend a fault of the program"),
	answer.AppSlowStart:             specOutcome("if it was still starting: add a startupProbe that allows for its slowest start"),
	answer.AppOverloaded:            specOutcome("if it is busy with requests: raise its CPU request and limit, or run more pods"),
	answer.CPUThrottled:             specOutcome("if it needs more CPU than its limit: raise the limit"),
	answer.AppNotListening:          specOutcome("if it listens on another port now: set the port of the probe to that one"),
	answer.AppListensElse:           specOutcome("if it listens on another port: set the port of the probe to that; on 127.0.0.1 alone: have it listen on 0.0.0.0; on none: mend what its log complains of; on that port: look for a NetworkPolicy or a firewall between"),
	answer.ChildProcessEnded:        specOutcome("if nothing starts that process again: have the main process start it again, or end with it, so that the container is restarted at once"),
	answer.AppHang:                  hangOutcome,
	answer.MemoryLimit:              memoryOutcome,
	answer.MemoryLimitChild:         memoryOutcome,
	answer.KilledByOther:            specOutcome("if a script, a hook or a probe of the pod sent the signal: correct that command; if a program of the node did (systemd-oomd, earlyoom): have it spare pods"),
	answer.NetworkBlocked:           textOutcome("if one of them drops what the node sends to the pod: have whatever wrote that rule allow it; a rule that is deleted by hand comes back"),
	answer.Deleted:                  deletedOutcome,
	answer.RolledOut:                rolledOutOutcome,
	answer.ScaledDown:               scaledOutcome,
	answer.SpecChanged:              specOutcome("if that change was not meant: put back what was there before"),
	answer.InitWaiting:              specOutcome("if what it waits for is not to come: correct the name that it waits for, or take the wait out"),
	answer.Preempted:                specOutcome("if this pod matters more: set priorityClassName to a class of higher value"),
	answer.SandboxFailed:            sandboxOutcome,
	answer.VolumeFailed:             specOutcome("if it names a server, a path or a driver that is wrong: correct that volume; else the mount is tried again by itself"),
	answer.MeshSidecarAnswered:      restartOutcome("if the application itself answers well: the fault is the sidecar's; a restart has it fetch its configuration again"),
	answer.ImageRegistryUnreachable: specOutcome("if the registry's name is wrong: correct the image; if the node does not reach the registry: mend its DNS, route or proxy; the pull is then tried again by itself"),
}

// correctConfig is for what only the words of the program tell.
var correctConfig = configOutcome("if its log says why (a setting, a file or an address that is wrong): correct that")

// outcome makes a step for one verdict.
type outcome = func(*inquiry, *answer.Verdict) answer.Fix

// specOutcome changes the pod's template.
func specOutcome(text string) outcome {
	return func(h *inquiry, _ *answer.Verdict) answer.Fix { return h.specFix(text) }
}

// configOutcome changes what configures the container that is to blame.
func configOutcome(text string) outcome {
	return func(h *inquiry, v *answer.Verdict) answer.Fix {
		return editConfig(h, counsel{Step: knowledge.Step{Text: text}, container: v.Container})
	}
}

// restartOutcome has the pods started again.
func restartOutcome(text string) outcome {
	return func(h *inquiry, _ *answer.Verdict) answer.Fix {
		return restart(h, counsel{Step: knowledge.Step{Text: text}})
	}
}

// textOutcome is what no command can do.
func textOutcome(text string) outcome {
	return func(*inquiry, *answer.Verdict) answer.Fix { return answer.Fix{Text: text, Risk: answer.Restarts} }
}

// unhealthyOutcome is about what a probe was told, or, of a Ready pod, about what its log says.
func unhealthyOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	if v.Rule == logComplains {
		return correctConfig(h, v)
	}
	text := "if something else that it needs is down: mend that, and have the probe ask a path that does not test it"
	c := h.spec(v.Container)
	for _, p := range []*v1.Probe{c.ReadinessProbe, c.LivenessProbe} {
		switch {
		case p == nil:
		case p.Exec != nil:
			text = "if something else that it needs is down: mend that, and have the probe's command not test it; if that command is wrong: correct it"
		case p.GRPC != nil:
			text = "if something else that it needs is down: mend that; if the probe asks for another service than the one that is meant: correct its grpc.service"
		}
	}
	return h.specFix(text)
}

// outlives is for how long a container has to run again before its last end is taken for over: back-off's longest pause.
const outlives = 5 * time.Minute

// exitOutcome is for a main process that failed by itself.
func exitOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	f := correctConfig(h, v)
	if now := h.Last(v.Container); h.runs(now) && readyLast(now) && h.Now.Sub(now.Started.When()) > outlives {
		f.Text = "nothing has to be done while it runs; " + f.Text
	}
	return f
}

// hangOutcome frees what hangs, where no liveness probe does that already.
func hangOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	if c := h.Spec(v.Container); c != nil && c.LivenessProbe != nil {
		return answer.Fix{Text: "if it waits for something else that does not answer: mend that, and have the program give up after a time; if it only needs longer: raise timeoutSeconds of the probe", Command: kubectl.EditTemplateCommand(h.Pod.Namespace, h.Object), Risk: answer.Restarts}
	}
	return restart(h, counsel{Step: knowledge.Step{Text: "if it does not answer at all: a restart helps until it happens again; what its threads wait for, a lock or another that does not answer, is to be mended"}})
}

// memoryOutcome raises a limit, where the container has one.
func memoryOutcome(h *inquiry, v *answer.Verdict) answer.Fix {
	c := h.Spec(v.Container)
	if c == nil || c.Resources.Limits.Memory().IsZero() {
		return answer.Fix{}
	}
	raise := h.limitsFix(fmt.Sprintf("if the memory limit (%s) was reached: raise it", c.Resources.Limits.Memory()))
	raise.Command = cmp.Or(kubectl.SetMemory(h.Pod.Namespace, h.Object, v.Container, memoryQuantity(2*c.Resources.Limits.Memory().Value())), raise.Command)
	return raise
}

func deletedOutcome(h *inquiry, _ *answer.Verdict) answer.Fix {
	if kubectl.Workload(h.Object) != "" {
		return answer.Fix{} // its controller has made another, or was told not to
	}
	return answer.Fix{Text: "if it was to stay: create it again from its manifest, as part of a Deployment or StatefulSet, which replace a pod that is deleted", Risk: answer.Safe}
}

func rolledOutOutcome(h *inquiry, _ *answer.Verdict) answer.Fix {
	workload := kubectl.Workload(h.Object)
	if !kubectl.Restartable(workload) {
		return answer.Fix{}
	}
	return answer.Fix{Text: "if the revision before was the better one: go back to it", Command: h.kubectl("rollout undo %s", workload), Risk: answer.Restarts}
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
		return h.specFix(fmt.Sprintf("if the node's container runtime has no handler for runtimeClassName %s: take it out, or have the pod placed on a node that has it", *class))
	}
	return textOutcome("if the node's network plugin (CNI) is not ready: see about its pod on that node; the pod is set up by itself then")(h, v)
}
