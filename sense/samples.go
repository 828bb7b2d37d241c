package sense

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"whylet.dev/whylet/evidence/cgroupfs"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/lanes"
	"whylet.dev/whylet/pods"
)

const (
	// sampleEvery is how often a cgroup is read; a read costs some 100 µs. Where nothing
	// has moved for steadyAfter it is read every steadyEvery.
	sampleEvery = 10 * time.Second
	steadyEvery = 30 * time.Second
	steadyAfter = 2 * time.Minute
	// denseEvery is the same around trouble, which lasts for troubleLasts.
	denseEvery   = time.Second
	troubleLasts = 30 * time.Second
	// calmEvery is how often a calm container's sample becomes a fact.
	calmEvery = 10 * time.Minute
)

// Run implements [Source].
func (l *Inspector) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	l.lanes = lanes.New[look](ctx)
	defer l.lanes.Wait()
	defer l.man(ctx, known, emit)()
	at := l.Load()
	tick := time.NewTicker(denseEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if n%int(sampleEvery/denseEvery) == 0 {
				l.meet(at.known.All())
			}
			l.sampleDue(at)
		}
	}
}

// meet learns which containers run; what is new is due at once.
func (l *Inspector) meet(all []pods.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	live := map[string]bool{}
	for _, p := range all {
		for _, c := range p.Containers {
			if c.Running {
				live[c.ID] = true
				l.attention(c.ID)
			}
		}
	}
	maps.DeleteFunc(l.seen, func(id string, _ *attention) bool { return !live[id] })
}

// sampleDue reads the cgroups of those containers whose turn it is, or that are in trouble.
func (l *Inspector) sampleDue(at *post) {
	for _, id := range l.due(time.Now()) {
		run, ok := at.known.ByID(id)
		if p, known := at.known.Get(run.Pod.UID); ok && known && run.Running {
			l.sample(at, p, run.Name, run.Container)
		}
	}
}

func (l *Inspector) due(now time.Time) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, a := range l.seen {
		if !now.Before(a.next) || now.Sub(a.trouble) < troubleLasts {
			a.next = now.Add(sampleEvery)
			ids = append(ids, id)
		}
	}
	return ids
}

// processesOf lists the processes of a cgroup itself; nothing where that cannot be
// read.
func processesOf(g cgroupfs.Group) []int {
	dir := g.Memory
	if g.V2 {
		dir = g.Unified
	}
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for line := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (l *Inspector) troubled(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.seen[id]
	return a != nil && time.Since(a.trouble) < troubleLasts
}

// sample reads a container's cgroup, and tells what is worth it.
func (l *Inspector) sample(at *post, p pods.Pod, name string, c pods.Container) {
	if read, ok := l.read(p, c); ok && l.worthTelling(c.ID, read) {
		at.emit(fact.Fact{Pod: p.Key, Container: name, Attempt: c.Attempt, Body: read.Sampled})
	}
}

// sampleAsked tells it in any case: somebody wants to know how busy it is.
func (l *Inspector) sampleAsked(at *post, p pods.Pod, name string, c pods.Container) {
	if read, ok := l.read(p, c); ok {
		l.worthTelling(c.ID, read)
		at.emit(fact.Fact{Pod: p.Key, Container: name, Attempt: c.Attempt, Body: read.Sampled})
	}
}

// read is a container's cgroup as it is; ok is false where it ended meanwhile.
func (l *Inspector) read(p pods.Pod, c pods.Container) (s cgroupfs.Sample, ok bool) {
	group, ok := l.Cgroups.Path(p.Key.UID, c.ID)
	if !ok {
		return s, false
	}
	s, err := group.Read()
	if err != nil {
		return s, false
	}
	l.Join(c.ID, processesOf(group))
	return s, true
}

// worthTelling decides whether a sample becomes a fact: around trouble each does,
// else one now and then, and those that are trouble themselves.
func (l *Inspector) worthTelling(id string, s cgroupfs.Sample) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.attention(id)
	now := time.Now()
	a.settle(s.Sampled, now)
	if !a.toldAt.IsZero() && isTrouble(a.last, s.Sampled) {
		a.trouble = now
	}
	if now.Sub(a.trouble) >= troubleLasts && now.Sub(a.toldAt) < calmEvery {
		return false
	}
	a.last, a.toldAt = s.Sampled, now
	return true
}

// settle lets a container be read less often that has long been steady.
func (a *attention) settle(s fact.Sampled, now time.Time) {
	if a.moved.IsZero() || moves(a.read, s) {
		a.moved = now
	}
	a.read = s
	if a.next = now.Add(sampleEvery); now.Sub(a.moved) >= steadyAfter {
		a.next = now.Add(steadyEvery)
	}
}

// moves says whether a container is on its way to what limits it, or was there since the
// sample before.
func moves(old, now fact.Sampled) bool {
	return now.OOMKills > old.OOMKills || now.ThrottledPeriods > old.ThrottledPeriods || now.HighEvents > old.HighEvents ||
		now.MemoryLimit > 0 && (now.WorkingSet > now.MemoryLimit/4*3 || now.WorkingSet > old.WorkingSet+now.MemoryLimit/16) ||
		now.PIDLimit > 0 && now.PIDs > now.PIDLimit/4*3
}

// isTrouble compares a sample with the last that was told: OOM kills, memory
// close to its limit beyond the page cache, throttling in more than a fifth of
// the periods, or by memory.high for a second and more, the pids limit reached.
func isTrouble(old, now fact.Sampled) bool {
	periods, throttled := now.Periods-old.Periods, now.ThrottledPeriods-old.ThrottledPeriods
	return now.OOMKills > old.OOMKills ||
		(now.MemoryLimit > 0 && now.WorkingSet > now.MemoryLimit/10*9) ||
		(periods > 0 && throttled*5 > periods) ||
		(now.HighEvents > old.HighEvents && now.MemorySome-old.MemorySome >= time.Second) ||
		(now.PIDLimit > 0 && now.PIDs >= now.PIDLimit)
}
