package cluster

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// bySpec returns where a pod listens by its spec, if its sockets were not inspected: on the ports of its readiness probes,
// which pass, and presumably on those that it declares. It returns nil for a pod that became Ready a moment ago.
func (b Behind) bySpec(pod *v1.Pod) *answer.Answer {
	a := first(b.Answers, func(a answer.Answer) bool { return a.Subject.UID == pod.UID })
	if a == nil || !Serves(pod) || youngest(pod, a.AsOf) < settles {
		return nil
	}
	known := *a
	known.Listening = &answer.Listening{Ports: probedPorts(pod)}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, p := range c.Ports {
			if protocol(p.Protocol) == v1.ProtocolTCP && !slices.Contains(known.Listening.Ports, p.ContainerPort) {
				known.Listening.Ports = append(known.Listening.Ports, p.ContainerPort)
			}
		}
	}
	return &known
}

// probedPorts are the ports at which the readiness probes of a pod's containers ask over the network.
func probedPorts(pod *v1.Pod) (ports []int32) {
	for _, c := range pod.Spec.Containers {
		probe := c.ReadinessProbe
		if probe == nil {
			continue
		}
		var at intstr.IntOrString
		switch {
		case probe.HTTPGet != nil:
			at = probe.HTTPGet.Port
		case probe.TCPSocket != nil:
			at = probe.TCPSocket.Port
		case probe.GRPC != nil:
			at = intstr.FromInt32(probe.GRPC.Port)
		}
		if port, ok := targetOf(v1.ServicePort{TargetPort: at}, pod); ok && port > 0 && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// unreachedAt is the hop to a port of the Service that takes no connections, although a pod behind it is Ready, by what that
// pod's spec, settings and log tell.
func (b Behind) unreachedAt(p v1.ServicePort, l look) *answer.Hop {
	if hop := b.straightTo(p, l); hop != nil {
		return hop
	}
	if slices.Contains(probedPorts(l.pod), l.target) {
		return nil // it listens there
	}
	if hop := l.onLoopback(b.Told[l.pod.UID]); hop != nil {
		return hop
	}
	if l.listens() { // it may listen on several ports, and log only another
		return nil
	}
	where := "declares"
	if port, _ := words.OnlyPort(logOf(b.Told[l.pod.UID])); port != 0 && int32(port) != l.target {
		where, l.Listening.Ports = "logs that it listens on", []int32{int32(port)}
	}
	if hop := b.astray(p, l); hop != nil || len(l.Listening.Ports) == 0 {
		return hop
	}
	ports := numbers(l.Listening.Ports)
	hop := hopTo(b.Service, answer.ServicePortMismatch,
		fmt.Sprintf("Port %d of Service %s leads to port %d of pod %s, which is Ready but accepts no connections there; it %s %s.", p.Port, Key(b.Service), l.target, Key(l.pod), where, ports),
		edit(b.Service, fmt.Sprintf("give port %d of Service %s targetPort %s, or have the pod listen on %d", p.Port, b.Service.Name, ports, l.target)))
	hop.Pod = Key(l.pod)
	return hop
}

// onLoopback is the hop to a pod whose log or settings have it listen on loopback alone.
func (l look) onLoopback(told []Setting) *answer.Hop {
	for _, s := range told {
		line := s.loopback(l.target)
		if line == "" {
			continue
		}
		step := fmt.Sprintf("have it listen on all addresses (0.0.0.0 or ::) on port %d, not only on loopback", l.target)
		fix := kubectl.EditTemplate(l.pod.Namespace, l.pod, step)
		if name, ok := strings.CutPrefix(s.Where, "ConfigMap "); ok {
			name, _, _ = strings.Cut(name, ",")
			fix = kubectl.Edit(step, "configmap", l.pod.Namespace, name, l.pod)
		}
		return &answer.Hop{
			Pod: Key(l.pod), Cause: answer.AppListensElse, Fixes: []answer.Fix{fix},
			Text: fmt.Sprintf("Pod %s is Ready but accepts no connections on port %d: it listens only on loopback (127.0.0.1). Its %s says: %s.", Key(l.pod), l.target, s.Where, prose.Brief(line, 160)),
		}
	}
	return nil
}

// loopback returns the part of a setting, or of a line of a log, by which a server listens on a port on loopback alone; empty
// for none.
func (s Setting) loopback(port int32) string {
	name, variable := strings.CutPrefix(s.Where, "variable ")
	switch {
	case s.Where == ofLog:
		return prose.Whether(words.Announces(knowledge.OnLoopback, s.Text, int(port)), logline.Message(s.Text), "")
	case s.Where == "command":
		return words.BindsToLoopback(strings.ReplaceAll(s.Text, " -", "\n-"), int(port))
	case variable:
		return words.BindsToLoopback(name+"="+s.Text, int(port))
	}
	return words.BindsToLoopback(s.Text, int(port))
}

// ofLog is the place of a line of a log.
const ofLog = "log"

// Logged are the lines of a log among what is told of a pod.
func Logged(lines []string) (told []Setting) {
	for _, line := range lines {
		told = append(told, Setting{Where: ofLog, Text: line})
	}
	return told
}

// logOf returns the lines of a log among what is told of a pod.
func logOf(told []Setting) (lines []string) {
	for _, s := range told {
		if s.Where == ofLog {
			lines = append(lines, s.Text)
		}
	}
	return lines
}

// declares is the verb for how it is known where a pod listens.
func (l look) declares() string { return prose.Whether(l.spec, "declares", "listens on") }
