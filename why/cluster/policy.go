package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/netpol"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// MayBeDropped reports whether a client logs that it got no answer, and nothing that shows that it was connected:
// its connection timed out or was rejected on the way, or it does not say which part took too long.
func MayBeDropped(said string) bool {
	switch {
	case knowledge.Any(said, knowledge.ConnectionRefused, knowledge.NoDNS):
		return false
	case knowledge.TimedOut.In(said):
		return true
	}
	return words.Unanswered(said) && !knowledge.TooLate.In(said)
}

// unresolved fits how clients report that they did not resolve a name, whatever the reason.
var unresolved = regexp.MustCompile(`(?i)could not resolve host|bad address '|unable to resolve host address|unknownhostexception`)

// silentDNS fits how dig and nslookup report that a DNS server did not answer.
var silentDNS = regexp.MustCompile(`(?i)\bcommunications error to \S+#53: timed out`)

// MayLackDNS reports whether a client logs that no DNS server answered it. For exists, which says that the name is a
// Service's, it may also have got no answer where it does not tell that from an unknown name.
func MayLackDNS(said string, exists bool) bool {
	return knowledge.NoDNS.In(said) || silentDNS.MatchString(said) || exists && knowledge.NoName.In(said) && unresolved.MatchString(said)
}

// TargetPorts returns the ports of a pod to which a Service leads that is asked for a port, 0 if that is not known. A
// headless Service leads to the port itself.
func TargetPorts(service *v1.Service, port int32, pod *v1.Pod) (all []v1.ServicePort) {
	for _, p := range service.Spec.Ports {
		if port != 0 && p.Port != port {
			continue
		}
		target, ok := targetOf(p, pod)
		if service.Spec.ClusterIP == v1.ClusterIPNone && port != 0 {
			target, ok = port, true
		}
		if ok {
			all = append(all, v1.ServicePort{Port: target, Protocol: p.Protocol})
		}
	}
	if len(all) == 0 && service.Spec.ClusterIP == v1.ClusterIPNone && port != 0 {
		all = []v1.ServicePort{{Port: port}}
	}
	return all
}

// Blocked returns the hop to the NetworkPolicy that does not admit a connection; to is what the client asked for if
// that is no pod, by what shows that it did.
func Blocked(c netpol.Connection, r netpol.Result, to, by string) *answer.Hop {
	m := r.Nearest
	name := m.Policy.Namespace + "/" + m.Policy.Name
	hop := &answer.Hop{Policy: name, By: by, Cause: answer.NetworkPolicy}
	others := ""
	if n := len(r.Policies); n > 1 {
		names := prose.Each(slices.DeleteFunc(slices.Clone(r.Policies), func(p *networkingv1.NetworkPolicy) bool { return p == m.Policy }), (*networkingv1.NetworkPolicy).GetName)
		others = fmt.Sprintf(" (so does %s)", strings.Join(names[:min(len(names), 3)], ", "))
	}
	client, server := endName(c.Client, "its client"), cmp.Or(to, endName(c.Server, "the server"))
	if r.Direction == networkingv1.PolicyTypeEgress {
		hop.Text = fmt.Sprintf("NetworkPolicy %s selects %s%s and blocks its connections to %s%s.", name, client, others, server, onPort(c))
	} else {
		hop.Text = fmt.Sprintf("NetworkPolicy %s selects %s%s and blocks connections from %s%s.", name, server, others, client, onPort(c))
	}
	hop.Text += " " + admission(c, r)
	for _, p := range r.Policies {
		hop.Chain = append(hop.Chain, answer.Link{At: p.CreationTimestamp.UTC(), Kind: "NetworkPolicy", Text: fmt.Sprintf("NetworkPolicy %s was created: %s", p.Name, describePolicy(p, r.Direction))})
	}
	hop.Fixes = policySteps(c, r)
	return hop
}

func endName(e netpol.End, other string) string {
	if e.Pod == nil {
		return other
	}
	return "pod " + e.Pod.Namespace + "/" + e.Pod.Name
}

func onPort(c netpol.Connection) string {
	return prose.Whether(c.Port == 0, "", fmt.Sprintf(" on %s port %d", cmp.Or(c.Protocol, v1.ProtocolTCP), c.Port))
}

// admission says what the nearest rule admits, and what of the other end differs.
func admission(c netpol.Connection, r netpol.Result) string {
	m, way := r.Nearest, ways[r.Direction]
	_, peer := r.Ends(c)
	if m.Rule < 0 {
		return fmt.Sprintf("It has no %s rule, so it blocks every connection.", strings.ToLower(string(r.Direction)))
	}
	who := prose.Whether(countRules(r) > 1, "Its nearest rule admits only connections", "It admits only connections")
	var differ []string
	if m.Peer != nil {
		who += " " + way + " " + describePeer(*m.Peer)
	}
	if m.Port {
		who += " on " + portsIn(netpol.RulesOf(m.Policy, r.Direction)[m.Rule])
	}
	for _, d := range m.Labels {
		differ = append(differ, fmt.Sprintf("%s has %s", endName(peer, "the other end"), labelOf(d)))
	}
	for _, d := range m.NamespaceLabels {
		differ = append(differ, fmt.Sprintf("namespace %s has %s", peer.Pod.Namespace, labelOf(d)))
	}
	if m.OtherNamespace {
		differ = append(differ, fmt.Sprintf("%s is in another namespace", endName(peer, "the other end")))
	}
	if m.Address && len(peer.Addresses) > 0 {
		differ = append(differ, "the address is "+strings.Join(peer.Addresses, ", "))
	}
	return who + prose.Whether(len(differ) > 0, "; "+strings.Join(differ, ", "), "") + "."
}

func countRules(r netpol.Result) (n int) {
	for _, p := range r.Policies {
		n += len(netpol.RulesOf(p, r.Direction))
	}
	return n
}

func labelOf(d netpol.Difference) string {
	switch {
	case !d.Present:
		return "no label " + d.Key
	case d.Has == "":
		return "an empty label " + d.Key
	}
	return d.Key + "=" + d.Has
}

// ways are how a rule has its peers, by its direction.
var ways = map[networkingv1.PolicyType]string{networkingv1.PolicyTypeIngress: "from", networkingv1.PolicyTypeEgress: "to"}

// mostRules is the maximum number of a policy's rules that are described.
const mostRules = 3

// describePolicy says what a policy selects, and what its rules of a direction admit.
func describePolicy(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) string {
	var rules []string
	for _, r := range netpol.RulesOf(p, direction) {
		who := cmp.Or(strings.Join(prose.Each(r.Peers, describePeer), " or "), "everything")
		if ports := portsIn(r); ports != "" {
			who += " on " + ports
		}
		rules = append(rules, ways[direction]+" "+who)
	}
	text := fmt.Sprintf("for %s; %s ", describeSelector("pods", &p.Spec.PodSelector), strings.ToLower(string(direction)))
	switch n := len(rules) - mostRules; {
	case len(rules) == 0:
		return text + "blocked"
	case n > 0:
		return text + strings.Join(rules[:mostRules], ", ") + fmt.Sprintf(", and %d more rules", n)
	}
	return text + strings.Join(rules, ", ")
}

func describeSelector(what string, s *metav1.LabelSelector) string {
	if text := metav1.FormatLabelSelector(s); len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return what + " with " + text
	}
	return "all " + what
}

func describePeer(p networkingv1.NetworkPolicyPeer) string {
	if b := p.IPBlock; b != nil {
		if len(b.Except) > 0 {
			return fmt.Sprintf("addresses in %s except %s", b.CIDR, strings.Join(b.Except, ", "))
		}
		return "addresses in " + b.CIDR
	}
	text := "pods"
	if s := p.PodSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		text = describeSelector("pods", p.PodSelector)
	}
	if p.NamespaceSelector != nil {
		return text + " of " + describeSelector("namespaces", p.NamespaceSelector)
	}
	return text + " of its namespace"
}

// portsIn lists the ports of a rule; empty if it admits all.
func portsIn(r netpol.Rule) string {
	var all []string
	for _, port := range r.Ports {
		text := string(ptr.Deref(port.Protocol, v1.ProtocolTCP))
		if port.Port != nil {
			text += " port " + port.Port.String()
		}
		if port.EndPort != nil {
			text += fmt.Sprintf(" to %d", *port.EndPort)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// nameServer fits the DNS server in the words of a Go program.
var nameServer = regexp.MustCompile(`\blookup \S+ on \[?([\d.]+|[0-9a-f:]+)\]?:53\b`)

// NameServerIn returns the address of the DNS server that words name; empty if they name none.
func NameServerIn(said string) string {
	if m := nameServer.FindStringSubmatch(said); m != nil {
		return m[1]
	}
	return ""
}

// NameServers names what a pod resolves names by.
func NameServers(service *v1.Service) string {
	if service == nil {
		return "its DNS server"
	}
	return "DNS (Service " + Key(service) + ")"
}

// AsksNames says that a container, or the pod if it is empty, got no answer about a name.
func AsksNames(container, said string) string {
	return fmt.Sprintf("%s cannot resolve names (%s)", Who(container), strings.TrimSuffix(said, "."))
}

// Who is a container, or the pod where none is named.
func Who(container string) string {
	return prose.Whether(container == "", "the pod", "container "+container)
}

// PoliciesUnread adds to a verdict on a connection that nobody answered that NetworkPolicies of a namespace could not be
// read: recorded is set if a dump or record lacks them, else the asker may not list them.
func PoliciesUnread(v *answer.Verdict, namespace string, recorded bool) {
	why, step := fmt.Sprintf("you may not list networkpolicies in namespace %s", namespace), kubectl.Inspect(
		fmt.Sprintf("get the right to list networkpolicies.networking.k8s.io in namespace %s, and ask again", namespace),
		kubectl.Command(namespace, "auth can-i list networkpolicies.networking.k8s.io"))
	if recorded {
		why = fmt.Sprintf("those of namespace %s were not recorded", namespace)
		step = kubectl.Inspect("see which NetworkPolicies there are", kubectl.Command(namespace, "get networkpolicies -o yaml"))
	}
	v.SayBecause(fmt.Sprintf("Whether a NetworkPolicy blocks the connection is unknown: %s.", why))
	v.AddFirst(step)
}

// NoPolicy adds to a verdict on a connection that nobody answered that NetworkPolicies are not the reason: they admit it, or
// idle is one that would block it on a node which enforced policies.
func NoPolicy(v *answer.Verdict, idle string) {
	text := "the NetworkPolicies that select the client or the server admit the connection"
	if idle != "" {
		text = fmt.Sprintf("NetworkPolicy %s does not admit the connection, but Whylet's own nodes do not enforce policies", idle)
	}
	v.RuledOut = append(slices.Clip(v.RuledOut), answer.Note{Cause: answer.NetworkPolicy, Text: text})
}

// OtherPolicies adds to a verdict on a connection that nobody answered that the cluster has another kind of policies, or
// may have it if that was not seen; blocked is set if a NetworkPolicy blocks the connection.
func OtherPolicies(v *answer.Verdict, kind string, seen, blocked bool) {
	has, may := prose.Whether(seen, "has", "may have"), prose.Whether(blocked, "admit", "block")
	v.SayBecause(fmt.Sprintf("The cluster also %s %s, which are not evaluated here and may %s the connection.", has, kind, may))
}
