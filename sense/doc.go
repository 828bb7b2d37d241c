// Package sense observes the pods of a machine and changes nothing: each source says
// as facts what it sees, knows the pods by a registry, and can run beside an agent
// that is not Whylet's.
//
//	source.go        Source: what all of them have in common
//	api.go           APIPods: the API server's pods of one node
//	spec_changes.go  which fields of a specification changed
//	configs.go       Configs: the ConfigMaps and Secrets that pods refer to
//	config_changes.go  which of their keys changed, and by whom
//	contact.go       Contact: times in which the API server answered nothing
//	namespaces.go    Namespaces: of which namespaces log lines may be kept
//	runtime.go       Runtime: containers that ended and sandboxes that are gone
//	kernel.go        Kernel: OOM kills and errors of GPUs, from the kernel's log
//	processes.go     Processes: the ends of processes, from the process connector
//	signals.go       who sent a signal that may end a process
//	exits.go         Exits: completes an exit with what the kernel said of it
//	inspector.go     Inspector: looks into containers in trouble; attention.go, how often
//	samples.go       what their cgroups count
//	reprobe.go       Reprobe: one more, patient request after a probe that timed out, or hellos in other protocols;
//	                 unfilter.go, a command without the grep at its end
//	audit.go         Audit: what the control plane tells of requests about pods
//	clock_steps.go   ClockSteps: when somebody sets the wall clock
//	alive.go         Alive: times in which this agent itself did not run
//
// What a runtime says is read by package sense/containers. A source that is told of
// recorded facts has a method Hear, which never blocks.
package sense
