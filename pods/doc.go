// Package pods is the registry of a node's pods: facts go in, answers to "whose is
// this" come out, by UID, name, container id, process and cgroup.
//
//	pod.go         Pod, Sandbox, Container: what is known of a pod beside its health
//	registry.go    Registry: what may be asked; Run: a container's run, with its pod
//	projection.go  Projection: makes a Registry of facts
//
// What a fact means for the health of a pod is not the registry's business, and it
// changes no fact. Sources and pages get a Registry, which cannot be written to;
// whoever records facts holds the Projection.
package pods
