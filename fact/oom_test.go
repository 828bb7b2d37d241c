package fact

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// limited gives a pod of one container for each limit given, named a, b, c…
func limited(limits ...string) *v1.Pod {
	pod := &v1.Pod{}
	for i, limit := range limits {
		c := v1.Container{Name: string(rune('a' + i))}
		if limit != "" {
			c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse(limit)}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	return pod
}

func TestScope(t *testing.T) {
	id := strings.Repeat("0f", 32)
	const (
		v1Pod   = "/kubepods/burstable/poda1-b2"
		slices  = "/kubepods.slice/kubepods-burstable.slice"
		systemd = slices + "/kubepods-burstable-poda1_b2.slice"
		kind    = "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice"
		kindPod = kind + "/kubelet-kubepods-burstable-poda1_b2.slice"
		memcg   = "CONSTRAINT_MEMCG"
	)
	var (
		one, two = limited("24Mi"), limited("24Mi", "24Mi")
		own      = limited("24Mi")
		starter  = limited("24Mi")
		beside   = limited("24Mi")
		sandbox  = limited("24Mi")
	)
	own.Spec.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("24Mi")}}
	starter.Spec.InitContainers = []v1.Container{limited("", "100Mi").Spec.Containers[1]}
	beside.Spec.InitContainers = []v1.Container{limited("", "8Mi").Spec.Containers[1]}
	always := v1.ContainerRestartPolicyAlways
	beside.Spec.InitContainers[0].RestartPolicy = &always
	sandbox.Spec.Overhead = v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi")}

	for name, c := range map[string]struct {
		pod        *v1.Pod
		constraint string
		task, full string
		want       Scope
	}{
		"v1: its own":                       {two, memcg, v1Pod + "/" + id, v1Pod + "/" + id, OfContainer},
		"v1: the pod's":                     {two, memcg, v1Pod + "/" + id, v1Pod, OfPod},
		"v1: all pods'":                     {two, memcg, v1Pod + "/" + id, "/kubepods", OfAllPods},
		"v1: its QoS class'":                {two, memcg, v1Pod + "/" + id, "/kubepods/burstable", OfAllPods},
		"v1: all that is on the machine":    {two, memcg, v1Pod + "/" + id, "/", OfAllPods},
		"v1: below another root":            {two, memcg, "/whylet" + v1Pod + "/" + id, "/whylet" + v1Pod, OfPod},
		"v1: above all pods":                {two, memcg, "/whylet" + v1Pod + "/" + id, "/whylet", OfAllPods},
		"v2: a cgroup that it made":         {two, memcg, v1Pod + "/" + id + "/worker", v1Pod + "/" + id + "/worker", OfContainer},
		"v2: its own, the task below":       {two, memcg, v1Pod + "/" + id + "/init", v1Pod + "/" + id, OfContainer},
		"systemd: its own":                  {two, memcg, systemd + "/cri-containerd-" + id + ".scope", systemd + "/cri-containerd-" + id + ".scope", OfContainer},
		"systemd: the task below":           {two, memcg, systemd + "/crio-" + id + ".scope/container", systemd + "/crio-" + id + ".scope", OfContainer},
		"systemd: the pod's":                {two, memcg, systemd + "/cri-containerd-" + id + ".scope", systemd, OfPod},
		"systemd: its QoS class'":           {two, memcg, systemd + "/cri-containerd-" + id + ".scope", slices, OfAllPods},
		"systemd: all pods'":                {two, memcg, systemd + "/cri-containerd-" + id + ".scope", "/kubepods.slice", OfAllPods},
		"kind: its own":                     {two, memcg, kindPod + "/cri-containerd-" + id + ".scope", kindPod + "/cri-containerd-" + id + ".scope", OfContainer},
		"kind: the pod's":                   {two, memcg, kindPod + "/cri-containerd-" + id + ".scope", kindPod, OfPod},
		"kind: its QoS class'":              {two, memcg, kindPod + "/cri-containerd-" + id + ".scope", kind, OfAllPods},
		"namespaced: its own":               {two, memcg, "/../.." + v1Pod + "/" + id, "/../.." + v1Pod + "/" + id, OfContainer},
		"namespaced: the pod's":             {two, memcg, "/../.." + v1Pod + "/" + id, "/../.." + v1Pod, OfPod},
		"namespaced: all pods'":             {two, memcg, "/../.." + v1Pod + "/" + id, "/../../kubepods", OfAllPods},
		"namespaced: the task's alone":      {two, memcg, "/../.." + v1Pod + "/" + id, "/docker/x" + v1Pod, OfPod},
		"namespaced: the task's, all pods'": {two, memcg, "/../.." + v1Pod + "/" + id, "/docker/x/kubepods", OfAllPods},

		"the pod's limit is its only container's":        {one, memcg, v1Pod + "/" + id, v1Pod, OfContainer},
		"the kernel knows of a limit, the spec does not": {limited("24Mi", ""), memcg, systemd + "/cri-containerd-" + id + ".scope", systemd, OfPod},
		"the pod has a limit of its own":                 {own, memcg, v1Pod + "/" + id, v1Pod, OfPod},
		"the pod's limit is an init container's":         {starter, memcg, v1Pod + "/" + id, v1Pod, OfPod},
		"the pod's limit counts a sidecar":               {beside, memcg, v1Pod + "/" + id, v1Pod, OfPod},
		"the pod's limit counts a sandbox's overhead":    {sandbox, memcg, v1Pod + "/" + id, v1Pod, OfPod},
		"nothing is known of the pod":                    {nil, memcg, v1Pod + "/" + id, v1Pod, OfPod},

		"the machine":                       {one, "CONSTRAINT_NONE", v1Pod + "/" + id, "", OfMachine},
		"a part of the machine":             {one, "CONSTRAINT_CPUSET", v1Pod + "/" + id, "", OfMachine},
		"an old kernel says no constraint":  {two, "", v1Pod + "/" + id, v1Pod, OfPod},
		"only the task's cgroup is known":   {one, memcg, v1Pod + "/" + id, "", ""},
		"nothing is known":                  {one, "", "", "", ""},
		"of a container that is no pod's":   {nil, memcg, "/docker/x", "/docker/x", OfContainer},
		"another's":                         {one, memcg, v1Pod + "/" + id, "/system.slice", ""},
		"whose process it was is not known": {one, memcg, "", "/kubepods", ""},
	} {
		k := OOMKilled{Constraint: c.constraint, TaskCgroup: c.task, OOMCgroup: c.full, Limit: 24 << 20}
		if got := k.Scope(c.pod, "a"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
