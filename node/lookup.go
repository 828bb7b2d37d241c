package node

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
)

// What others may ask of the loop, from any goroutine.

// view copies a pod.
func (l *loop) view(uid types.UID) (view, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p := l.pods[uid]
	if p == nil {
		return view{}, false
	}
	return p.view(), true
}

// container finds the newest run of a container.
func (l *loop) container(pod fact.Pod, name string) (container, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p := l.pods[pod.UID]
	if p == nil {
		return container{}, false
	}
	c, ok := p.Containers[name]
	return c, ok
}

// whose finds the container of a runtime's id (without scheme) that is the newest
// run of one, and makes the envelope of a fact about it.
func (l *loop) whose(id string) (fact.Fact, container, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, p := range l.pods {
		for name, c := range p.Containers {
			if bareID(c.ID) == id {
				return fact.Fact{Pod: p.key, Container: name, Attempt: c.Attempt}, c, true
			}
		}
	}
	return fact.Fact{}, container{}, false
}

// count is how many pods there are.
func (l *loop) count() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.pods)
}

// killedFor is why the node asked for the end that an exit tells of; empty when
// it did not ask.
func (l *loop) killedFor(f fact.Fact) fact.KillReason {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p := l.pods[f.Pod.UID]
	if p == nil || len(f.Because) == 0 {
		return ""
	}
	c := p.Containers[f.Container]
	if c.Kill != f.Because[0] {
		return ""
	}
	return c.KilledFor
}

// named finds the newest pod of that name that was there at a time.
func (l *loop) named(namespace, name string, at time.Time) (fact.Pod, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var found fact.Pod
	var newest time.Time
	for _, p := range l.pods {
		if p.key.Namespace != namespace || p.key.Name != name || p.Object == nil {
			continue
		}
		if made := p.Object.CreationTimestamp.Time; !made.After(at) && (found.UID == "" || made.After(newest)) {
			found, newest = p.key, made
		}
	}
	return found, found.UID != ""
}

// insider is a process in the pod's network namespace, 0 when there is none of
// its own.
func (l *loop) insider(uid types.UID) int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p := l.pods[uid]
	if p == nil || p.Object == nil || p.Object.Spec.HostNetwork {
		return 0
	}
	for _, c := range p.Containers {
		if c.Running && c.PID != 0 {
			return c.PID
		}
	}
	return 0
}

// others are the pods that hold resources of the node beside the given one.
func (l *loop) others(uid types.UID) []*v1.Pod {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.holders(uid)
}

// holders is others for who holds the lock. A resize that found no room counts with
// what it wants: several that are tried at once must not be given the same room.
func (l *loop) holders(but types.UID) []*v1.Pod {
	var pods []*v1.Pod
	for uid, p := range l.pods {
		if uid != but && p.Object != nil && p.status.Phase != v1.PodSucceeded && p.status.Phase != v1.PodFailed {
			pods = append(pods, p.Object)
		}
	}
	return pods
}

// missingFrom lists the API server's pods of which has says that it does not
// know them any more.
func (l *loop) missingFrom(has func(fact.Pod) bool) []fact.Pod {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var missing []fact.Pod
	for _, p := range l.pods {
		if p.Source == "api" && !has(p.key) {
			missing = append(missing, p.key)
		}
	}
	return missing
}

// views copies all pods.
func (l *loop) views() []view {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]view, 0, len(l.pods))
	for _, p := range l.pods {
		all = append(all, p.view())
	}
	return all
}

// knows says whether a pod has business here.
func (l *loop) knows(uid types.UID) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.pods[uid] != nil
}

func (l *loop) live() sets.Set[types.UID] {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return sets.KeySet(l.pods)
}

// running lists the containers that run, with where their logs are.
func (l *loop) running(logsDir string) []cri.ContainerView {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var all []cri.ContainerView
	for _, p := range l.pods {
		for name, c := range p.Containers {
			if c.Running && p.Object != nil {
				all = append(all, cri.ContainerView{
					ID: c.ID, Pod: p.key, Name: name, Attempt: c.Attempt, State: cri.Running,
					LogPath: cri.LogFile(logsDir, p.Object, name, c.Attempt),
				})
			}
		}
	}
	return all
}
