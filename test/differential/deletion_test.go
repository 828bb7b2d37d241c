package differential

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Deletion in each phase of a life.
var deletionScenarios = []scenario{
	{name: "delete-pending", spec: "containers:\n- {name: c, image: 'missing:1', imagePullPolicy: Never}\n", steps: []step{{waiting("c", "ErrImageNeverPull"), remove}}, until: gone, differs: neverRan},
	{name: "delete-in-init", spec: withInit("Always", idles, shell("i", idles, "")), steps: []step{{running("i"), pause(time.Second)}, {running("i"), remove}}, until: gone, differs: failedBeforeReady},
	{name: "delete-running", spec: pod("Always", idles, ""), steps: []step{{ready, pause(time.Second)}, {ready, remove}}, until: gone},
	{name: "delete-running-exit-0", spec: pod("Always", obeys, ""), steps: []step{{ready, pause(time.Second)}, {ready, remove}}, until: gone},
	{name: "delete-running-never", spec: pod("Never", obeys, ""), steps: []step{{ready, pause(time.Second)}, {ready, remove}}, until: gone},
	{name: "delete-ignoring", spec: pod("Always", ignores, "", "terminationGracePeriodSeconds: 2\n"), steps: []step{{ready, pause(time.Second)}, {ready, remove}}, until: gone},
	{name: "delete-not-ready", spec: pod("Always", idles, `readinessProbe: {exec: {command: ["false"]}, periodSeconds: 1}`), steps: []step{{running("c"), pause(2 * time.Second)}, {notReady, remove}}, until: gone},
	{name: "delete-backing-off", spec: pod("Always", "sleep 1; exit 1", ""), steps: []step{{of(endedTwice), pause(2 * time.Second)}, {of(anyPod), remove}}, until: gone},
	{name: "delete-succeeded", spec: pod("Never", "sleep 1; exit 0", ""), steps: []step{{ended, remove}}, until: gone},
	{name: "delete-failed", spec: pod("Never", "sleep 1; exit 1", ""), steps: []step{{ended, remove}}, until: gone},
	{name: "delete-at-once", spec: pod("Always", ignores, "", "terminationGracePeriodSeconds: 30\n"), steps: []step{{ready, pause(time.Second)}, {ready, removeWithin(0)}}, until: gone},
	{name: "delete-twice-sooner", spec: pod("Always", ignores, "", "terminationGracePeriodSeconds: 20\n"), steps: []step{{ready, pause(time.Second)}, {ready, remove}, {ready, removeWithin(1)}}, until: gone},
	{name: "delete-while-starting", spec: pod("Always", idles, `startupProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 100}`), steps: []step{{running("c"), pause(3 * time.Second)}, {running("c"), remove}}, until: gone},
	// kubelet 1.35 and 1.36 stopped exec probes here (kubernetes#140882).
	{name: "delete-turns-not-ready", spec: pod("Always", "touch /up; trap 'rm /up' TERM; while :; do sleep 0.2; done", `readinessProbe: {exec: {command: [test, -e, /up]}, periodSeconds: 1, failureThreshold: 1}`, "terminationGracePeriodSeconds: 6\n"), steps: []step{{ready, pause(3 * time.Second)}, {ready, remove}}, until: gone},
	{name: "delete-with-liveness", spec: pod("Always", ignores, `livenessProbe: {exec: {command: [test, -e, /up]}, periodSeconds: 1, failureThreshold: 100}`, "terminationGracePeriodSeconds: 3\n"), steps: []step{{ready, pause(3 * time.Second)}, {ready, remove}}, until: gone},
}

func endedTwice(p *v1.Pod) bool {
	c := container(p, "c")
	return c.RestartCount == 1 && c.State.Running == nil
}

// failedBeforeReady is what a pod's conditions say that was deleted before its
// main containers ran.
var failedBeforeReady = []expected{
	{key: "condition (Containers)?Ready", real: "False ContainersNotReady", ours: "False PodFailed", why: failedConditions},
	{key: "condition (Containers)?Ready message", real: `containers with unready status: \[c\]`, why: failedConditions},
}

// neverRan is what kubelet makes up for a container that never ran.
var neverRan = append([]expected{
	{key: "container c #0", real: `never ran, ended ContainerStatusUnknown\(137\)`, why: notObserved},
	{key: "container c #0 message", real: "The container could not be located when the pod was terminated", why: notObserved},
	{key: "container c at last", real: `terminated ContainerStatusUnknown\(137\), .*`, ours: "waiting ErrImageNeverPull.*", why: notObserved},
}, failedBeforeReady...)
