package differential

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// ending is a way for a container to end.
type ending struct {
	name, script, lines string
	steps               []step
	// restarts is how many of them the scenario waits for under Always and
	// OnFailure: one for what is killed later, none for what ends up in a back-off.
	restarts int32
	// clean says that the exit code is 0, so that OnFailure does not start it again.
	clean bool
	// killed says that a probe asked for the end, so law 4 applies.
	killed bool
	// differs are the meant differences, by policy.
	differs map[v1.RestartPolicy][]expected
}

const (
	fails  = `{exec: {command: ["false"]}, initialDelaySeconds: 3, periodSeconds: 1, failureThreshold: 2}`
	little = "resources: {limits: {memory: 15Mi}}\n"
	eats   = "dd if=/dev/zero of=/dev/null bs=64M count=1"
)

var endings = []ending{
	{name: "exit-0", script: "sleep 1; exit 0", clean: true},
	{name: "exit-1", script: "sleep 1; exit 1"},
	{name: "exit-137", script: "sleep 1; exit 137"},
	{name: "segv", script: "sleep 1; sh -c 'kill -SEGV $$'; exit $?"},
	{name: "live-0", script: obeys, lines: "livenessProbe: " + fails, restarts: 1, clean: true, killed: true, differs: neverAfter("liveness")},
	{name: "live-143", script: idles, lines: "livenessProbe: " + fails, restarts: 1, killed: true, differs: neverAfter("liveness")},
	{name: "live-137", script: ignores, lines: "livenessProbe: " + fails, restarts: 1, killed: true, differs: neverAfter("liveness")},
	{name: "startup-0", script: obeys, lines: "startupProbe: " + fails, restarts: 1, clean: true, killed: true, differs: neverAfter("startup")},
	{name: "startup-143", script: idles, lines: "startupProbe: " + fails, restarts: 1, killed: true, differs: neverAfter("startup")},
	{name: "oom", script: "sleep 1; exec " + eats, lines: little},
	{name: "oom-child-exit-1", script: "sleep 1; " + eats + "; sleep 1; exit 1", lines: little},
	{name: "oom-child-exit-0", script: "sleep 1; " + eats + "; sleep 1; exit 0", lines: little, clean: true, differs: inEach(oomBefore)},
	{name: "oom-child-live-0", script: "trap 'exit 0' TERM; " + eats + "; sleep 1000 & wait", lines: little + "livenessProbe: " + fails, restarts: 1, clean: true, killed: true, differs: both(inEach(oomBefore), neverAfter("liveness"))},
	{name: "killed", script: ignores, steps: []step{{running("c"), kill("c")}}, restarts: 1},
	{name: "post-start-fails", script: idles, lines: `lifecycle: {postStart: {exec: {command: ["false"]}}}`},
}

// restartMatrix is every ending under every restart policy.
func restartMatrix() []scenario {
	var all []scenario
	for _, e := range endings {
		for _, policy := range []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever} {
			s := scenario{
				name: "restart-" + strings.ToLower(string(policy)) + "-" + e.name, spec: pod(string(policy), e.script, e.lines),
				steps: e.steps, differs: e.differs[policy],
			}
			s.until, s.exact = e.until(policy)
			all = append(all, s)
		}
	}
	return append(all, law4, oomSurvived)
}

// until is where the scenario is over, and whether it is cut there.
func (e ending) until(policy v1.RestartPolicy) (reached milestone, exact bool) {
	switch {
	case policy == v1.RestartPolicyNever, policy == v1.RestartPolicyOnFailure && e.clean && !e.killed:
		return ended, false
	case e.restarts > 0:
		return runsAgain("c", e.restarts), false
	default:
		return backsOff("c"), true
	}
}

// inEach expects the same under every policy.
func inEach(e []expected) map[v1.RestartPolicy][]expected {
	return map[v1.RestartPolicy][]expected{v1.RestartPolicyAlways: e, v1.RestartPolicyOnFailure: e, v1.RestartPolicyNever: e}
}

func both(a, b map[v1.RestartPolicy][]expected) map[v1.RestartPolicy][]expected {
	sum := map[v1.RestartPolicy][]expected{}
	for _, policy := range []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever} {
		sum[policy] = append(slices.Clone(a[policy]), b[policy]...)
	}
	return sum
}

// oomBefore is the reason of an end that followed the OOM kill of a child.
var oomBefore = []expected{
	{key: `container c #\d`, real: `.* ended OOMKilled\(0\)`, ours: `.* ended Completed\(0\)`, why: oomReason},
	{key: "container c at last", real: `terminated OOMKilled\(0\), .*`, ours: `terminated Completed\(0\), .*`, why: oomReason, sometimes: true},
}

// neverAfter is what is said of a probe's kill that ends the pod.
func neverAfter(probe string) map[v1.RestartPolicy][]expected {
	return map[v1.RestartPolicy][]expected{v1.RestartPolicyNever: {
		{key: "event Normal Killing c: Stopping container c", real: "said", why: killSaid},
		{key: "event Normal Killing c: Container c failed " + probe + " probe", ours: "said", why: killSaid},
	}}
}

// law4 shows that a pod that is ended for its liveness, exits with 0 and has the
// policy OnFailure is over on the real stack as soon as a back-off is due. Once in many
// runs kubelet was seen to outlive the first one.
var law4 = scenario{
	name:   "restart-onfailure-live-0-backs-off",
	spec:   pod("OnFailure", obeys, `livenessProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 1}`),
	until:  either(ended, runsAgain("c", 4)),
	exact:  true,
	within: 4 * time.Minute,
	differs: []expected{
		{key: "phase", real: "Pending → Running → Succeeded", ours: "Pending → Running", why: killedAgain},
		{key: "container c at last", real: `terminated Completed\(0\), .*`, ours: "running, .* restarts [45]", why: killedAgain},
		{key: `condition \w+( message)?`, real: `.*(PodCompleted|False|PodSandboxNotReady)|containers with unready status: \[c\]|pod sandbox is not ready`, ours: "True|False( PodSandboxNotReady)? → True|", why: killedAgain},
		{key: `container c #\d`, real: ".*", ours: ".*", why: killedAgain},
		{key: "event .*", real: "(said)?", ours: "(said)?", why: killedAgain, sometimes: true},
	},
}

// oomSurvived shows a container that lives on after its child was killed.
var oomSurvived = scenario{
	name:  "restart-always-oom-child-survived",
	spec:  pod("Always", "trap 'exit 143' TERM; "+eats+"; sleep 1000 & wait", little),
	steps: []step{{ready, pause(3 * time.Second)}},
	until: ready,
}
