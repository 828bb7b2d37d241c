package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// insufficient finds the resources that the scheduler calls too little (noderesources, fit.go).
var insufficient = regexp.MustCompile(`Insufficient ([a-z][\w./-]*\w)`)

// fitting returns the nodes that a pod could run on if they had room: not cordoned, matching its required node affinity,
// and without taints that it does not tolerate.
func (a Around) fitting(pod *v1.Pod) (fit []*v1.Node) {
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	for i := range a.Nodes {
		n := &a.Nodes[i]
		taints, _ := Around{Nodes: a.Nodes[i : i+1]}.tainted(pod)
		if ok, err := required.Match(n); ok && err == nil && taints == "" && !n.Spec.Unschedulable {
			fit = append(fit, n)
		}
	}
	return fit
}

// on returns the pods whose requests count on a node: those that have not ended.
func on(node string, all []v1.Pod) (pods []*v1.Pod) {
	for i := range all {
		if p := &all[i]; p.Spec.NodeName == node && p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
			pods = append(pods, p)
		}
	}
	return pods
}

// noRoom explains a pod whose requests exceed the free resources of every node.
func noRoom(f *answer.Verdict, pod *v1.Pod, around Around, message string) {
	var asks, lacks, less []string
	onlyLarger := false
	fit, requests := around.fitting(pod), requestsOf(pod)
	var known []v1.Pod
	if len(fit) > 0 && !around.Within {
		known = around.pods()
	}
	for _, name := range shortOf(pod, message) {
		want := requests[name]
		asks = append(asks, amount(name, want))
		if around.Within || len(fit) == 0 {
			continue
		}
		r := roomOf(name, fit, known)
		if more := want.Cmp(r.capacity) > 0; more || known != nil && want.Cmp(r.left) > 0 { // else room was freed since
			lacks, onlyLarger = append(lacks, r.said(more)), onlyLarger || more
			less = append(less, r.bound(more))
		}
	}
	f.Cause, f.Text = answer.InsufficientResources, "No node has room for the pod's requests"
	if len(asks) > 0 {
		f.Text += " (" + strings.Join(asks, ", ") + ")"
	}
	f.Text += ": "
	if len(lacks) > 0 {
		f.Text += strings.Join(lacks, "; ") + ". The scheduler says: "
	}
	f.Text += message
	change := "request less"
	if len(asks) > 0 {
		change += " than " + strings.Join(asks, " and ")
	}
	if len(less) > 0 && !slices.Contains(less, "") {
		change = "request at most " + strings.Join(less, " and ")
	}
	f.Fixes = []answer.Fix{
		kubectl.EditTemplate(pod.Namespace, pod, change+prose.Whether(onlyLarger, ", or add a larger node", ", or add a node")),
		kubectl.Inspect("see what each node has left", "kubectl describe nodes | grep -A8 'Allocated resources'"),
	}
}

// room holds the capacity of nodes for one resource.
type room struct {
	name     v1.ResourceName
	capacity resource.Quantity // the largest allocatable amount of a node
	largest  string            // the node with that amount
	left     resource.Quantity // the largest free amount of a node
	on       string            // the node with that amount
	taker    *v1.Pod           // the pod with the largest request there
	takes    resource.Quantity
}

func roomOf(name v1.ResourceName, nodes []*v1.Node, pods []v1.Pod) (r room) {
	r.name = name
	for i, n := range nodes {
		all := n.Status.Allocatable[name]
		if i == 0 || all.Cmp(r.capacity) > 0 {
			r.capacity, r.largest = all, n.Name
		}
		left, most, taker := all.DeepCopy(), resource.Quantity{}, (*v1.Pod)(nil)
		for _, p := range on(n.Name, pods) {
			takes := requestsOf(p)[name]
			left.Sub(takes)
			if takes.Cmp(most) > 0 {
				most, taker = takes, p
			}
		}
		if i == 0 || left.Cmp(r.left) > 0 {
			r.left, r.on, r.taker, r.takes = left, n.Name, taker, most
		}
	}
	return r
}

// said formats the capacity of the largest node if it is too small, else the node with the most free.
func (r room) said(tooSmall bool) string {
	switch {
	case tooSmall && r.capacity.IsZero():
		return fmt.Sprintf("no node offers %s", r.name)
	case tooSmall:
		return fmt.Sprintf("the largest node, %s, has only %s", r.largest, amount(r.name, r.capacity))
	}
	text := fmt.Sprintf("node %s has the most free, %s of %s", r.on, figure(r.name, r.left), amount(r.name, r.capacity))
	if r.taker != nil {
		text += fmt.Sprintf(", and its largest request is %s, of pod %s/%s", figure(r.name, r.takes), r.taker.Namespace, r.taker.Name)
	}
	return text
}

// bound formats the largest request that fits; "" if none does.
func (r room) bound(tooSmall bool) string {
	q := prose.Whether(tooSmall, r.capacity, r.left)
	if q.Sign() <= 0 {
		return ""
	}
	return amount(r.name, q)
}

// amount formats a quantity with the name of its resource, figure without it.
func amount(name v1.ResourceName, q resource.Quantity) string {
	return figure(name, q) + " " + string(name)
}

func figure(name v1.ResourceName, q resource.Quantity) string {
	switch name {
	case v1.ResourceCPU:
		return strconv.FormatFloat(float64(q.MilliValue())/1000, 'f', -1, 64)
	case v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return prose.Whether(q.Sign() < 0, "-", "") + prose.Size(max(q.Value(), -q.Value()))
	}
	return q.String()
}

// requestsOf returns a pod's requests as the scheduler counts them (noderesources, fit.go).
func requestsOf(pod *v1.Pod) v1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true})
}

// shortOf returns the requested resources that the scheduler calls insufficient, in its order.
func shortOf(pod *v1.Pod, message string) (all []v1.ResourceName) {
	requests := requestsOf(pod)
	for _, m := range insufficient.FindAllStringSubmatch(message, -1) {
		name := v1.ResourceName(m[1])
		if q := requests[name]; !q.IsZero() && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// portTaken explains a pod whose host port is in use on every node.
func portTaken(f *answer.Verdict, pod *v1.Pod, around Around, message string) {
	f.Cause, f.Text = answer.NoMatchingNode, hostPorts(pod)+" is in use on every node that fits: "
	var holders []string
	if !around.Within {
		holders = around.holders(pod)
	}
	look := kubectl.Inspect("find the pod that uses it", "kubectl get pods -A -o custom-columns='NS:.metadata.namespace,NAME:.metadata.name,NODE:.spec.nodeName,PORTS:.spec.containers[*].ports[*].hostPort' | grep -v '<none>$'")
	if len(holders) > 0 {
		f.Text += prose.Some(holders) + ". The scheduler says: "
		look = kubectl.Inspect("list the pods and their nodes", "kubectl get pods -A -o wide")
	}
	f.Text += message
	f.Fixes = []answer.Fix{kubectl.EditTemplate(pod.Namespace, pod, "remove hostPort (a Service needs none), or choose another"), look}
}

// holders lists the pods that use a host port of this pod, each with its node.
func (a Around) holders(pod *v1.Pod) (all []string) {
	wanted := hostPortsOf(pod)
	pods := a.pods()
	for _, n := range a.fitting(pod) {
		for _, p := range on(n.Name, pods) {
			for _, port := range hostPortsOf(p) {
				if slices.ContainsFunc(wanted, port.conflicts) {
					all = append(all, fmt.Sprintf("pod %s/%s uses it on node %s", p.Namespace, p.Name, n.Name))
					break
				}
			}
		}
	}
	return all
}

// hostPort is a port that a container opens on its node.
type hostPort struct {
	address  string
	protocol v1.Protocol
	port     int32
}

// conflicts reports whether two host ports exclude each other on one node (scheduler, nodeports).
func (p hostPort) conflicts(o hostPort) bool {
	const all = "0.0.0.0"
	a, b := cmp.Or(p.address, all), cmp.Or(o.address, all)
	return p.port == o.port && cmp.Or(p.protocol, v1.ProtocolTCP) == cmp.Or(o.protocol, v1.ProtocolTCP) && (a == b || a == all || b == all)
}

func hostPortsOf(pod *v1.Pod) (all []hostPort) {
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				all = append(all, hostPort{p.HostIP, p.Protocol, p.HostPort})
			}
		}
	}
	return all
}

// hostPorts formats the host ports of a pod.
func hostPorts(pod *v1.Pod) string {
	all := prose.Each(hostPortsOf(pod), func(p hostPort) string { return strconv.Itoa(int(p.port)) })
	switch len(all) {
	case 0:
		return "The pod's host port"
	case 1:
		return "The pod's host port " + all[0]
	}
	return "One of the pod's host ports (" + strings.Join(all, ", ") + ")"
}
