package node

import (
	"fmt"
	"iter"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense"
)

// replay rebuilds the pods from what the journal kept of them, oldest fact
// first. Law 2 makes it sound: the same facts lead to the same state.
func (l *loop) replay(facts iter.Seq2[fact.Fact, error]) error {
	for f, err := range facts {
		if err != nil {
			return fmt.Errorf("recall the pods from the journal: %w", err)
		}
		if f.Pod.UID != "" {
			l.replayOne(f)
		}
	}
	for uid, p := range l.pods {
		if p.gone || p.Object == nil {
			delete(l.pods, uid)
			l.known.Forget(uid)
			continue
		}
		p.Status = health.Status(p.state)
		l.known.SetStatus(uid, p.Status)
	}
	return nil
}

func (l *loop) replayOne(f fact.Fact) {
	p := l.pods[f.Pod.UID]
	if p == nil {
		switch f.Body.(type) {
		case fact.SpecSeen, fact.Checkpoint:
			p = newPod(f.Pod, l.policy)
			l.pods[f.Pod.UID] = p
		default:
			return // the beginning of its history is no longer kept
		}
	}
	if c, ok := f.Body.(fact.Checkpoint); ok {
		if err := l.restore(p, c); err != nil {
			l.log.Error("checkpoint not readable; going on without it", "pod", p.Key.String(), "fact", f.ID, "error", err)
		}
		return
	}
	l.note(p, f)
	if !fact.IsDecided(f.Body) {
		p.state, _ = health.Step(p.state, f)
	}
}

// reconcile compares what the journal remembers with what the runtime has, and
// says the differences as facts: what ended, vanished or began unseen.
// lost is what became of sandboxes that are no longer there.
func (l *loop) reconcile(s cri.Snapshot, lost string, lastSaid sense.LastSaid) []fact.Fact {
	containers := map[string]cri.ContainerView{}
	for _, c := range s.Containers {
		containers[c.ID] = c
	}
	ready := map[string]bool{}
	for _, b := range s.Sandboxes {
		ready[b.ID] = b.Ready
	}
	var facts []fact.Fact
	for _, p := range l.pods {
		if p.Sandbox.ID != "" && !ready[p.Sandbox.ID] {
			facts = append(facts, fact.Fact{Pod: p.Key, Body: fact.SandboxLost{SandboxID: p.Sandbox.ID, Message: lost}})
		}
		facts = append(facts, missedExits(p.Pod, containers, lastSaid)...)
	}
	return append(facts, l.missedStarts(s)...)
}

// unanswered lists what was decided and never came back, of all pods.
func (l *loop) unanswered() map[fact.ID]bool {
	ids := map[fact.ID]bool{}
	for _, p := range l.pods {
		for _, d := range p.asked {
			ids[d.ID] = true
		}
	}
	return ids
}

// resume takes over the pods that an earlier agent ran, and asks again for what
// it decided, if that is still unanswered. Effects can be asked for twice.
func (l *loop) resume(before map[fact.ID]bool) {
	for _, p := range l.pods {
		for _, d := range p.asked {
			if before[d.ID] {
				l.world.act(p.Pod, d)
			}
		}
	}
	for _, p := range l.pods {
		l.world.publish(p.Key, p.Status)
		l.show(p)
	}
}

// missedExits lists what became of the pod's containers while nobody looked.
func missedExits(p pods.Pod, have map[string]cri.ContainerView, lastSaid sense.LastSaid) []fact.Fact {
	var facts []fact.Fact
	for name, c := range p.Containers {
		if !c.Running {
			continue
		}
		f := fact.Fact{Pod: p.Key, Container: name, Attempt: c.Attempt}
		v, ok := have[c.ID]
		switch {
		case !ok:
			f.Body = fact.Exited{ContainerID: c.ID, Vanished: true}
		case v.State == cri.Exited:
			f.At, f.Body = v.FinishedAt, sense.ExitedBody(v, lastSaid)
		default:
			continue
		}
		facts = append(facts, f)
	}
	return facts
}

// missedStarts lists containers of known pods that were started by an agent that died
// before it could say so.
func (l *loop) missedStarts(s cri.Snapshot) []fact.Fact {
	var facts []fact.Fact
	for _, v := range s.Containers {
		p := l.pods[v.Pod.UID]
		if p == nil {
			continue
		}
		known, ok := p.Containers[v.Name]
		newer := !ok || v.Attempt > known.Attempt || (v.ID == known.ID && !known.Running && v.State == cri.Running)
		if !newer || v.State == cri.Created {
			continue
		}
		facts = append(facts, adopted(v)...)
	}
	return facts
}

// adopted tells of a container that another agent started.
func adopted(v cri.ContainerView) []fact.Fact {
	envelope := func(body fact.Observed) fact.Fact {
		return fact.Fact{Pod: v.Pod, Container: v.Name, Attempt: v.Attempt, Body: body}
	}
	created := envelope(fact.Created{ContainerID: v.ID, Image: v.Image, ImageID: v.ImageID})
	created.At = v.CreatedAt
	body := sense.StartedBody(v, 0)
	body.Adopted = true
	started := envelope(body)
	started.At = v.StartedAt
	facts := []fact.Fact{created, started}
	if v.State == cri.Exited {
		exited := envelope(sense.ExitedBody(v, nil))
		exited.At = v.FinishedAt
		facts = append(facts, exited)
	}
	return facts
}

// adopt tells what is known of a pod although the journal knows nothing of it:
// the journal was lost, and the runtime's labels and the API server's status are
// all the memory there is. Admission comes last, so that nothing is decided before
// all of it is known.
func adopt(pod *v1.Pod, told v1.PodStatus, s cri.Snapshot) []fact.Fact {
	facts := []fact.Fact{sense.PodFact(pod, fact.AdoptedStatus{Status: told})}
	var box *cri.SandboxView
	for i := range s.Sandboxes {
		b := &s.Sandboxes[i]
		if b.Pod.UID == pod.UID && b.Ready && (box == nil || b.Attempt > box.Attempt) {
			box = b
		}
	}
	if box != nil {
		facts = append(facts, sense.PodFact(pod, fact.SetUpDone{
			SandboxID: box.ID, IPs: box.IPs, HostIPs: hostIPs(told), Attempt: box.Attempt,
		}))
		for _, v := range newest(s.Containers, pod.UID) {
			facts = append(facts, adopted(v)...)
		}
	}
	return append(facts, sense.PodFact(pod, fact.Admitted{HostIP: told.HostIP}))
}

func hostIPs(s v1.PodStatus) []string {
	var ips []string
	for _, h := range s.HostIPs {
		ips = append(ips, h.IP)
	}
	return ips
}

// newest is the last run of each of a pod's containers.
func newest(all []cri.ContainerView, uid types.UID) map[string]cri.ContainerView {
	last := map[string]cri.ContainerView{}
	for _, v := range all {
		if old, ok := last[v.Name]; v.Pod.UID == uid && v.State != cri.Created && (!ok || v.Attempt > old.Attempt) {
			last[v.Name] = v
		}
	}
	return last
}

// orphans lists the sandboxes of pods that nobody knows any more.
func orphans(known pods.Registry, s cri.Snapshot) []cri.SandboxView {
	var found []cri.SandboxView
	for _, b := range s.Sandboxes {
		if _, ok := known.Get(b.Pod.UID); !ok {
			found = append(found, b)
		}
	}
	return found
}
