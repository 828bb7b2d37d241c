// Package record writes down what a cluster says of a pod, and reduces it to
// what two clusters can be compared by.
//
// A [Recorder] keeps every version of every pod of a namespace that a watch
// brings. [Reduce] makes lines of a pod's versions and events: a key that says
// what the line is about, and a value. [Compare] puts two such lists beside each
// other.
//
// # What is compared
//
// kubelet looks at the runtime once a second and publishes what it finds; an
// event-driven agent publishes each change. So the two can't publish the same
// sequence, and neither can two runs of the same kubelet. What both must agree
// on is everything that does not depend on when somebody looked:
//
//   - The phases and each condition's values, in their order, each sequence by
//     itself. How the sequences interleave is not compared.
//   - A container's life by attempts (its restart count): whether it ran, the
//     values that ready and started took while it did (if it lasted for four
//     seconds on both sides, so that a poll must have seen it), and how it ended. An end
//     counts the same whether it was seen as state or, one attempt later, as
//     last state.
//   - What lasts: the last state of everything when the recording was stopped, a
//     little longer than a poll after the scenario's last milestone.
//   - That an event was said: its type, reason, message and field path. How often
//     and in which order is not compared, because the API folds equal events.
//
// Left out as transient, because a poll may or may not see it: a container that
// waits with ContainerCreating or PodInitializing before an attempt, unless it
// is the last thing seen; `ready` and `started` being false before they are
// true; a phase Running between Pending and the end of a pod whose containers
// ran (it is put in where it was not seen); a False between two True of Ready
// and ContainersReady that comes with a restart (the attempts tell it); and their True where
// the pod ended within four seconds on either side.
//
// Names, identities, addresses and durations are replaced by placeholders.
//
//	recorder.go  polls a pod; life.go, what it saw of it
//	reduce.go    leaves out what is transient; normal.go, placeholders
//	compare.go   what differs between two lives
package record
