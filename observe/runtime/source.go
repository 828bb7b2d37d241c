package runtime

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Source makes facts of what the runtime tells and shows.
type Source struct {
	Client *Client
	// Root is where the paths that the runtime names begin: /proc/PID/root of one that
	// lives in a mount namespace of its own; empty: here.
	Root string
	// Complete adds to an exit what the kernel told of it; it may wait for that. Nil:
	// nobody asked the kernel.
	Complete func(exit *fact.Exited, ended time.Time)
	// LastSaid reads the end of a container's log, and when each line was said. Nil: it is not
	// kept.
	LastSaid func(path string) fact.LogSaid
	// Told is called once what was there at the beginning was told. Nil: nobody waits.
	Told func()
	// ExecEnded hears of the end of each command that was run in a container beside its
	// main process. Nil: nobody wants to.
	ExecEnded func(containerID string, code int32, at time.Time)
	// Varies says whether a run of a container may be given other variables than the one
	// before it, so that it is worth asking which. Nil: none is.
	Varies func(pod types.UID, container string) bool
	Log    *slog.Logger

	emit  func(fact.Fact)
	mu    sync.Mutex
	known map[string]stage // how far each container was told of
	given variables
	lanes map[string]chan struct{}
	jobs  sync.WaitGroup
}

type stage int

const (
	started stage = iota + 1
	ended
)

const (
	relist      = 30 * time.Second // with events: a safety net
	poll        = time.Second      // without, as kubelet does
	retryEvents = 500 * time.Millisecond
	lateStatus  = 3 * time.Second // how long the status of an ended task may lag behind the event
	rarely      = 300 * time.Millisecond
)

// Run tells until ctx ends. It begins with what there is.
func (s *Source) Run(ctx context.Context, emit func(fact.Fact)) error {
	s.emit, s.known, s.lanes = emit, map[string]stage{}, map[string]chan struct{}{}
	defer s.jobs.Wait()
	wake := make(chan struct{}, 1)
	var hears sync.WaitGroup
	defer hears.Wait()
	every := poll
	if s.Client.Name == "containerd" {
		every = relist
		hears.Go(func() { s.follow(ctx, wake) })
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var lostFrom time.Time
	for {
		err := s.lookAtAll(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && lostFrom.IsZero():
			lostFrom = time.Now().UTC()
			s.Log.Warn("the container runtime does not answer", "error", err)
		case err == nil && !lostFrom.IsZero():
			emit(fact.Fact{Body: fact.Lost{Source: fact.SourceRuntime, Reason: "the container runtime did not answer", From: lostFrom, Until: time.Now().UTC()}})
			lostFrom = time.Time{}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-ticker.C:
		}
	}
}

// follow keeps the stream of events open. After each opening everything is looked at.
func (s *Source) follow(ctx context.Context, wake chan<- struct{}) {
	for ctx.Err() == nil {
		err := s.Client.hear(ctx, func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		}, func(t told) { s.heard(ctx, t) })
		if ctx.Err() == nil {
			s.Log.Info("containerd's events ended, and are asked for again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryEvents):
		}
	}
}

func (s *Source) heard(ctx context.Context, t told) {
	if t.exec != "" {
		if !t.started && s.ExecEnded != nil {
			s.ExecEnded(s.Client.FullID(t.container), int32(t.code), t.at.UTC())
		}
		return
	}
	v, err := s.Client.look(ctx, t.container, false)
	if err != nil || v.pod.UID == "" {
		return // a sandbox, or gone; a look will tell
	}
	if t.started {
		if v.started.IsZero() {
			v.started = t.at.UTC() // the process runs before the status says so
		}
		if s.varies(v) {
			if whole, err := s.Client.look(ctx, v.id, true); err == nil {
				v.environment = whole.environment
			}
		}
		v.pid = int(t.pid)
		s.lane(v, func() { s.tellStart(v) })
		return
	}
	s.lane(v, func() {
		v = s.until(ctx, v, view.exited)
		if ctx.Err() != nil {
			return
		}
		if !v.exited() { // removed before its status could be read
			v.exitCode, v.finished = int32(t.code), t.at.UTC()
		}
		s.tellEnd(v)
	})
}

func (s *Source) varies(v view) bool { return s.Varies != nil && s.Varies(v.pod.UID, v.name) }

// until looks at a container until its status says what an event said already, and
// gives what was seen last. It looks less and less often: on a busy machine each look
// takes a processor from what it waits for.
func (s *Source) until(ctx context.Context, v view, so func(view) bool) view {
	pause := 10 * time.Millisecond
	for deadline := time.Now().Add(lateStatus); !so(v) && time.Now().Before(deadline); pause = min(2*pause, rarely) {
		select {
		case <-ctx.Done():
			return v
		case <-time.After(pause):
		}
		now, err := s.Client.look(ctx, v.id, false)
		switch {
		case err == nil && now.pod.UID != "":
			v = now
		case notFound(err):
			return v
		}
	}
	return v
}

// lookAtAll tells what nobody told: at the start, after a gap, and without events.
func (s *Source) lookAtAll(ctx context.Context) error {
	all, err := s.Client.list(ctx)
	if err != nil {
		return err
	}
	// The runs of a container in their order: the newest is the one that is.
	for _, v := range slices.SortedFunc(maps.Values(all), func(a, b view) int { return cmp.Compare(a.attempt, b.attempt) }) {
		id := v.id
		if s.stage(id) == ended || s.stage(id) == started && !v.exited() || !v.exited() && !v.running() {
			continue
		}
		full, err := s.Client.look(ctx, id, v.running() || s.varies(v))
		switch {
		case notFound(err):
		case err != nil:
			return err
		default:
			s.tell(full)
		}
	}
	s.forget(all)
	s.first(ctx)
	return nil
}

// first has it known that all was told that was there at the beginning.
func (s *Source) first(ctx context.Context) {
	if s.Told == nil {
		return
	}
	s.mu.Lock()
	lanes := slices.Collect(maps.Values(s.lanes))
	s.mu.Unlock()
	for _, lane := range lanes {
		select {
		case <-lane:
		case <-ctx.Done():
		}
	}
	s.Told()
	s.Told = nil
}

// forget drops what the runtime has no more, some time after the last word of it.
func (s *Source) forget(all map[string]view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, stage := range s.known {
		if _, there := all[id]; !there && stage == ended {
			delete(s.known, id)
		}
	}
	s.given.keep(all)
}

func (s *Source) stage(id string) stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[id]
}

// advance says whether a container had not been told of so far yet, and notes that it is.
func (s *Source) advance(id string, to stage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[id] >= to {
		return false
	}
	s.known[id] = to
	return true
}

// tell tells of a container's start, and of its end where it is over.
func (s *Source) tell(v view) {
	if v.pod.UID == "" {
		return
	}
	s.lane(v, func() {
		if !v.started.IsZero() {
			s.tellStart(v)
		}
		if v.exited() {
			s.tellEnd(v)
		}
	})
}

// tellStart tells that a container was started. It runs in the container's lane.
func (s *Source) tellStart(v view) {
	if !s.advance(v.id, started) {
		return
	}
	b := fact.Started{ContainerID: s.Client.FullID(v.id), Image: v.image, ImageID: v.imageID}
	if !v.exited() {
		b.PID = hostPID(v.id, v.pid)
	}
	b.OtherVariables, b.Compared = s.given.compare(v)
	s.emit(s.fact(v, v.started, b))
}

func (s *Source) fact(v view, at time.Time, body fact.Observed) fact.Fact {
	return fact.Fact{At: at, Pod: v.pod, Container: v.name, Attempt: v.attempt, Body: body}
}

// tellEnd tells how a container ended. It runs in the container's lane.
func (s *Source) tellEnd(v view) {
	if !s.advance(v.id, ended) {
		return
	}
	if v.reason == "StartError" || v.reason == "ContainerCannotRun" {
		s.emit(s.fact(v, v.finished, fact.StartFailed{
			Reason: "RunContainerError", Message: v.message, ContainerID: s.Client.FullID(v.id), Exited: true, ExitCode: v.exitCode,
		}))
		return
	}
	b := fact.Exited{ContainerID: s.Client.FullID(v.id), StartedAt: v.started}
	// containerd makes up this end for what ended while it did not run itself
	// (internal/cri/server, cleanupUnknownContainer).
	if v.exitCode == 255 && v.reason == "Unknown" {
		b.Vanished = true
	} else {
		b.ExitCode, b.RuntimeReason, b.Message = v.exitCode, v.reason, message(s.path(v.messageFile))
		if b.Message == "" {
			b.Message = v.message
		}
		if s.Complete != nil {
			s.Complete(&b, v.finished)
		}
	}
	if s.LastSaid != nil && v.logPath != "" {
		b.Hear(s.LastSaid(s.path(v.logPath)), v.finished)
	}
	s.emit(s.fact(v, v.finished, b))
}

func (s *Source) path(p string) string {
	if p == "" {
		return ""
	}
	return s.Root + p
}

// lane runs a job after those of the same container of the same pod that came before.
func (s *Source) lane(v view, job func()) {
	key := keyOf(v)
	done := make(chan struct{})
	s.mu.Lock()
	before := s.lanes[key]
	s.lanes[key] = done
	s.mu.Unlock()
	s.jobs.Go(func() {
		if before != nil {
			<-before
		}
		job()
		close(done)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.lanes[key] == done {
			delete(s.lanes, key)
		}
	})
}
