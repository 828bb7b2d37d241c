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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// Closed says whether who asks a Service is refused, for no pod behind it takes requests.
func Closed(service *v1.Service, pods []v1.Pod) bool {
	return !service.Spec.PublishNotReadyAddresses && !slices.ContainsFunc(pods, func(p v1.Pod) bool { return Serves(&p) })
}

// Leads says whether a Service leads to a pod.
func Leads(service *v1.Service, pod *v1.Pod) bool {
	return service.Namespace == pod.Namespace && len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// Behind are the pods behind a Service, all pods of its namespace, and what was answered about them.
type Behind struct {
	Service   *v1.Service
	Pods, All []v1.Pod
	Answers   []answer.Answer
	// Unreached is set if a connection to the Service failed: then the specs of its Ready pods show where they do not listen.
	Unreached bool
	// Told are the settings and log lines of pods whose sockets were not inspected.
	Told map[types.UID][]Setting
}

// look is a pod behind a Service that somebody looked into, and its port to which one of the Service's leads.
type look struct {
	*answer.Answer
	pod    *v1.Pod
	target int32
	spec   bool // nobody looked: it is what its spec tells
}

// looked is the answer about a pod that somebody looked into; nil where nobody did.
func (b Behind) looked(pod *v1.Pod) *answer.Answer {
	return first(b.Answers, func(a answer.Answer) bool { return a.Subject.UID == pod.UID && a.Listening != nil })
}

// looks are the pods behind a port of the Service that were looked into.
func (b Behind) looks(p v1.ServicePort) (all []look) {
	for i := range b.Pods {
		a, spec := b.looked(&b.Pods[i]), false
		if a == nil && b.Unreached {
			a, spec = b.bySpec(&b.Pods[i]), true
		}
		if target, ok := targetOf(p, &b.Pods[i]); ok && a != nil {
			all = append(all, look{a, &b.Pods[i], target, spec})
		}
	}
	return all
}

// listen reports whether a pod behind the Service listens on a port.
func (b Behind) listen(port int32) bool {
	return slices.ContainsFunc(b.Answers, func(a answer.Answer) bool { return a.Listening != nil && slices.Contains(a.Listening.Ports, port) })
}

// listens reports whether the pod listens where the Service leads.
func (l look) listens() bool { return slices.Contains(l.Listening.Ports, l.target) }

// hopTo is the hop to a Service in which something is wrong.
func hopTo(service *v1.Service, cause answer.Cause, text string, fixes ...answer.Fix) *answer.Hop {
	return &answer.Hop{Service: Key(service), Cause: cause, Text: text, Fixes: fixes}
}

func edit(service *v1.Service, text string) answer.Fix {
	return answer.Fix{Text: text, Command: kubectl.Command(service.Namespace, "edit service %s", service.Name), Risk: answer.Safe}
}

// Mismatch is the hop to a Service that does not have the port at which it is asked, or that leads on from there to a port
// of a name which none of its pods has. 0: it is not known where it is asked.
func (b Behind) Mismatch(port int32) *answer.Hop {
	return cmp.Or(b.noSuchPort(port), b.eachPort(port, b.noSuchName))
}

// Deaf is the hop to a Service whose pods look well and do not listen on the port that it
// leads to; none where one does, or nobody looked.
func (b Behind) Deaf(port int32) *answer.Hop { return b.eachPort(port, b.deafAt) }

// eachPort is the first hop of those to a port of the Service; 0: to any.
func (b Behind) eachPort(port int32, to func(v1.ServicePort) *answer.Hop) *answer.Hop {
	for _, p := range b.Service.Spec.Ports {
		if port != 0 && p.Port != port {
			continue
		}
		if hop := to(p); hop != nil {
			return hop
		}
	}
	return nil
}

// noSuchPort is the hop to a Service that does not have the port that it is asked at.
func (b Behind) noSuchPort(port int32) *answer.Hop {
	have := prose.Each(b.Service.Spec.Ports, func(p v1.ServicePort) string { return fmt.Sprint(p.Port) })
	if port == 0 || len(have) == 0 || slices.Contains(have, fmt.Sprint(port)) || b.Service.Spec.ClusterIP == v1.ClusterIPNone {
		return nil
	}
	return hopTo(b.Service, answer.ServicePortMismatch, fmt.Sprintf("Service %s has no port %d; it has %s.", Key(b.Service), port, strings.Join(have, ", ")),
		edit(b.Service, fmt.Sprintf("ask it at port %s, or give it port %d", strings.Join(have, " or "), port)))
}

// noSuchName is the hop to a Service whose port leads to one by a name that none of its
// pods gives a port.
func (b Behind) noSuchName(p v1.ServicePort) *answer.Hop {
	declared, served := portsOf(b.Pods, p.TargetPort)
	if p.TargetPort.Type != intstr.String || served {
		return nil
	}
	text := fmt.Sprintf("Port %d of Service %s leads to the port named %s, and none of its pods names one so", p.Port, Key(b.Service), p.TargetPort.StrVal)
	text += prose.Whether(len(declared) > 0, "; they declare "+strings.Join(declared, ", "), "") + "."
	return hopTo(b.Service, answer.ServicePortMismatch, text, edit(b.Service, fmt.Sprintf("correct targetPort of the Service's port %d", p.Port)))
}

// deafAt is the hop to a port of the Service on whose target a pod does not listen.
func (b Behind) deafAt(p v1.ServicePort) *answer.Hop {
	if protocol(p.Protocol) != v1.ProtocolTCP {
		return b.otherProtocol(p)
	}
	for _, l := range b.looks(p) {
		if l.spec {
			if hop := b.unreachedAt(p, l); hop != nil {
				return hop
			}
			continue
		}
		if hop := b.straightTo(p, l); hop != nil {
			return hop
		}
		if l.listens() {
			continue
		}
		if hop := b.astray(p, l); hop != nil {
			return hop
		}
		if slices.Contains(l.Listening.Loopback, l.target) {
			text := fmt.Sprintf("Pod %s listens on port %d of its loopback alone (127.0.0.1:%d), where nobody else reaches it.", Key(l.pod), l.target, l.target)
			hop := hopTo(b.Service, answer.AppListensElse, text, kubectl.EditTemplate(l.pod.Namespace, l.pod, fmt.Sprintf("have it listen on all addresses (0.0.0.0 or ::) on port %d, and not on loopback alone", l.target)))
			hop.Pod = Key(l.pod)
			return hop
		}
		if l.mayComeUp(p) {
			continue
		}
		text := fmt.Sprintf("Port %d of Service %s leads to port %d of pod %s, on which it does not listen", p.Port, Key(b.Service), l.target, Key(l.pod))
		ports := l.Listening.Ports
		hop := hopTo(b.Service, answer.ServicePortMismatch, text+prose.Whether(len(ports) > 0, "; it listens on "+numbers(ports), "")+".")
		hop.Pod = Key(l.pod)
		if len(ports) == 1 {
			hop.Fixes = []answer.Fix{edit(b.Service, fmt.Sprintf("give port %d of Service %s targetPort %d, if that is what is to answer there, or have the pod listen on %d", p.Port, b.Service.Name, ports[0], l.target))}
		}
		return hop
	}
	return nil
}

// otherProtocol is the hop to a Service that has a port for another protocol alone, where a pod of its
// listens for TCP.
func (b Behind) otherProtocol(p v1.ServicePort) *answer.Hop {
	l := first(b.looks(p), look.listens)
	if l == nil || slices.ContainsFunc(b.Service.Spec.Ports, func(o v1.ServicePort) bool { return o.Port == p.Port && o.Protocol == v1.ProtocolTCP }) {
		return nil
	}
	return hopTo(b.Service, answer.ServicePortMismatch,
		fmt.Sprintf("Service %s has port %d for %s alone, and pod %s %s %d for TCP: TCP clients cannot connect to that port.", Key(b.Service), p.Port, p.Protocol, l.pod.Name, l.declares(), l.target),
		edit(b.Service, fmt.Sprintf("give port %d protocol TCP", p.Port)))
}

// straightTo is the hop to a headless Service that is asked at its own port, on which its pod does not
// listen, while it does on the one to which a cluster IP would lead.
func (b Behind) straightTo(p v1.ServicePort, l look) *answer.Hop {
	if b.Service.Spec.ClusterIP != v1.ClusterIPNone || p.Port == l.target || !l.listens() || slices.Contains(l.Listening.Ports, p.Port) {
		return nil
	}
	hop := hopTo(b.Service, answer.ServicePortMismatch,
		fmt.Sprintf("Service %s is headless (clusterIP: None): its name resolves to the pods themselves, so its port %d is not translated to targetPort %d. Pod %s %s %d, and not %d.",
			Key(b.Service), p.Port, l.target, l.pod.Name, l.declares(), l.target, p.Port),
		answer.Fix{Text: fmt.Sprintf("ask it at port %d, or make the Service anew with a cluster IP, which turns %d into %d (clusterIP cannot be changed)", l.target, p.Port, l.target), Risk: answer.Restarts})
	hop.Pod = Key(l.pod)
	return hop
}

// astray is the hop to a Service that leads to a pod which is not what it is made for.
func (b Behind) astray(p v1.ServicePort, l look) *answer.Hop {
	return cmp.Or(b.strayed(p, l), b.misled(p, l))
}

// strayed is the hop to a Service whose selector fits a pod, too, that is not what it is made for: it does
// not listen where another kind of pod behind it does.
func (b Behind) strayed(p v1.ServicePort, l look) *answer.Hop {
	serves := first(b.looks(p), func(o look) bool { return o.listens() && !sameKind(o.pod, l.pod) })
	if serves == nil || youngest(l.pod, l.AsOf) < settles {
		return nil
	}
	return hopTo(b.Service, answer.SelectorMismatch,
		fmt.Sprintf("Service %s selects %s, which also matches pod %s. That pod does not %s %d as pod %s does, so requests to it are refused.",
			Key(b.Service), labels.Set(b.Service.Spec.Selector), l.pod.Name, prose.Whether(l.spec, "declare port", "listen on port"), l.target, serves.pod.Name),
		edit(b.Service, fmt.Sprintf("make its selector match only pods like %s: add a label that pods like %s do not have", serves.pod.Name, l.pod.Name)))
}

// misled is the hop to a Service that selects a pod which does not listen on its target port, while one that is
// called like the Service, and is well, declares that port and is not selected.
func (b Behind) misled(p v1.ServicePort, l look) *answer.Hop {
	called := func(c *v1.Pod) bool {
		return CalledLike(c) == b.Service.Name || slices.Contains(slices.Collect(maps.Values(c.Labels)), b.Service.Name)
	}
	declares := func(c v1.Pod) bool {
		_, served := portsOf([]v1.Pod{c}, targetPort(p))
		return served
	}
	meant := first(b.All, func(c v1.Pod) bool { return declares(c) && !Leads(b.Service, &c) && LooksWell(&c) && called(&c) })
	if meant == nil || declares(*l.pod) || called(l.pod) {
		return nil
	}
	return hopTo(b.Service, answer.SelectorMismatch,
		fmt.Sprintf("Service %s selects %s, which matches pod %s. That pod does not %s %s, where the Service leads (it %s %s). Pod %s has the Service's name and that port, but is not selected: its labels are %s.",
			Key(b.Service), labels.Set(b.Service.Spec.Selector), l.pod.Name, prose.Whether(l.spec, "declare port", "listen on port"), targetWord(p), l.declares(), numbers(l.Listening.Ports), meant.Name, labels.Set(meant.Labels)),
		edit(b.Service, fmt.Sprintf("correct its selector so that it matches pod %s, not %s", meant.Name, l.pod.Name)))
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
func (b Behind) Dropped(dialing []string, admitted bool) *answer.Hop {
	for _, p := range b.Service.Spec.Ports {
		place := fmt.Sprintf("%s:%d", b.Service.Spec.ClusterIP, p.Port)
		if b.Service.Spec.ClusterIP == "" || !slices.Contains(dialing, place) || protocol(p.Protocol) != v1.ProtocolTCP {
			continue
		}
		looks := b.looks(p)
		if len(looks) == 0 || len(looks) < len(b.Pods) || slices.ContainsFunc(looks, func(l look) bool { return !l.hasRoom() }) {
			return nil
		}
		last := looks[len(looks)-1]
		drops, policies := "as a network policy or a firewall does", []answer.Fix{kubectl.Inspect("see which network policies there are", kubectl.Command(b.Service.Namespace, "get networkpolicies"))}
		if admitted {
			drops, policies = "by a firewall or another kind of policy, since no NetworkPolicy blocks it", nil
		}
		return hopTo(b.Service, answer.NetworkBlocked,
			fmt.Sprintf("No connection to port %d of Service %s (%s) comes about, although pod %s listens on %d and has room for connections: what is sent there is dropped on the way, %s.", p.Port, Key(b.Service), place, Key(last.pod), last.target, drops),
			append(policies, kubectl.Inspect("see which rules drop it, on the node and in the pods' network namespaces", "nft list ruleset | grep -iE 'drop|reject'; iptables-save | grep -iE 'drop|reject'"))...)
	}
	return nil
}

// hasRoom says whether a pod that looks well was seen just now to listen with room for connections, and did when those
// were asked for.
func (l look) hasRoom() bool {
	return LooksWell(l.pod) && youngest(l.pod, l.AsOf) >= tries && l.AsOf.Sub(l.Listening.At) < tries && slices.Contains(l.Listening.Room, l.target)
}

// comesUp is how long a server may take until it listens, settles how long one that listens
// already may take until it listens on all of its ports, if it is at work.
const comesUp, settles = time.Minute, 15 * time.Second

// mayComeUp says whether a pod that does not listen on a Service's target port may be about
// to: it is young. Not so one that listens on the port that the Service itself has, or that
// listens elsewhere and has nothing more to do.
func (l look) mayComeUp(p v1.ServicePort) bool {
	young := youngest(l.pod, l.AsOf)
	return young < comesUp && !slices.Contains(l.Listening.Ports, p.Port) && !(young >= settles && Idle(l.Answer))
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

// youngest is how long ago the container of a pod was started that was started last; 0 where one does not run.
func youngest(pod *v1.Pod, now time.Time) time.Duration {
	if slices.ContainsFunc(pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Running == nil }) {
		return 0
	}
	return min(now.Sub(pod.CreationTimestamp.Time), now.Sub(LastStart(pod)))
}
