package containers

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// EventKind says what an [Event] is about.
type EventKind string

// Kinds of events.
const (
	// ContainerChanged: it was created, runs, exited, or the runtime lost track of it.
	ContainerChanged EventKind = "ContainerChanged"
	// ContainerGone: the runtime has it no more; Container is the last view of it.
	ContainerGone EventKind = "ContainerGone"
	// SandboxChanged: it is ready, or ready no more.
	SandboxChanged EventKind = "SandboxChanged"
	// SandboxGone: the runtime has it no more; Sandbox is the last view of it.
	SandboxGone EventKind = "SandboxGone"
	// Lost: the runtime does not answer any more. Nothing is known from here on.
	Lost EventKind = "Lost"
	// Synced: everything there is has been looked at, for the first time or again
	// after Lost. What changed meanwhile was told before.
	Synced EventKind = "Synced"
)

// Event is a change that the runtime told, or that a look found.
type Event struct {
	Kind EventKind
	// At is when the runtime told it, or when it was found. The views have the times
	// at which things happened.
	At        time.Time
	Container *ContainerView
	Sandbox   *SandboxView
	// Looked is set when it was not told but found by looking.
	Looked bool
	// Err is why the runtime was Lost. With Synced it says why there was a gap, and
	// From when it began; both are empty the first time.
	Err  error
	From time.Time
}

// WatchOptions are for tests and unusual runtimes; zero values mean the defaults.
type WatchOptions struct {
	// Relist is how often everything is looked at even if the runtime tells all
	// (1 min). It is a safety net: two calls when nothing changed.
	Relist time.Duration
	// Poll is the same for a runtime without event stream (1 s, as kubelet).
	Poll time.Duration
	// Settle is how soon after connecting it is looked again, because a runtime may
	// take up the stream later than we do (1 s).
	Settle time.Duration
}

func (o WatchOptions) withDefaults() WatchOptions {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Relist, time.Minute)
	def(&o.Poll, time.Second)
	def(&o.Settle, time.Second)
	return o
}

// Watch tells every change since the given snapshot (nil: of everything there
// is), each once and in the order of each container's life, until ctx ends and
// the channel is closed. What it has to tell is kept until it is received, so a
// slow receiver delays nobody: a runtime whose events are not read would stall.
//
// The views of exited containers hold their termination message.
func (c *Client) Watch(ctx context.Context, since *Snapshot, o WatchOptions) <-chan Event {
	w := &watcher{
		client: c, options: o.withDefaults(), known: newKnown(since),
		heard: make(chan heard), looks: make(chan look, 1), out: make(chan Event),
	}
	go w.listen(ctx)
	go w.run(ctx)
	return w.out
}

// watcher has one goroutine that owns its state (run), one that reads the
// runtime's stream (listen), and at most one that looks.
type watcher struct {
	client  *Client
	options WatchOptions
	known   *known

	heard chan heard
	looks chan look
	out   chan Event

	queue []Event // told, not yet received
	// held are events that came before the first look after connecting: until then
	// nobody can say which of them are old news.
	held    []*runtimeapi.ContainerEventResponse
	synced  bool
	looking bool
	again   bool // something asked for a look while one was under way
	polling bool
	settle  bool  // the stream is new, so look again soon
	gap     Event // the Lost event that Synced will answer
}

// heard is what listen passes on: exactly one of its fields is set.
type heard struct {
	event     *runtimeapi.ContainerEventResponse
	connected bool
	lost      error
}

type look struct {
	snapshot Snapshot
	err      error
}

// retryLook is how soon a look that failed is made again.
const retryLook = 200 * time.Millisecond

func (w *watcher) run(ctx context.Context) {
	defer close(w.out)
	timer := time.NewTimer(0) // the first look does not wait for the stream
	defer timer.Stop()
	for {
		var out chan Event
		var next Event
		if len(w.queue) > 0 {
			out, next = w.out, w.queue[0]
		}
		select {
		case <-ctx.Done():
			return
		case out <- next:
			w.queue = w.queue[1:]
		case h := <-w.heard:
			w.hear(ctx, h, timer)
		case l := <-w.looks:
			w.lookDone(ctx, l, timer)
		case <-timer.C:
			w.startLook(ctx)
		}
	}
}

func (w *watcher) hear(ctx context.Context, h heard, timer *time.Timer) {
	switch {
	case h.connected:
		w.polling, w.settle = false, true
		w.startLook(ctx)
	case h.lost != nil && grpcstatus.Code(h.lost) == codes.Unimplemented:
		w.polling = true
		timer.Reset(0)
	case h.lost != nil:
		w.lose(h.lost)
	case w.synced:
		w.queue = append(w.queue, w.known.event(w.client, h.event, time.Now())...)
	default:
		w.held = append(w.held, h.event)
	}
}

// lose tells once that the runtime is away.
func (w *watcher) lose(err error) {
	w.synced = false
	if w.gap.Err != nil {
		return
	}
	w.gap = Event{Kind: Lost, At: time.Now(), Err: err}
	w.queue = append(w.queue, w.gap)
}

func (w *watcher) startLook(ctx context.Context) {
	if w.looking {
		w.again = true
		return
	}
	w.looking = true
	filter := w.known.clone()
	go func() {
		s, err := w.client.look(ctx, filter)
		w.looks <- look{snapshot: s, err: err}
	}()
}

func (w *watcher) lookDone(ctx context.Context, l look, timer *time.Timer) {
	w.looking = false
	if l.err != nil {
		if ctx.Err() == nil {
			w.lose(l.err)
		}
		timer.Reset(retryLook)
		return
	}
	w.queue = append(w.queue, w.known.looked(w.client, l.snapshot, time.Now())...)
	if w.again {
		w.again = false
		w.startLook(ctx)
		return
	}
	if !w.synced {
		w.sync()
	}
	timer.Reset(w.untilNextLook())
}

func (w *watcher) untilNextLook() time.Duration {
	switch {
	case w.polling:
		return w.options.Poll
	case w.settle:
		w.settle = false
		return w.options.Settle
	}
	return w.options.Relist
}

// sync works off what was heard during the look, and says that all is known.
func (w *watcher) sync() {
	w.synced = true
	now := time.Now()
	for _, e := range w.held {
		w.queue = append(w.queue, w.known.event(w.client, e, now)...)
	}
	w.held = nil
	w.queue = append(w.queue, Event{Kind: Synced, At: now, Looked: true, Err: w.gap.Err, From: w.gap.At})
	w.gap = Event{}
}

// listen keeps the runtime's stream open and passes on what it says.
func (w *watcher) listen(ctx context.Context) {
	const shortest, longest = 50 * time.Millisecond, 2 * time.Second
	pause := shortest
	for ctx.Err() == nil {
		began := time.Now()
		err := w.stream(ctx)
		w.pass(ctx, heard{lost: err})
		if time.Since(began) > longest {
			pause = shortest
		}
		if grpcstatus.Code(err) == codes.Unimplemented {
			pause = time.Minute // it may be replaced by a runtime that can
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longest)
	}
}

// stream reads one stream to its end and gives the reason why it ended.
func (w *watcher) stream(ctx context.Context) error {
	events := make(chan *runtimeapi.ContainerEventResponse)
	done := make(chan error, 1)
	connected := make(chan struct{}, 1)
	go func() {
		done <- w.client.runtime.GetContainerEvents(Quiet(ctx), events,
			func(runtimeapi.RuntimeService_GetContainerEventsClient) { connected <- struct{}{} })
	}()
	for {
		select {
		case <-connected:
			w.pass(ctx, heard{connected: true})
		case e := <-events:
			w.pass(ctx, heard{event: e})
		case err := <-done:
			return err
		}
	}
}

func (w *watcher) pass(ctx context.Context, h heard) {
	select {
	case w.heard <- h:
	case <-ctx.Done():
	}
}
