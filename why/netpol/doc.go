// Package netpol evaluates NetworkPolicies (networking.k8s.io/v1) for one connection: whether the policies
// that select either end admit it, and which rule comes nearest to admitting it.
//
// A result is [Undecided] where something that decides is not known: the labels of a namespace, the address of
// a host, how a network plugin treats the host's network. So neither a denial nor an admission is a guess.
// Whether the cluster's network plugin enforces policies, the API does not show.
//
//	netpol.go  connections and their evaluation
//	peer.go    whether a rule admits a port and a peer
//	miss.go    the rule that comes nearest, and what differs
package netpol
