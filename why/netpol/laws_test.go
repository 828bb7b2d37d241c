package netpol

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

var (
	someLabels = rapid.MapOfN(rapid.SampledFrom([]string{"app", "tier"}), rapid.SampledFrom([]string{"a", "b"}), 0, 2)
	someSpace  = rapid.SampledFrom([]string{"one", "two"})
	someCIDR   = rapid.SampledFrom([]string{"10.0.0.0/8", "10.0.0.1/32", "10.0.0.2/31", "192.168.0.0/16"})
)

func someSelector(t *rapid.T, what string) *metav1.LabelSelector {
	if rapid.Bool().Draw(t, what+" is there") {
		return &metav1.LabelSelector{MatchLabels: someLabels.Draw(t, what)}
	}
	return nil
}

func somePeers(t *rapid.T) (all []networkingv1.NetworkPolicyPeer) {
	for range rapid.IntRange(0, 2).Draw(t, "peers") {
		p := networkingv1.NetworkPolicyPeer{PodSelector: someSelector(t, "pods"), NamespaceSelector: someSelector(t, "namespaces")}
		if p.PodSelector == nil && p.NamespaceSelector == nil {
			p.IPBlock = &networkingv1.IPBlock{CIDR: someCIDR.Draw(t, "cidr")}
		}
		all = append(all, p)
	}
	return all
}

func somePorts(t *rapid.T) (all []networkingv1.NetworkPolicyPort) {
	for range rapid.IntRange(0, 2).Draw(t, "ports") {
		p := networkingv1.NetworkPolicyPort{}
		if rapid.Bool().Draw(t, "UDP") {
			udp := v1.ProtocolUDP
			p.Protocol = &udp
		}
		if rapid.Bool().Draw(t, "a port") {
			port := intstr.FromInt32(rapid.Int32Range(1, 4).Draw(t, "port"))
			p.Port = &port
			if rapid.Bool().Draw(t, "a range") {
				end := port.IntVal + rapid.Int32Range(0, 2).Draw(t, "length")
				p.EndPort = &end
			}
		}
		all = append(all, p)
	}
	return all
}

func somePolicy(t *rapid.T) networkingv1.NetworkPolicy {
	p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: someSpace.Draw(t, "policy in")}}
	p.Spec.PodSelector = metav1.LabelSelector{MatchLabels: someLabels.Draw(t, "selects")}
	p.Spec.PolicyTypes = rapid.SampledFrom([][]networkingv1.PolicyType{nil, {"Ingress"}, {"Egress"}, {"Ingress", "Egress"}}).Draw(t, "types")
	for range rapid.IntRange(0, 2).Draw(t, "ingress") {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: somePeers(t), Ports: somePorts(t)})
	}
	for range rapid.IntRange(0, 2).Draw(t, "egress") {
		p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: somePeers(t), Ports: somePorts(t)})
	}
	return p
}

func someEnd(t *rapid.T, name, address string) End {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: someSpace.Draw(t, name+" in"), Labels: someLabels.Draw(t, name)}}
	p.Status.PodIP = address
	return End{Pod: p, NamespaceLabels: someLabels.Draw(t, name+"'s namespace")}
}

// naive says by the words of the API's reference whether a connection is admitted in a direction: traffic is allowed if no
// policy selects the pod, or if it matches at least one rule across all policies that do.
func naive(all []networkingv1.NetworkPolicy, c Connection, out bool) bool {
	own, peer := c.Server, c.Client
	if out {
		own, peer = peer, own
	}
	has := func(s *metav1.LabelSelector, labels map[string]string) bool {
		for key, value := range s.MatchLabels {
			if got, ok := labels[key]; !ok || got != value {
				return false
			}
		}
		return true
	}
	inBlock := map[string][]string{"10.0.0.0/8": {"10.0.0.1", "10.0.0.2"}, "10.0.0.1/32": {"10.0.0.1"}, "10.0.0.2/31": {"10.0.0.2"}}
	matches := func(p networkingv1.NetworkPolicyPeer, namespace string) bool {
		switch {
		case p.IPBlock != nil:
			for _, address := range inBlock[p.IPBlock.CIDR] {
				if address == peer.Pod.Status.PodIP {
					return true
				}
			}
			return false
		case p.NamespaceSelector == nil:
			return peer.Pod.Namespace == namespace && has(p.PodSelector, peer.Pod.Labels)
		case p.PodSelector == nil:
			return has(p.NamespaceSelector, peer.NamespaceLabels)
		}
		return has(p.NamespaceSelector, peer.NamespaceLabels) && has(p.PodSelector, peer.Pod.Labels)
	}
	rule := func(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, namespace string) bool {
		who, where := len(peers) == 0, len(ports) == 0
		for _, p := range peers {
			who = who || matches(p, namespace)
		}
		for _, p := range ports {
			protocol, from, to := v1.ProtocolTCP, int32(1), int32(65535)
			if p.Protocol != nil {
				protocol = *p.Protocol
			}
			if p.Port != nil {
				from, to = p.Port.IntVal, p.Port.IntVal
			}
			if p.EndPort != nil {
				to = *p.EndPort
			}
			where = where || protocol == c.Protocol && from <= c.Port && c.Port <= to
		}
		return who && where
	}
	isolated := false
	for _, p := range all {
		applies := false
		for _, one := range p.Spec.PolicyTypes {
			applies = applies || (one == networkingv1.PolicyTypeEgress) == out
		}
		if len(p.Spec.PolicyTypes) == 0 {
			applies = !out || len(p.Spec.Egress) > 0
		}
		if !applies || p.Namespace != own.Pod.Namespace || !has(&p.Spec.PodSelector, own.Pod.Labels) {
			continue
		}
		isolated = true
		for _, r := range p.Spec.Egress {
			if out && rule(r.To, r.Ports, p.Namespace) {
				return true
			}
		}
		for _, r := range p.Spec.Ingress {
			if !out && rule(r.From, r.Ports, p.Namespace) {
				return true
			}
		}
	}
	return !isolated
}

// Where all is known, a connection is admitted as the API's reference says, and a denial has its nearest rule. What is
// not known makes it undecided at most.
func TestAsTheReferenceSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []networkingv1.NetworkPolicy
		for range rapid.IntRange(0, 3).Draw(t, "policies") {
			all = append(all, somePolicy(t))
		}
		c := Connection{
			Client: someEnd(t, "client", "10.0.0.1"), Server: someEnd(t, "server", "10.0.0.2"),
			Port: rapid.Int32Range(1, 6).Draw(t, "port"), Protocol: rapid.SampledFrom([]v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}).Draw(t, "protocol"),
		}
		for _, out := range []bool{true, false} {
			evaluate := Ingress
			if out {
				evaluate = Egress
			}
			got := evaluate(all, c)
			if want := naive(all, c, out); (got.Outcome == Allowed) != want || got.Outcome == Undecided {
				t.Fatalf("out %v: %d, want allowed %v", out, got.Outcome, want)
			}
			if (got.Outcome == Denied) != (got.Nearest != nil) {
				t.Fatalf("%d, nearest %v", got.Outcome, got.Nearest)
			}
			less := c
			less.Client.NamespaceLabels, less.Server.NamespaceLabels, less.Port = nil, nil, 0
			if vague := evaluate(all, less); vague.Outcome != Undecided && vague.Outcome != got.Outcome {
				t.Fatalf("out %v: %d, and %d where less is known", out, got.Outcome, vague.Outcome)
			}
		}
	})
}
