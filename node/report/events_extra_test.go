package report

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
)

func TestEventsOfWhatKubeletHides(t *testing.T) {
	const pod, ctr = "/kubepods/burstable/pod1-2", "/kubepods/burstable/pod1-2/abc"
	limited := testPod.DeepCopy()
	limited.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
		Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("15Mi")},
	}}}
	two := limited.DeepCopy()
	two.Spec.Containers = append(two.Spec.Containers, v1.Container{Name: "d", Resources: limited.Spec.Containers[0].Resources})
	oom := func(b fact.OOMKilled) fact.OOMKilled {
		b.Command, b.Constraint, b.TaskCgroup, b.Limit = "stress", "CONSTRAINT_MEMCG", ctr, 15<<20
		return b
	}
	const livesOn = ". Its main process was not killed: if the container lives on, it does so without that process"
	global := oom(fact.OOMKilled{Main: true})
	global.Constraint, global.Limit = "CONSTRAINT_NONE", 0
	answered := fact.Probed{Probe: fact.Readiness, Verdict: fact.Failure, Evidence: &fact.Evidence{
		Status: 503, Header: map[string]string{"Server": "istio-envoy", "Content-Type": "text/plain"},
	}}
	ordered := of("c", 0, fact.Exited{ExitCode: 137}, 9)
	cases := map[string]struct {
		pod  *v1.Pod
		fact fact.Fact
		want string
	}{
		"main, own limit":  {two, of("c", 0, oom(fact.OOMKilled{Main: true, OOMCgroup: ctr})), "OOMKilling The container's main process (stress) was OOM-killed by the kernel: the container had reached its memory limit of 15Mi"},
		"child, own limit": {two, of("c", 0, oom(fact.OOMKilled{OOMCgroup: ctr})), "OOMKilling A child process (stress) of the container was OOM-killed by the kernel: the container had reached its memory limit of 15Mi" + livesOn},
		"the pod's limit is that of its only container": {limited, of("c", 0, oom(fact.OOMKilled{Main: true, OOMCgroup: pod})), "OOMKilling The container's main process (stress) was OOM-killed by the kernel: the container had reached its memory limit of 15Mi"},
		"the pod's limit": {two, of("c", 0, oom(fact.OOMKilled{OOMCgroup: pod})), "OOMKilling A child process (stress) of the container was OOM-killed by the kernel: the pod's containers together had reached the pod's memory limit of 15Mi" + livesOn},
		"all pods":        {two, of("c", 0, oom(fact.OOMKilled{Main: true, OOMCgroup: "/kubepods"})), "OOMKilling The container's main process (stress) was OOM-killed by the kernel: all pods together had reached what the node has for them of 15Mi"},
		"the node":        {two, of("c", 0, global), "OOMKilling The container's main process (stress) was OOM-killed by the kernel: the node had run out of memory"},
		"group":           {two, of("c", 0, oom(fact.OOMKilled{Group: true, OOMCgroup: ctr})), "OOMKilling A child process (stress) of the container was OOM-killed together with all others (memory.oom.group) by the kernel: the container had reached its memory limit of 15Mi"},

		"killed":        {two, of("c", 0, fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true}), "ContainerDied The container died: its main process was ended by signal 9"},
		"exit 137":      {two, of("c", 0, fact.Exited{ExitCode: 137, StatusKnown: true}), "ContainerDied The container died: its main process exited by itself with code 137"},
		"137":           {two, of("c", 0, fact.Exited{ExitCode: 137}), "ContainerDied The container died with exit code 137"},
		"OOM killed":    {two, of("c", 0, fact.Exited{ExitCode: 137, Signal: 9, MainOOMKilled: true}), "ContainerDied The container died: its main process was OOM-killed"},
		"after a child": {two, of("c", 0, fact.Exited{ExitCode: 1, OOMKills: 1}), "ContainerDied The container died: its main process exited with code 1 after a child of it had been OOM-killed"},
		"vanished":      {two, of("c", 0, fact.Exited{Vanished: true}), "ContainerDied The container is gone without a trace; how it ended is not known"},
		"well":          {two, of("c", 0, fact.Exited{}), ""},
		"ordered":       {two, ordered, ""},

		"answered by a sidecar": {two, of("c", 0, answered), "ProbeAnswered Readiness probe: the 503 was answered by Server: istio-envoy"},
		"refused":               {two, of("c", 0, fact.Probed{Verdict: fact.Failure, Evidence: &fact.Evidence{Errno: "ECONNREFUSED"}}), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, e := range extraEvents(c.pod, c.fact) {
				got += fmt.Sprintf("%s %s", e.reason, e.message)
			}
			if got != c.want {
				t.Errorf("says  %q\nwant  %q", got, c.want)
			}
		})
	}
}

func TestHiddenEventsAreSparing(t *testing.T) {
	var s eventLimiter
	a, b := warning("OOMKilling", "m"), warning("OOMKilling", "n")
	if !s.worth(testPod, a) || s.worth(testPod, a) || !s.worth(testPod, b) {
		t.Error("an event is said twice in a minute, or another is not said")
	}
}
