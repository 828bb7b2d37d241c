// Package kubectl writes the kubectl command lines that answers propose.
//
//	kubectl.go   commands about a pod, as fixes
//	workload.go  what a pod comes from, as kubectl takes it
package kubectl
