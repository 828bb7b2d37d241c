package netpol

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// End is one end of a connection: a pod, or a host outside of the cluster.
type End struct {
	// Pod is nil for a host.
	Pod *v1.Pod
	// NamespaceLabels are the labels of the pod's namespace; nil if they are not known.
	NamespaceLabels map[string]string
	// Addresses are those of a host; empty if they are not known. Those of a pod are in its status.
	Addresses []string
	// Services are cluster addresses by which the end was asked for. Some plugins compare these with ipBlock.
	Services []string
	// Unknown is set if the end may be any pod or host.
	Unknown bool
}

// Connection is one that a client opens. Port is that of the server itself, behind any Service; 0 if it is not
// known. Protocol is TCP if empty.
type Connection struct {
	Client, Server End
	Port           int32
	Protocol       v1.Protocol
}

// Outcome is the result of an evaluation, ordered by how much is admitted.
type Outcome int

// The outcomes.
const (
	Denied Outcome = iota
	Undecided
	Allowed
)

// Result is the evaluation of one direction.
type Result struct {
	Outcome   Outcome
	Direction networkingv1.PolicyType
	// Policies are those that isolate the pod in that direction, in the order given.
	Policies []*networkingv1.NetworkPolicy
	// Nearest is what keeps the rule that comes nearest from admitting the connection; nil unless Outcome is Denied.
	Nearest *Miss
}

// Egress evaluates whether the client may open a connection: all are the policies of the client's namespace.
func Egress(all []networkingv1.NetworkPolicy, c Connection) Result {
	return evaluate(all, c, networkingv1.PolicyTypeEgress)
}

// Ingress evaluates whether the server may be reached: all are the policies of the server's namespace.
func Ingress(all []networkingv1.NetworkPolicy, c Connection) Result {
	return evaluate(all, c, networkingv1.PolicyTypeIngress)
}

// Ends returns the end that the policies select, and the other.
func (r Result) Ends(c Connection) (own, peer End) {
	if r.Direction == networkingv1.PolicyTypeIngress {
		return c.Server, c.Client
	}
	return c.Client, c.Server
}

func evaluate(all []networkingv1.NetworkPolicy, c Connection, direction networkingv1.PolicyType) Result {
	r := Result{Outcome: Allowed, Direction: direction}
	own, peer := r.Ends(c)
	if own.Pod == nil || peer.Pod != nil && peer.Pod.Namespace == own.Pod.Namespace && peer.Pod.Name == own.Pod.Name {
		return r // a pod always reaches itself
	}
	for i := range all {
		p := &all[i]
		if p.Namespace == own.Pod.Namespace && slices.Contains(typesOf(p), direction) && selects(&p.Spec.PodSelector, own.Pod.Labels) {
			r.Policies = append(r.Policies, p)
		}
	}
	if len(r.Policies) == 0 {
		return r
	}
	r.Outcome = Denied
	for _, p := range r.Policies {
		for i, rule := range RulesOf(p, direction) {
			admits, miss := rule.admits(p.Namespace, c, peer)
			r.Outcome = max(r.Outcome, admits)
			miss.Policy, miss.Rule = p, i
			r.Nearest = nearer(r.Nearest, &miss)
		}
	}
	if r.Outcome == Denied && (onHost(own) || onHost(peer)) {
		r.Outcome = Undecided // how plugins treat the host's network differs
	}
	switch {
	case r.Outcome != Denied:
		r.Nearest = nil
	case r.Nearest == nil:
		r.Nearest = &Miss{Policy: r.Policies[0], Rule: -1}
	}
	return r
}

func onHost(e End) bool { return e.Pod != nil && e.Pod.Spec.HostNetwork }

// typesOf returns the directions in which a policy isolates pods: if it names none, ingress, and egress if it has
// rules for that.
func typesOf(p *networkingv1.NetworkPolicy) []networkingv1.PolicyType {
	switch {
	case len(p.Spec.PolicyTypes) > 0:
		return p.Spec.PolicyTypes
	case len(p.Spec.Egress) > 0:
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	}
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
}

// Rule is one of either direction.
type Rule struct {
	Ports []networkingv1.NetworkPolicyPort
	Peers []networkingv1.NetworkPolicyPeer
}

// RulesOf returns the rules of a policy for a direction.
func RulesOf(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) (all []Rule) {
	if direction == networkingv1.PolicyTypeEgress {
		for _, r := range p.Spec.Egress {
			all = append(all, Rule{r.Ports, r.To})
		}
		return all
	}
	for _, r := range p.Spec.Ingress {
		all = append(all, Rule{r.Ports, r.From})
	}
	return all
}

// selects reports whether a selector matches labels. One that the API server would refuse matches none.
func selects(s *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}
