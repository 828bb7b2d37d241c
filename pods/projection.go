package pods

import (
	"encoding/json"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Projection makes a Registry of facts. It is safe for concurrent use.
type Projection struct {
	mu   sync.RWMutex
	pods map[types.UID]Pod
	// ids and pids lead from a container's id (without a scheme) and from its main
	// process to its pod.
	ids  map[string]place
	pids map[int]place
}

type place struct {
	pod  types.UID
	name string
}

// New makes a Projection that knows nothing yet.
func New() *Projection {
	return &Projection{pods: map[types.UID]Pod{}, ids: map[string]place{}, pids: map[int]place{}}
}

// Take learns from a fact. A pod is met by its specification; what comes of others
// is of pods that are gone, and changes nothing.
func (p *Projection) Take(f fact.Fact) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, known := p.pods[f.Pod.UID]
	switch b := f.Body.(type) {
	case fact.SpecSeen:
		old.Key, old.Object, old.Source = f.Pod, b.Object, b.Source
		p.pods[f.Pod.UID] = old
		return
	case fact.ObjectGone:
		p.index(old, false)
		delete(p.pods, f.Pod.UID)
		return
	}
	if !known {
		return
	}
	now := old
	switch b := f.Body.(type) {
	case fact.SetUpDone:
		now.Sandbox = Sandbox{ID: b.SandboxID, Attempt: b.Attempt, IPs: b.IPs, HostIPs: b.HostIPs}
	case fact.TornDown:
		now.Sandbox = Sandbox{}
	default:
		c, changed := old.Containers[f.Container].after(f)
		if !changed {
			return
		}
		now.Containers = maps.Clone(old.Containers)
		if now.Containers == nil {
			now.Containers = map[string]Container{}
		}
		now.Containers[f.Container] = c
		p.index(old, false)
		p.index(now, true)
	}
	p.pods[f.Pod.UID] = now
}

// after is what is known of a container after a fact about it.
func (c Container) after(f fact.Fact) (now Container, changed bool) {
	switch b := f.Body.(type) {
	case fact.Created:
		return Container{ID: b.ContainerID, Attempt: f.Attempt, Previous: c.ID}, true
	case fact.Started:
		if c.ID != "" && f.Attempt < c.Attempt { // told late
			earlier := c.Previous == "" && f.Attempt == c.Attempt-1
			if earlier {
				c.Previous = b.ContainerID
			}
			return c, earlier
		}
		if c.ID != b.ContainerID {
			c = Container{ID: b.ContainerID, Previous: c.ID}
		}
		c.Attempt, c.PID, c.Running = f.Attempt, b.PID, true
		return c, true
	case fact.Kill:
		c.Kill, c.KilledFor = f.ID, b.Reason
		return c, true
	case fact.Exited:
		changed := c.ID == b.ContainerID
		c.Running = c.Running && !changed
		return c, changed
	}
	return c, false
}

// index makes a pod's containers be found, or no longer. The caller holds mu.
func (p *Projection) index(pod Pod, found bool) {
	for name, c := range pod.Containers {
		for _, id := range []string{c.ID, c.Previous} {
			if found {
				p.ids[BareID(id)] = place{pod.Key.UID, name}
			} else {
				delete(p.ids, BareID(id))
			}
		}
		if found {
			p.pids[c.PID] = place{pod.Key.UID, name}
		} else if p.pids[c.PID].pod == pod.Key.UID { // a number may be another's by now
			delete(p.pids, c.PID)
		}
	}
}

// SetStatus says which status a pod has. Of a pod that is not known it does nothing.
func (p *Projection) SetStatus(uid types.UID, status v1.PodStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pod, ok := p.pods[uid]; ok {
		pod.Status = status
		p.pods[uid] = pod
	}
}

// Restore takes a pod from what a checkpoint keeps of it, in place of all that was
// known.
func (p *Projection) Restore(key fact.Pod, checkpoint []byte) error {
	var pod Pod
	if err := json.Unmarshal(checkpoint, &pod); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pod.Key = key
	p.index(p.pods[key.UID], false)
	p.index(pod, true)
	p.pods[key.UID] = pod
	return nil
}

// Forget drops a pod.
func (p *Projection) Forget(uid types.UID) {
	p.Take(fact.Fact{Pod: fact.Pod{UID: uid}, Body: fact.ObjectGone{}})
}

// Get implements [Registry].
func (p *Projection) Get(uid types.UID) (Pod, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	pod, ok := p.pods[uid]
	return pod, ok
}

// Named implements [Registry].
func (p *Projection) Named(namespace, name string, at time.Time) (Pod, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var found Pod
	ok := false
	for _, pod := range p.pods {
		if pod.Key.Namespace != namespace || pod.Key.Name != name || pod.Object == nil {
			continue
		}
		made := pod.Object.CreationTimestamp.Time
		if (at.IsZero() || !made.After(at)) && (!ok || made.After(found.Object.CreationTimestamp.Time)) {
			found, ok = pod, true
		}
	}
	return found, ok
}

// All implements [Registry].
func (p *Projection) All() []Pod {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := make([]Pod, 0, len(p.pods))
	for _, pod := range p.pods {
		all = append(all, pod)
	}
	return all
}

// ByID implements [Registry].
func (p *Projection) ByID(id string) (Run, bool) {
	id = BareID(id)
	p.mu.RLock()
	defer p.mu.RUnlock()
	at, ok := p.ids[id]
	if !ok || id == "" {
		return Run{}, false
	}
	run := p.at(at)
	if BareID(run.ID) != id { // the one before it
		run.Newest, run.Container = false, Container{ID: run.Previous, Attempt: run.Attempt - 1}
	}
	return run, true
}

// ByPID implements [Registry].
func (p *Projection) ByPID(pid int) (Run, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	at, ok := p.pids[pid]
	if !ok || pid == 0 {
		return Run{}, false
	}
	return p.at(at), true
}

// ByCgroup implements [Registry].
func (p *Projection) ByCgroup(path string) (Run, bool) {
	return p.ByID(fact.ParseCgroup(path).Container)
}

func (p *Projection) at(at place) Run {
	pod := p.pods[at.pod]
	return Run{Pod: pod.Key, Name: at.name, Newest: true, Container: pod.Containers[at.name]}
}
