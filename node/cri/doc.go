// Package cri is everything that speaks the container runtime interface (CRI)
// about pods and changes something: it turns a pod into what a runtime understands,
// and makes the calls. What the runtime says is read by package sense/containers,
// whose words read.go names.
//
// The package decides nothing about health and keeps no state beyond what is
// needed to tell changes from repetitions. It has three layers.
//
// Pure builders. The same input gives the same output, nothing is read:
//
//	sandbox.go    SandboxConfig: a pod's sandbox, ports, sysctls, namespaces
//	hostname.go   a pod's hostname and domain
//	container.go  ContainerConfig: a container's image, command, mounts, user
//	security.go   users, capabilities, seccomp, AppArmor, runAsNonRoot
//	resources.go  shares, quota, limits, OOM score, huge pages, swap
//	env.go        Environment: env, envFrom, service variables
//	labels.go     the labels and annotations that kubelet writes
//	namespaces.go the namespaces of sandbox and container; paths.go, log folders
//	env_sources.go, env_fields.go, env_services.go  where a variable's value comes from
//	signal.go     what a container asks to be ended with
//	mountstatus.go  a container's mounts as its status shows them
//	gc.go         FindGarbage: which dead containers and sandboxes nobody wants
//
// Looks at the host, which the builders are given the result of: machine.go,
// dns.go, users.go (user namespaces).
//
// Calls. Each makes as few round trips as it can, because the time between a
// crash and the next start is made of them:
//
//	client.go     Dial, version, readiness of the runtime
//	runner.go     run, stop, remove, status, resources
//	exec.go       commands in containers
//	failure.go    errors with Kubernetes' reasons
//	hooks.go      lifecycle hooks
//
// What runs by itself:
//
//	rotate.go     container log rotation
//	gc.go         Collect: removes the garbage, and log folders of pods that are gone
//
// The rules are those of kubelet v1.37 (pkg/kubelet/kuberuntime and
// pkg/kubelet/kubelet_pods.go). A test runs kubelet's own runtime manager beside
// the builders and compares what both send to the runtime.
package cri
