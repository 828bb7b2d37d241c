// Package object keeps the node's Node object and its lease.
//
// [Reporter] creates the object, or takes over one of the same name, and from
// then on writes what differs: at once when [Own.Changed] is called or
// somebody else changed the object, and every five minutes in any case. That the
// node lives is said by the lease, every ten seconds.
//
// What to say comes in as functions ([Config]); [Config.State] carries what the
// loop knows. What the object should then look like is a pure function
// (status.go, conditions.go, resources.go), so the tests compare whole objects.
//
// The rules are kubelet's (pkg/kubelet/kubelet_node_status.go and
// pkg/kubelet/nodestatus/setters.go of v1.37.2): reasons, messages and events of
// conditions, what counts as a change, which labels are kept right on a node
// that was there before. The setters themselves come with cadvisor's types, so
// they are expressed anew; the lease controller and the status patch are borrowed
// from k8s.io/component-helpers. Where kubelet looks every ten seconds through an
// informer of all that it owns, here one watch of one object wakes the reporter.
//
// Files:
//
//	object.go      Config, State, and what runs
//	own.go         the object as last seen, for others
//	register.go    creating the object or taking it over
//	patch.go       writing what differs
//	lease.go       the heartbeat
//	status.go      what the status should be
//	conditions.go  the conditions, and the events of their changes
//	resources.go   capacity and allocatable
//	machine.go     what the machine says of itself
//	version.go     which kubelet we answer as
package object
