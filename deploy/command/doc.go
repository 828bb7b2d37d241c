// Package command are the commands of kubectl why that put agents into a cluster, take
// them away, and say what they see there.
//
//	command.go    the commands, and how a cluster is reached
//	install.go    install: says what it will make, asks once, makes it
//	uninstall.go  uninstall: agents, what they kept on their nodes, and all else
//	rollout.go    waiting for a DaemonSet, and who is late
//	doctor.go     doctor: what agents see, by the kinds of nodes
//	sight.go      what one agent said of its node
package command
