package sense

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/evidence/cgroupfs"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/lanes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// Cgroups finds the cgroups of pods.
type Cgroups interface {
	// Path is the cgroup of a container, or with an empty id of a pod; false where
	// there is none.
	Path(pod types.UID, container string) (cgroupfs.Group, bool)
	// Processes lists the processes of a pod.
	Processes(pod types.UID) []int
}

// Inspector samples the containers' cgroups: rarely while they are calm, densely
// around trouble; and it looks into a container when a probe of it begins to
// fail.
type Inspector struct {
	manned
	Cgroups Cgroups
	// Join is told which processes a container has.
	Join func(id string, pids []int)
	// LastSaid reads the end of a container's log; nil: it is not kept. Logs is the
	// folder of the pods' logs.
	LastSaid LastSaid
	Logs     string

	looker evidence.Looker
	lanes  *lanes.Lanes[look]

	mu   sync.Mutex
	seen map[string]*attention // by container id
	// killed has the containers whose last run the kernel ended.
	killed map[runsKey]bool
}

// LastSaid reads the last lines of a log.
type LastSaid func(containers.ContainerView) fact.LogSaid

// look is what looks happen one after the other of: a container, or all that are calm.
type look struct{ container string }

// NewInspector makes one that has seen nothing yet.
func NewInspector(c Cgroups, join func(id string, pids []int), lastSaid LastSaid, logs string) *Inspector {
	return &Inspector{Cgroups: c, Join: join, LastSaid: lastSaid, Logs: logs, seen: map[string]*attention{}, killed: map[runsKey]bool{}}
}

// calmAfter is how long after a container became ready the calm look is taken:
// what it opens at its start is open by then.
const calmAfter = 10 * time.Second

// ready hears of a container that became ready, and looks into it once, a little
// later: what it listened on while all was well is what a later look is compared
// with, and a Service's target port with.
func (l *Inspector) ready(at *post, f fact.Fact) {
	p, ok := at.known.Get(f.Pod.UID)
	c := p.Containers[f.Container]
	if !ok || c.ID == "" || !l.firstReady(c.ID) {
		return
	}
	time.AfterFunc(calmAfter, func() {
		p, ok := at.known.Get(f.Pod.UID)
		now := p.Containers[f.Container]
		if !ok || now.ID != c.ID || !now.Running || now.PID == 0 || l.troubled(c.ID) {
			return
		}
		// One after the other: many pods may become ready at once.
		l.lanes.Do(look{}, func(ctx context.Context) {
			looked := l.inspect(ctx, p, now.PID)
			looked.Calm = true
			at.emit(fact.Fact{Pod: p.Key, Container: f.Container, Attempt: now.Attempt, Because: []fact.ID{f.ID}, Body: looked})
		})
	})
}

const (
	// settleAfter is how long after its start a container is looked into whose last run
	// the kernel ended: by then a start script has set its limits.
	settleAfter = 500 * time.Millisecond
	// initAfter is how long an init container may take until it is looked into.
	initAfter = 20 * time.Second
)

// Hear follows facts, and looks into containers that give reason to.
func (l *Inspector) Hear(f fact.Fact) {
	at := l.Load()
	if at == nil {
		return
	}
	switch b := f.Body.(type) {
	case fact.Exited, fact.ObjectGone, fact.Started:
		l.followed(at, f)
	case fact.Marked:
		if b.Ready {
			l.ready(at, f)
		}
	case fact.Probed:
		if b.Verdict == fact.Failure {
			l.failed(at, f, b.Probe)
		}
	}
}

// followed follows starts and ends, and looks into runs of which no probe asks. Where the
// kernel itself killed a run, and not for memory, the next one is looked into soon: a
// limit of CPU time may be over before anybody has another reason to. And an init
// container that takes long may wait for something.
func (l *Inspector) followed(at *post, f fact.Fact) {
	switch b := f.Body.(type) {
	case fact.Exited:
		l.endedBy(f, b.ByKernel && b.OOMKnown && b.OOMKills == 0)
	case fact.ObjectGone:
		l.mu.Lock()
		defer l.mu.Unlock()
		maps.DeleteFunc(l.killed, func(k runsKey, _ bool) bool { return k.pod == f.Pod.UID })
	case fact.Started:
		if l.wasKilled(f) {
			time.AfterFunc(settleAfter, func() { l.lookOnce(at, f) })
		}
		if p, ok := at.known.Get(f.Pod.UID); ok && isInit(p.Object, f.Container) {
			time.AfterFunc(initAfter, func() { l.lookOnce(at, f) })
		}
	}
}

// isInit says whether a container is an init container that is to end.
func isInit(pod *v1.Pod, name string) bool {
	return pod != nil && slices.ContainsFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == name && c.RestartPolicy == nil })
}

// endedBy keeps whether the kernel itself killed a run, and not for memory.
func (l *Inspector) endedBy(f fact.Fact, kernel bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if kernel {
		l.killed[runsKey{f.Pod.UID, f.Container}] = true
	} else {
		delete(l.killed, runsKey{f.Pod.UID, f.Container})
	}
}

func (l *Inspector) wasKilled(f fact.Fact) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.killed[runsKey{f.Pod.UID, f.Container}]
}

// runsKey names the runs of a container.
type runsKey struct {
	pod       types.UID
	container string
}

// lookOnce looks into a run that still goes on, and reads the end of its log.
func (l *Inspector) lookOnce(at *post, started fact.Fact) {
	p, ok := at.known.Get(started.Pod.UID)
	c := p.Containers[started.Container]
	if !ok || !c.Running || c.PID == 0 || c.Attempt != started.Attempt {
		return
	}
	l.lanes.Do(look{c.ID}, func(ctx context.Context) {
		looked := l.inspect(ctx, p, c.PID)
		l.hear(&looked, p, started.Container, c)
		at.emit(fact.Fact{Pod: p.Key, Container: started.Container, Attempt: c.Attempt, Because: []fact.ID{started.ID}, Body: looked})
	})
}

// hear adds the last lines of a running container's log to a look.
func (l *Inspector) hear(looked *fact.Looked, p pods.Pod, name string, c pods.Container) {
	if l.LastSaid == nil || p.Object == nil {
		return
	}
	said := l.LastSaid(containers.ContainerView{LogPath: containers.LogFile(l.Logs, p.Object, name, c.Attempt)})
	looked.Said, looked.SaidAt = said.Lines, said.At
}

// Look looks into the containers of a pod that somebody asks about, into each that was not
// looked into just before, and reads the ends of their logs. What was seen is told as
// facts; it returns how many there are to come.
func (l *Inspector) Look(ctx context.Context, pod types.UID) (seen int) {
	at := l.Load()
	if at == nil {
		return 0
	}
	p, _ := at.known.Get(pod)
	var all sync.WaitGroup
	for name, c := range p.Containers {
		if !c.Running || c.PID == 0 || !l.mayBeAsked(c.ID) {
			continue
		}
		seen++
		all.Go(func() {
			l.sampleAsked(at, p, name, c)
			looked := l.inspect(ctx, p, c.PID)
			l.sampleAsked(at, p, name, c)
			looked.Calm = true
			l.hear(&looked, p, name, c)
			at.emit(fact.Fact{Pod: p.Key, Container: name, Attempt: c.Attempt, Body: looked})
		})
	}
	all.Wait()
	return seen
}

// failed hears of a failed probe attempt and looks into the container: at once, when
// the attempt may be what the container is killed for.
func (l *Inspector) failed(at *post, f fact.Fact, probe fact.ProbeKind) {
	p, ok := at.known.Get(f.Pod.UID)
	c := p.Containers[f.Container]
	if !ok || !c.Running || c.PID == 0 || c.Attempt != f.Attempt || !l.mayLook(c.ID) {
		return
	}
	begin := func() {
		l.lanes.Do(look{c.ID}, func(ctx context.Context) {
			l.sample(at, p, f.Container, c)
			looked := l.inspect(ctx, p, c.PID)
			if looked.Age >= readAfter && l.mayRead(c.ID) {
				l.hear(&looked, p, f.Container, c)
			}
			at.emit(fact.Fact{Pod: p.Key, Container: f.Container, Attempt: c.Attempt, Because: []fact.ID{f.ID}, Body: looked})
		})
	}
	if in := amidst(p, f); in > 0 && l.mayLookAmidst(c.ID) {
		time.AfterFunc(in, func() {
			if p, ok := at.known.Get(f.Pod.UID); ok && p.Containers[f.Container].ID == c.ID && p.Containers[f.Container].Running {
				begin()
			}
		})
	}
	if probe == fact.Readiness {
		time.AfterFunc(lookLater, begin)
		return
	}
	begin()
}

// longAttempt is how long an attempt takes at least that was answered late.
const longAttempt = time.Second

// amidst is in how long the next attempt of a probe will have waited for long, where this one was
// answered late, and with a failure: whom the container asks itself meanwhile shows only then,
// as it lets go of them before it answers. 0: there is nothing to see.
func amidst(p pods.Pod, f fact.Fact) time.Duration {
	b, ok := f.Body.(fact.Probed)
	if !ok || b.Evidence == nil || b.Evidence.Timeout || b.Took < longAttempt {
		return 0
	}
	c, _ := p.Spec(f.Container)
	spec := fact.ProbeOf(c, b.Probe)
	if spec == nil {
		return 0
	}
	next := max(time.Duration(spec.PeriodSeconds)*time.Second-b.Took, 0)
	return next + b.Took*3/4
}

// inspect looks into a container.
func (l *Inspector) inspect(ctx context.Context, p pods.Pod, pid int) fact.Looked {
	return l.looker.Look(ctx, pid, l.among(p))
}

// among are the processes that matter for a look: the pod's own; nil, which is all of
// the machine's, for a pod that shares its network: somebody else may have its port.
func (l *Inspector) among(p pods.Pod) []int {
	if p.Object == nil || p.Object.Spec.HostNetwork {
		return nil
	}
	return l.Cgroups.Processes(p.Key.UID)
}
