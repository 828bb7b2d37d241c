package netpol

import networkingv1 "k8s.io/api/networking/v1"

// Miss is what keeps a rule of a policy from admitting a connection.
type Miss struct {
	Policy *networkingv1.NetworkPolicy
	// Rule is the index of the rule among those of its direction; -1 if the policies have none.
	Rule int
	// Peer is the peer of the rule that comes nearest; nil if the rule admits all.
	Peer *networkingv1.NetworkPolicyPeer
	// Port is set if the rule does not admit the port.
	Port bool
	// Labels and NamespaceLabels are those of the other end, and of its namespace, that differ.
	Labels, NamespaceLabels []Difference
	// OtherNamespace is set if the peer is about pods of the policy's own namespace, and the other end is not there.
	OtherNamespace bool
	// Address is set if the peer is about addresses, and the other end has none of them, or is no pod.
	Address bool
	// Unsure is set if it is not known whether the peer admits the other end.
	Unsure bool
}

// Difference is a label that a selector requires otherwise.
type Difference struct {
	Key string
	// Wants is the requirement, such as tier=backend.
	Wants string
	// Has is the value, and Present whether there is one.
	Has     string
	Present bool
}

// PeerAdmits reports whether the peers of the rule admit the connection, so that only the port keeps it away.
func (m *Miss) PeerAdmits() bool {
	return m.Rule >= 0 && !m.Unsure && !m.Address && !m.OtherNamespace && len(m.Labels)+len(m.NamespaceLabels) == 0
}

// distance says how far a rule is from admitting the connection.
func (m *Miss) distance() int {
	d := len(m.Labels) + len(m.NamespaceLabels)
	if m.Port {
		d += 2
	}
	if m.OtherNamespace {
		d += 2
	}
	if m.Address {
		d += 5
	}
	return d
}

// nearer returns the one of two that comes nearer, the first of equals.
func nearer(a, b *Miss) *Miss {
	if a == nil || b.distance() < a.distance() {
		return b
	}
	return a
}
