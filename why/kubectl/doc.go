// Package kubectl writes the kubectl command lines that answers propose.
//
//	kubectl.go     commands about a pod, as fixes
//	objects.go     steps that create a ConfigMap, a Secret or a key of one
//	workload.go    what a pod comes from, as kubectl takes it
//	runnable.go    commands that can be run about what exists
//	finalizers.go  what keeps a pod's object when all is over, and what to do about it
package kubectl
