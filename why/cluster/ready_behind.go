package cluster

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// ReadyBehind adds the state of the Ready pods of a Service to a verdict that blames the Service, what that leaves as the
// reason of a failed connection, and what to do about it.
func ReadyBehind(v *answer.Verdict, service *v1.Service, behind []v1.Pod, port int32, said string) {
	names := prose.Each(behind, func(p v1.Pod) string { return p.Name })
	text := fmt.Sprintf("Service %s leads to pod %s, which is Ready", service.Name, names[0])
	if len(behind) > 1 {
		text = fmt.Sprintf("Service %s leads to %d pods, which are Ready (%s)", service.Name, len(behind), prose.Brief(strings.Join(names, ", "), 80))
	}
	b := readyBehind{service: service, pod: &behind[0], port: portOf(service, port)}
	if len(b.pod.Spec.Containers) == 0 {
		return
	}
	var steps []answer.Fix
	switch {
	case words.BreaksOff(said):
		steps = []answer.Fix{b.logs(fmt.Sprintf("read what pod %s says of these requests", b.pod.Name))}
	case words.Refused(said):
		if b.port != nil && b.port.Protocol == v1.ProtocolUDP {
			v.SayBecause(fmt.Sprintf("%s. Port %d of the Service is for UDP, and a connection is TCP.", text, b.port.Port))
			return
		}
		text += fmt.Sprintf(". Most likely %s on the port to which the Service leads%s, or only on loopback", prose.Whether(len(behind) > 1, "none of them listens", "it does not listen"), b.target())
		steps = b.refusedSteps()
	case words.Unanswered(said):
		text += ". Packets are dropped on the way (a NetworkPolicy, a firewall), or the answer takes too long"
		steps = b.silentSteps()
	}
	v.SayBecause(text + ".")
	if len(steps) > 0 {
		v.DropSteps(func(f answer.Fix) bool { return f.ID == answer.StepExplain || f.ID == answer.StepWhose })
		v.AddFirst(steps...)
	}
}

// readyBehind is a Ready pod to which a Service leads, and the port of the Service that was asked; nil if that is unknown.
type readyBehind struct {
	service *v1.Service
	pod     *v1.Pod
	port    *v1.ServicePort
}

// portOf returns the port of a Service by its number, or its only one for 0.
func portOf(s *v1.Service, number int32) *v1.ServicePort {
	for i := range s.Spec.Ports {
		if p := &s.Spec.Ports[i]; p.Port == number || number == 0 && len(s.Spec.Ports) == 1 {
			return p
		}
	}
	return nil
}

// target says in brackets where the Service leads, and what the pod declares where that is something else.
func (b readyBehind) target() string {
	if b.port == nil {
		return ""
	}
	to := targetPort(*b.port)
	declared := b.declares()
	return fmt.Sprintf(" (targetPort %s%s)", to.String(), prose.Whether(declared != "", "; the pod declares "+declared, ""))
}

// declares are the ports that the container declares, where the one to which the Service leads is none of them.
func (b readyBehind) declares() string {
	var declared []string
	for _, p := range b.container().Ports {
		if b.leadsTo(p) {
			return ""
		}
		declared = append(declared, fmt.Sprint(p.ContainerPort))
	}
	return strings.Join(declared, ", ")
}

// leadsTo reports whether the Service leads to a port of a container.
func (b readyBehind) leadsTo(p v1.ContainerPort) bool {
	if b.port == nil {
		return false
	}
	to := targetPort(*b.port)
	return p.ContainerPort == to.IntVal || p.Name == to.StrVal && to.StrVal != ""
}

// container is the one that declares the port, else the first.
func (b readyBehind) container() v1.Container {
	all := b.pod.Spec.Containers
	if b.port != nil {
		to := targetPort(*b.port)
		if i := slices.IndexFunc(all, func(c v1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool {
				return p.ContainerPort == to.IntVal || p.Name == to.StrVal && to.StrVal != ""
			})
		}); i >= 0 {
			return all[i]
		}
	}
	return all[0]
}

func (b readyBehind) logs(text string) answer.Fix {
	return kubectl.Inspect(text, kubectl.Command(b.pod.Namespace, "logs %s -c %s --tail=50", b.pod.Name, b.container().Name))
}

// refusedSteps are what to look at where the pod refuses the connection, and what to do for what that shows.
func (b readyBehind) refusedSteps() []answer.Fix {
	edit := fmt.Sprintf("if it listens on another port: set targetPort of Service %s to that one", b.service.Name)
	if b.port != nil {
		to := targetPort(*b.port)
		edit = fmt.Sprintf("if it listens on another port: set targetPort of port %d of Service %s (now %s) to that one%s", b.port.Port, b.service.Name, to.String(), prose.Whether(b.declares() != "", " (it declares "+b.declares()+")", ""))
	}
	if selector := b.service.Spec.Selector; len(selector) > 0 {
		edit += fmt.Sprintf("; if %s is not the intended program: correct the selector (now %s)", b.pod.Name, labels.Set(selector))
	}
	return []answer.Fix{
		kubectl.Exec("see on which ports pod "+b.pod.Name+" listens", b.pod.Namespace, b.pod.Name, b.container().Name, kubectl.Sockets),
		{Text: edit, Command: kubectl.Command(b.service.Namespace, "edit service %s", b.service.Name), Risk: answer.Safe},
		kubectl.EditTemplate(b.pod.Namespace, b.pod, fmt.Sprintf("if it listens on 127.0.0.1 alone: have container %s listen on 0.0.0.0", b.container().Name)),
	}
}

// silentSteps are the same where it gives no answer in time.
func (b readyBehind) silentSteps() []answer.Fix {
	steps := []answer.Fix{b.logs(fmt.Sprintf("see whether pod %s gets the requests, and what it does with them", b.pod.Name))}
	if command := anew(b.pod); command != "" {
		steps = append(steps, answer.Fix{Text: "if it gets them and does not answer: mend what its log names (a lock, a database); a restart helps if it hangs", Command: command, Risk: answer.Restarts})
	}
	return append(steps, kubectl.Inspect("if it gets none: see which NetworkPolicies keep them from it, and admit the port there", kubectl.Command(b.pod.Namespace, "describe networkpolicies")))
}
