// Package shutdown ends the node's pods before their machine shuts down, as kubelet's graceful
// node shutdown does (pkg/kubelet/nodeshutdown of 1.37.2): by priority, each group within its
// time, with their preStop hooks.
//
//	periods.go  Period: how long the pods of a priority have; which pod is in which
//	manager.go  Manager: waits for a shutdown, ends the pods, and lets the machine go on
//	logind.go   Logind: what systemd-logind offers for that over D-Bus
//
// It relies on systemd-logind: a shutdown past it (systemctl --force, a power cut, a machine
// without systemd) ends the pods without warning. What becomes of a pod is not its business:
// package health decides.
package shutdown
