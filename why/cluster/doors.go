package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// Closed says whether who asks a Service is refused, for no pod behind it takes requests.
func Closed(service *v1.Service, pods []v1.Pod) bool {
	return !service.Spec.PublishNotReadyAddresses && !slices.ContainsFunc(pods, func(p v1.Pod) bool { return LooksWell(&p) && p.Status.Phase != v1.PodSucceeded })
}

// Leads says whether a Service leads to a pod.
func Leads(service *v1.Service, pod *v1.Pod) bool {
	return service.Namespace == pod.Namespace && len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// NoSuchPort is the hop to a Service that does not have the port that it is asked at.
func NoSuchPort(service *v1.Service, port int32, by string) *answer.Hop {
	if port == 0 || len(service.Spec.Ports) == 0 || service.Spec.ClusterIP == v1.ClusterIPNone {
		return nil
	}
	var have []string
	for _, p := range service.Spec.Ports {
		if p.Port == port {
			return nil
		}
		have = append(have, fmt.Sprint(p.Port))
	}
	name := service.Namespace + "/" + service.Name
	return &answer.Hop{
		Service: name, By: by, Cause: answer.ServicePortMismatch,
		Text:  fmt.Sprintf("Service %s has no port %d; it has %s.", name, port, strings.Join(have, ", ")),
		Fixes: []answer.Fix{edit(service, fmt.Sprintf("ask it at port %s, or give it port %d", strings.Join(have, " or "), port))},
	}
}

func edit(service *v1.Service, text string) answer.Fix {
	return answer.Fix{Text: text, Command: kubectl.Command(service.Namespace, "edit service %s", service.Name), Risk: answer.Safe}
}

// NoSuchName is the hop to a Service whose port leads to one by a name that none of its
// pods gives a port.
func NoSuchName(service *v1.Service, port int32, pods []v1.Pod, by string) *answer.Hop {
	for _, p := range service.Spec.Ports {
		if port != 0 && p.Port != port || p.TargetPort.Type != intstr.String {
			continue
		}
		declared, served := portsOf(pods, p.TargetPort)
		if served {
			continue
		}
		name := service.Namespace + "/" + service.Name
		hop := &answer.Hop{Service: name, By: by, Cause: answer.ServicePortMismatch, Fixes: []answer.Fix{edit(service, fmt.Sprintf("correct targetPort of the Service's port %d", p.Port))}}
		hop.Text = fmt.Sprintf("Port %d of Service %s leads to the port named %s, and none of its pods names one so", p.Port, name, p.TargetPort.StrVal)
		hop.Text += prose.Whether(len(declared) > 0, "; they declare "+strings.Join(declared, ", "), "") + "."
		return hop
	}
	return nil
}

// answerOf is the answer about a pod; nil where none of them is.
func answerOf(pod *v1.Pod, answers []answer.Answer) *answer.Answer {
	return first(answers, func(a answer.Answer) bool { return a.Subject.UID == pod.UID })
}

// listeningOf is what a pod listens on; nil where nobody looked.
func listeningOf(pod *v1.Pod, answers []answer.Answer) *answer.Listening {
	if a := answerOf(pod, answers); a != nil {
		return a.Listening
	}
	return nil
}

// Deaf is the hop to a Service whose pods look well and do not listen on the port that it
// leads to; none where one does, or nobody looked. candidates are all pods of its namespace.
func Deaf(service *v1.Service, port int32, pods, candidates []v1.Pod, answers []answer.Answer, by string) *answer.Hop {
	for _, p := range service.Spec.Ports {
		if port != 0 && p.Port != port {
			continue
		}
		if hop := deafAt(service, p, pods, candidates, answers); hop != nil {
			hop.By = by
			return hop
		}
	}
	return nil
}

// deafAt is the same of one port; nil for none.
func deafAt(service *v1.Service, p v1.ServicePort, pods, candidates []v1.Pod, answers []answer.Answer) *answer.Hop {
	if p.Protocol != "" && p.Protocol != v1.ProtocolTCP {
		return otherProtocol(service, p, pods, answers)
	}
	name := service.Namespace + "/" + service.Name
	for i := range pods {
		l := listeningOf(&pods[i], answers)
		target, ok := targetOf(p, &pods[i])
		if l == nil || !ok {
			continue
		}
		if hop := straightTo(service, p, &pods[i], l.Ports, target); hop != nil {
			return hop
		}
		if slices.Contains(l.Ports, target) {
			continue
		}
		if hop := cmp.Or(strayed(service, p, &pods[i], pods, answers), misled(service, p, &pods[i], candidates, l.Ports)); hop != nil {
			return hop
		}
		if !slices.Contains(l.Loopback, target) && mayComeUp(p, &pods[i], answerOf(&pods[i], answers)) {
			continue
		}
		pod := pods[i].Namespace + "/" + pods[i].Name
		hop := &answer.Hop{Service: name, Pod: pod, Cause: answer.ServicePortMismatch}
		hop.Text = fmt.Sprintf("Port %d of Service %s leads to port %d of pod %s, on which it does not listen", p.Port, name, target, pod)
		switch {
		case slices.Contains(l.Loopback, target):
			hop.Cause = answer.AppListensElse
			hop.Text = fmt.Sprintf("Pod %s listens on port %d of its loopback alone (127.0.0.1:%d), where nobody else reaches it", pod, target, target)
		case len(l.Ports) > 0:
			hop.Text += fmt.Sprintf("; it listens on %s", numbers(l.Ports))
		}
		hop.Text += "."
		hop.Fixes = theirPort(service, p.Port, &pods[i], l, target)
		return hop
	}
	return nil
}

// otherProtocol is the hop to a Service that has a port for another protocol alone, where a pod of its
// listens for TCP.
func otherProtocol(service *v1.Service, p v1.ServicePort, pods []v1.Pod, answers []answer.Answer) *answer.Hop {
	if slices.ContainsFunc(service.Spec.Ports, func(other v1.ServicePort) bool { return other.Port == p.Port && other.Protocol == v1.ProtocolTCP }) {
		return nil
	}
	name := service.Namespace + "/" + service.Name
	for i := range pods {
		l := listeningOf(&pods[i], answers)
		if target, ok := targetOf(p, &pods[i]); ok && l != nil && slices.Contains(l.Ports, target) {
			return &answer.Hop{
				Service: name, Cause: answer.ServicePortMismatch,
				Text:  fmt.Sprintf("Service %s has port %d for %s alone, and pod %s listens on %d for TCP: who asks it by TCP reaches nobody there.", name, p.Port, p.Protocol, pods[i].Name, target),
				Fixes: []answer.Fix{edit(service, fmt.Sprintf("give port %d protocol TCP", p.Port))},
			}
		}
	}
	return nil
}

// straightTo is the hop to a headless Service that is asked at its own port, on which its pod does not
// listen, while it does on the one to which a cluster IP would lead.
func straightTo(service *v1.Service, p v1.ServicePort, pod *v1.Pod, listens []int32, target int32) *answer.Hop {
	if service.Spec.ClusterIP != v1.ClusterIPNone || p.Port == target || !slices.Contains(listens, target) || slices.Contains(listens, p.Port) {
		return nil
	}
	name := service.Namespace + "/" + service.Name
	return &answer.Hop{
		Service: name, Pod: pod.Namespace + "/" + pod.Name, Cause: answer.ServicePortMismatch,
		Text: fmt.Sprintf("Service %s is headless (clusterIP: None): its name leads to its pods themselves, and nobody turns its port %d into their targetPort %d there. Pod %s listens on %d, and not on %d.",
			name, p.Port, target, pod.Name, target, p.Port),
		Fixes: []answer.Fix{{Text: fmt.Sprintf("ask it at port %d, or make the Service anew with a cluster IP, which turns %d into %d (clusterIP cannot be changed)", target, p.Port, target), Risk: answer.Restarts}},
	}
}

// strayed is the hop to a Service whose selector fits a pod, too, that is not what it is made for: it does
// not listen where another kind of pod behind it does.
func strayed(service *v1.Service, p v1.ServicePort, pod *v1.Pod, pods []v1.Pod, answers []answer.Answer) *answer.Hop {
	target, _ := targetOf(p, pod)
	serves := slices.IndexFunc(pods, func(other v1.Pod) bool {
		l := listeningOf(&other, answers)
		on, ok := targetOf(p, &other)
		return ok && l != nil && !sameKind(&other, pod) && slices.Contains(l.Ports, on)
	})
	if a := answerOf(pod, answers); serves < 0 || a == nil || youngest(pod, a.AsOf) < settles {
		return nil
	}
	name := service.Namespace + "/" + service.Name
	return &answer.Hop{
		Service: name, Cause: answer.SelectorMismatch,
		Text: fmt.Sprintf("Service %s selects %s, which is so of pod %s, too, that does not listen on port %d as pod %s does: the requests that go there are refused.",
			name, labels.Set(service.Spec.Selector), pod.Name, target, pods[serves].Name),
		Fixes: []answer.Fix{edit(service, fmt.Sprintf("have its selector fit only pods like %s: add a label that pods like %s do not have", pods[serves].Name, pod.Name))},
	}
}

// misled is the hop to a Service that selects a pod which does not listen on its target port, while one that is
// called like the Service, and is well, declares that port and is not selected.
func misled(service *v1.Service, p v1.ServicePort, pod *v1.Pod, candidates []v1.Pod, listens []int32) *answer.Hop {
	called := func(c *v1.Pod) bool {
		return CalledLike(c) == service.Name || slices.Contains(slices.Collect(maps.Values(c.Labels)), service.Name)
	}
	meant := first(candidates, func(c v1.Pod) bool {
		_, declares := portsOf([]v1.Pod{c}, targetPort(p))
		return declares && !Leads(service, &c) && LooksWell(&c) && called(&c)
	})
	if _, declares := portsOf([]v1.Pod{*pod}, targetPort(p)); meant == nil || declares || called(pod) {
		return nil
	}
	name := service.Namespace + "/" + service.Name
	return &answer.Hop{
		Service: name, Cause: answer.SelectorMismatch,
		Text: fmt.Sprintf("Service %s selects %s, which is pod %s: that does not listen on port %s, to which the Service leads (it listens on %s). Pod %s, which is called like the Service and has that port, is not selected: its labels are %s.",
			name, labels.Set(service.Spec.Selector), pod.Name, targetWord(p), numbers(listens), meant.Name, labels.Set(meant.Labels)),
		Fixes: []answer.Fix{edit(service, fmt.Sprintf("correct its selector so that it fits pod %s, and not %s", meant.Name, pod.Name))},
	}
}

// targetPort is where a Service's port leads to.
func targetPort(p v1.ServicePort) intstr.IntOrString {
	if p.TargetPort.Type == intstr.Int && p.TargetPort.IntVal == 0 {
		return intstr.FromInt32(p.Port)
	}
	return p.TargetPort
}

// sameKind says whether two pods are of one workload, or, where nothing made them, run the same.
func sameKind(a, b *v1.Pod) bool {
	runs := func(c, d v1.Container) bool {
		return c.Name == d.Name && c.Image == d.Image && slices.Equal(c.Command, d.Command) && slices.Equal(c.Args, d.Args)
	}
	return CalledLike(a) == CalledLike(b) || kubectl.Workload(a) == "" && kubectl.Workload(b) == "" && slices.EqualFunc(a.Spec.Containers, b.Spec.Containers, runs)
}

// tries is how long one that asks for a connection may wait until it asks again: the kernel
// does after 1, 2 and 4 s.
const tries = 10 * time.Second

// Dropped is the hop to a Service that is asked for connections at some places in vain, while its
// pods listen there and have room: their kernel would answer each that comes to them. None where
// one of them may not, or nobody looked. admitted is set if NetworkPolicies admit the connections.
func Dropped(service *v1.Service, dialing []string, pods []v1.Pod, answers []answer.Answer, by string, admitted bool) *answer.Hop {
	name := service.Namespace + "/" + service.Name
	for _, p := range service.Spec.Ports {
		place := fmt.Sprintf("%s:%d", service.Spec.ClusterIP, p.Port)
		if service.Spec.ClusterIP == "" || !slices.Contains(dialing, place) || p.Protocol != "" && p.Protocol != v1.ProtocolTCP {
			continue
		}
		var takes string
		for i := range pods {
			target, ok := targetOf(p, &pods[i])
			a := answerOf(&pods[i], answers)
			if a == nil || !ok || !LooksWell(&pods[i]) || youngest(&pods[i], a.AsOf) < tries || !hasRoom(a, target) {
				return nil
			}
			takes = fmt.Sprintf("pod %s/%s listens on %d and has room for connections", pods[i].Namespace, pods[i].Name, target)
		}
		if takes == "" {
			return nil
		}
		drops, policies := "as a network policy or a firewall does", []answer.Fix{kubectl.Inspect("see which network policies there are", kubectl.Command(service.Namespace, "get networkpolicies"))}
		if admitted {
			drops, policies = "by a firewall or another kind of policy, since no NetworkPolicy blocks it", nil
		}
		return &answer.Hop{
			Service: name, By: by, Cause: answer.NetworkBlocked,
			Text: fmt.Sprintf("No connection to port %d of Service %s (%s) comes about, although %s: what is sent there is dropped on the way, %s.", p.Port, name, place, takes, drops),
			Fixes: append(policies,
				kubectl.Inspect("see which rules drop it, on the node and in the pods' network namespaces", "nft list ruleset | grep -iE 'drop|reject'; iptables-save | grep -iE 'drop|reject'")),
		}
	}
	return nil
}

// hasRoom says whether a pod was seen just now to listen on a port with room for connections.
func hasRoom(a *answer.Answer, port int32) bool {
	l := a.Listening
	return l != nil && a.AsOf.Sub(l.At) < tries && slices.Contains(l.Room, port)
}

// comesUp is how long a server may take until it listens, settles how long one that listens
// already may take until it listens on all of its ports, if it is at work.
const comesUp, settles = time.Minute, 15 * time.Second

// mayComeUp says whether a pod that does not listen on a Service's target port may be about
// to: it is young. Not so one that listens on the port that the Service itself has, or that
// listens elsewhere and has nothing more to do.
func mayComeUp(p v1.ServicePort, pod *v1.Pod, a *answer.Answer) bool {
	young, l := youngest(pod, a.AsOf), a.Listening
	idle := len(l.Ports) > 0 && young >= settles && l.Busy != nil && *l.Busy <= idleShare
	return young < comesUp && !slices.Contains(l.Ports, p.Port) && !idle
}

// LastStart is when the container of a pod was started that was started last; zero where none is
// known to run.
func LastStart(pod *v1.Pod) (at time.Time) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil && c.State.Running.StartedAt.After(at) {
			at = c.State.Running.StartedAt.Time
		}
	}
	return at
}

// youngest is how long ago the container of a pod was started that was started last.
func youngest(pod *v1.Pod, now time.Time) time.Duration {
	age := now.Sub(pod.CreationTimestamp.Time)
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			age = min(age, now.Sub(c.State.Running.StartedAt.Time))
		} else {
			age = 0
		}
	}
	return age
}
