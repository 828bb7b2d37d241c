package differential

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// withInit writes a pod whose main container is "c", with init containers.
func withInit(policy, script string, initContainers string) string {
	return pod(policy, script, "", "initContainers:\n"+initContainers)
}

func bothRun(p *v1.Pod) bool {
	return container(p, "c").State.Running != nil && container(p, "d").State.Running != nil
}

// Init containers and sidecars, in their orders.
var initScenarios = []scenario{
	{name: "init-two", spec: withInit("Always", idles, shell("i", "sleep 1", "")+shell("j", "sleep 1", "")), until: ready},
	{name: "init-slow", spec: withInit("Always", idles, shell("i", "sleep 1000", "")+shell("j", "true", "")), steps: []step{{running("i"), pause(time.Second)}}, until: running("i")},
	{name: "init-fails-always", spec: withInit("Always", idles, shell("i", "sleep 1; exit 2", "")), until: backsOff("i"), exact: true},
	{name: "init-fails-onfailure", spec: withInit("OnFailure", idles, shell("i", "sleep 1; exit 2", "")), until: backsOff("i"), exact: true},
	{name: "init-fails-never", spec: withInit("Never", idles, shell("i", "sleep 1; exit 2", "")+shell("j", "true", "")), until: ended},
	{name: "init-image-missing", spec: withInit("Always", idles, "- {name: i, image: 'missing:1', imagePullPolicy: Never}\n"), until: waiting("i", "ErrImageNeverPull")},
	{name: "init-then-done", spec: withInit("Never", "sleep 5; exit 0", shell("i", "true", "")), until: ended},
	{name: "init-then-fails", spec: withInit("Never", "sleep 5; exit 4", shell("i", "true", "")), until: ended},

	{name: "sidecar-first", spec: withInit("Always", idles, shell("s", idles, "restartPolicy: Always\n")+shell("i", "sleep 1", "")), until: ready},
	{name: "sidecar-ends-last", spec: withInit("Never", "sleep 5", shell("s", obeys, "restartPolicy: Always\n")), until: ended},
	{name: "sidecar-ends-last-143", spec: withInit("Never", "sleep 5", shell("s", idles, "restartPolicy: Always\n")), until: ended},
	{name: "sidecar-after-failure", spec: withInit("Never", "sleep 5; exit 5", shell("s", obeys, "restartPolicy: Always\n")), until: ended},
	{name: "sidecar-startup-holds-main", spec: withInit("Always", idles, shell("s", "sleep 6; touch /up; "+idles, "restartPolicy: Always\n"+startupAnd("startupProbe", 10))), until: ready},
	{name: "sidecar-crashes", spec: withInit("Always", idles, shell("s", "sleep 2; exit 1", "restartPolicy: Always\n")), until: backsOff("s"), exact: true},
	{name: "sidecar-crashes-never", spec: withInit("Never", idles, shell("s", "sleep 2; exit 1", "restartPolicy: Always\n")), until: backsOff("s"), exact: true},
	{
		name: "sidecar-not-ready", spec: withInit("Always", idles, shell("s", idles, "restartPolicy: Always\nreadinessProbe: {exec: {command: ['false']}, periodSeconds: 1}\n")),
		steps: []step{{running("c"), pause(2 * time.Second)}}, until: notReady,
	},
	{name: "sidecar-live", spec: withInit("Always", idles, shell("s", countsRuns+idles, "restartPolicy: Always\n"+life+"livenessProbe: "+failsOnce+"\n")) + lives, until: wellAgain("s", 1)},
	{
		name: "sidecar-two-deleted", spec: withInit("Always", idles, shell("s", idles, "restartPolicy: Always\n")+shell("t", idles, "restartPolicy: Always\n")),
		steps: []step{{ready, pause(time.Second)}, {ready, remove}}, until: gone,
	},

	// Readiness gates.
	{name: "gate-closed", spec: pod("Always", idles, "", "readinessGates: [{conditionType: example.com/gate}]\n"), until: conditionIs(v1.ContainersReady, v1.ConditionTrue)},
	{
		name: "gate-opened", spec: pod("Always", idles, "", "readinessGates: [{conditionType: example.com/gate}]\n"),
		steps: []step{{conditionIs(v1.ContainersReady, v1.ConditionTrue), gate("example.com/gate", v1.ConditionTrue)}}, until: ready,
	},
	{
		name: "gate-closed-again", spec: pod("Always", idles, "", "readinessGates: [{conditionType: example.com/gate}]\n"),
		steps: []step{
			{conditionIs(v1.ContainersReady, v1.ConditionTrue), gate("example.com/gate", v1.ConditionTrue)},
			{ready, gate("example.com/gate", v1.ConditionFalse)},
		}, until: afterReady(notReady),
	},
}
