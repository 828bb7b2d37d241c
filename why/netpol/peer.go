package netpol

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// admits evaluates a rule of a policy in a namespace. The miss says what keeps it from admitting the connection, of
// the peer that comes nearest.
func (r Rule) admits(namespace string, c Connection, peer End) (Outcome, Miss) {
	port := portOf(r.Ports, c)
	if len(r.Peers) == 0 {
		return port, Miss{Port: port == Denied}
	}
	outcome, nearest := Denied, Miss{}
	for i := range r.Peers {
		admits, miss := peerOf(&r.Peers[i], namespace, peer)
		miss.Peer, miss.Unsure = &r.Peers[i], admits == Undecided
		if i == 0 || miss.distance() < nearest.distance() {
			nearest = miss
		}
		outcome = max(outcome, admits)
	}
	nearest.Port = port == Denied
	return min(outcome, port), nearest
}

// portOf evaluates the ports of a rule: none admit all.
func portOf(ports []networkingv1.NetworkPolicyPort, c Connection) Outcome {
	if len(ports) == 0 {
		return Allowed
	}
	protocol, outcome := protocolOr(c.Protocol), Denied
	for _, p := range ports {
		switch {
		case p.Protocol != nil && protocolOr(*p.Protocol) != protocol || p.Protocol == nil && protocol != v1.ProtocolTCP:
		case p.Port == nil:
			return Allowed
		case p.Port.Type == intstr.String:
			outcome = max(outcome, namedPort(p.Port.StrVal, protocol, c))
		case c.Port == 0:
			outcome = max(outcome, Undecided)
		case c.Port == p.Port.IntVal, p.EndPort != nil && c.Port > p.Port.IntVal && c.Port <= *p.EndPort:
			return Allowed
		}
	}
	return outcome
}

func protocolOr(p v1.Protocol) v1.Protocol {
	if p == "" {
		return v1.ProtocolTCP
	}
	return p
}

// namedPort evaluates a port by its name, which the containers of the server give it.
func namedPort(name string, protocol v1.Protocol, c Connection) Outcome {
	if c.Server.Pod == nil {
		if c.Server.Unknown {
			return Undecided
		}
		return Denied
	}
	spec := &c.Server.Pod.Spec
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, p := range container.Ports {
			switch {
			case p.Name != name || protocolOr(p.Protocol) != protocol:
			case c.Port == 0:
				return Undecided
			case c.Port == p.ContainerPort:
				return Allowed
			}
		}
	}
	return Denied
}

// peerOf evaluates one peer of a rule.
func peerOf(p *networkingv1.NetworkPolicyPeer, namespace string, e End) (Outcome, Miss) {
	switch {
	case p.IPBlock != nil:
		return block(p.IPBlock, e), Miss{Address: true}
	case e.Unknown:
		return Undecided, Miss{}
	case e.Pod == nil:
		return Denied, Miss{Address: true}
	}
	outcome, miss := Allowed, Miss{}
	if p.PodSelector != nil {
		if miss.Labels = differences(p.PodSelector, e.Pod.Labels); len(miss.Labels) > 0 {
			outcome = Denied
		}
	}
	if p.NamespaceSelector == nil {
		if miss.OtherNamespace = e.Pod.Namespace != namespace; miss.OtherNamespace {
			outcome = Denied
		}
		return outcome, miss
	}
	of, known := e.NamespaceLabels, e.NamespaceLabels != nil
	if !known {
		of = map[string]string{v1.LabelMetadataName: e.Pod.Namespace}
	}
	for _, d := range differences(p.NamespaceSelector, of) {
		if miss.NamespaceLabels = append(miss.NamespaceLabels, d); known || d.Key == v1.LabelMetadataName {
			outcome = Denied
		}
	}
	if !known && outcome == Allowed && namesOther(p.NamespaceSelector) {
		outcome = Undecided
	}
	return outcome, miss
}

// namesOther reports whether a selector of namespaces is about another label than the one with their name.
func namesOther(s *metav1.LabelSelector) bool {
	for key := range s.MatchLabels {
		if key != v1.LabelMetadataName {
			return true
		}
	}
	return slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key != v1.LabelMetadataName })
}

// block evaluates an ipBlock.
func block(b *networkingv1.IPBlock, e End) Outcome {
	addresses := e.Addresses
	if e.Pod != nil {
		addresses = addressesOf(e.Pod)
	}
	if e.Unknown || len(addresses) == 0 {
		return Undecided
	}
	outcome := Denied
	for _, address := range addresses {
		outcome = max(outcome, inBlock(b, address))
	}
	for _, address := range e.Services {
		if outcome == Denied && inBlock(b, address) != Denied {
			outcome = Undecided
		}
	}
	return outcome
}

func inBlock(b *networkingv1.IPBlock, address string) Outcome {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return Undecided
	}
	within := func(cidr string) (bool, error) {
		network, err := netip.ParsePrefix(cidr)
		return err == nil && network.Contains(at.Unmap()), err
	}
	if in, err := within(b.CIDR); err != nil {
		return Undecided
	} else if !in {
		return Denied
	}
	for _, cidr := range b.Except {
		if in, err := within(cidr); err != nil {
			return Undecided
		} else if in {
			return Denied
		}
	}
	return Allowed
}

func addressesOf(pod *v1.Pod) (all []string) {
	if pod.Status.PodIP != "" {
		all = append(all, pod.Status.PodIP)
	}
	for _, ip := range pod.Status.PodIPs {
		if !slices.Contains(all, ip.IP) {
			all = append(all, ip.IP)
		}
	}
	return all
}

// differences are the requirements of a selector that labels do not meet.
func differences(s *metav1.LabelSelector, of map[string]string) (all []Difference) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return []Difference{{Wants: "a selector that cannot be read"}}
	}
	requirements, selectable := selector.Requirements()
	if !selectable {
		return []Difference{{Wants: "nothing"}}
	}
	for _, r := range requirements {
		if !r.Matches(labels.Set(of)) {
			has, ok := of[r.Key()]
			all = append(all, Difference{Key: r.Key(), Wants: r.String(), Has: has, Present: ok})
		}
	}
	return all
}
