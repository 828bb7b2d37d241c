package observe

import (
	"reflect"

	"whylet.dev/whylet/fact"
)

// toldBefore says whether a fact repeats what is known: several sources tell of the
// same start and end, and a new watch begins with everything.
func (l *loop) toldBefore(f fact.Fact) bool {
	known, there := l.pods.Get(f.Pod.UID)
	switch b := f.Body.(type) {
	case fact.SpecSeen:
		return there && known.Object != nil && b.Object != nil && b.Object.ResourceVersion != "" &&
			reflect.DeepEqual(known.Object.Spec, b.Object.Spec) && reflect.DeepEqual(known.Object.Labels, b.Object.Labels) && reflect.DeepEqual(known.Object.Annotations, b.Object.Annotations)
	case fact.StatusSeen:
		was := l.shadows[f.Pod.UID].Status
		return was != nil && reflect.DeepEqual(*was, b.Status)
	case fact.DeletionSeen:
		s := l.shadows[f.Pod.UID]
		return s.For == fact.KillDeletion && s.Grace == b.GraceSeconds && !b.Gone
	case fact.ImageFailed:
		of := containerOf{f.Pod.UID, f.Container}
		before := l.images[of]
		l.images[of] = b.Message
		return before == b.Message
	case fact.Admitted:
		return l.told(f, "admitted")
	case fact.SetUpDone:
		return there && reflect.DeepEqual(known.Sandbox.IPs, b.IPs)
	case fact.Started:
		delete(l.images, containerOf{f.Pod.UID, f.Container})
		r, ok := l.runs.known(f.Pod.UID, f.Container, b.ContainerID)
		if !ok || r.start.IsZero() {
			return false
		}
		c := known.Containers[f.Container]
		return r.over || b.PID == 0 || c.PID != 0
	case fact.Exited:
		r, ok := l.runs.known(f.Pod.UID, f.Container, b.ContainerID)
		return ok && r.over
	case fact.StartFailed:
		return b.Exited && l.told(f, "failed/"+b.ContainerID)
	case fact.ObjectGone:
		return !there
	}
	return false
}

// told says whether something that happens once was told of a pod before, and notes
// that it is.
func (l *loop) told(f fact.Fact, what string) bool {
	of := l.once[f.Pod.UID]
	if of == nil {
		of = map[string]bool{}
		l.once[f.Pod.UID] = of
	}
	before := of[what]
	of[what] = true
	return before
}
