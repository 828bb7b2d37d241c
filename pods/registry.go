package pods

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Registry is what may be asked about the pods of a node, from any goroutine. An
// answer shows one moment; the next may be another.
type Registry interface {
	// Get finds a pod by its UID.
	Get(uid types.UID) (Pod, bool)
	// Named finds the newest pod of that name that was there at a time; the zero time
	// stands for now.
	Named(namespace, name string, at time.Time) (Pod, bool)
	// All are the pods that have business here, in no order.
	All() []Pod
	// ByID finds the newest run of a container, or the one before it, by the runtime's
	// id, with or without a scheme.
	ByID(id string) (Run, bool)
	// ByPID finds the newest run of a container by its main process on the host, also
	// when it has ended.
	ByPID(pid int) (Run, bool)
	// ByCgroup finds a run by the path of its cgroup or of one below it.
	ByCgroup(path string) (Run, bool)
}

// Run is one run of a container.
type Run struct {
	Pod  fact.Pod
	Name string
	// Newest is set of the container's last run.
	Newest bool
	Container
}

// Fact is what was observed of the run, with the envelope of a fact.
func (r Run) Fact(body fact.Observed) fact.Fact {
	return fact.Fact{Pod: r.Pod, Container: r.Name, Attempt: r.Attempt, Body: body}
}

// BareID is a container's id without the runtime's scheme.
func BareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}

// KeyOf is how facts name a pod.
func KeyOf(pod interface {
	GetNamespace() string
	GetName() string
	GetUID() types.UID
},
) fact.Pod {
	return fact.Pod{Namespace: pod.GetNamespace(), Name: pod.GetName(), UID: pod.GetUID()}
}
