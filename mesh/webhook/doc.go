// Package webhook is the mesh's control plane: the admission webhook that puts
// pods into the mesh, and the authority that gives them their identities.
//
// Files:
//
//	admit.go    one admission review: a pod in, a patch out
//	patch.go    the patch, which changes what the mesh has to and nothing else
//	register.go the MutatingWebhookConfiguration
//	authority.go the mesh's CA in a Secret, made and rotated
//	members.go  who is in the mesh, from the pods and services of the cluster
//	serve.go    all of it together
//
// A pod that is not understood is admitted as it is, with a warning that says
// why: the mesh must never keep a pod from running.
package webhook
