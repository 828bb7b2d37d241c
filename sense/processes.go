package sense

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// Processes follows what the kernel tells of processes and signals, where it can
// be had: raw wait statuses complete exits, and what happens to a child or comes
// from outside is a fact. Both sources are optional; without them answers are less
// certain.
type Processes struct {
	manned
	log *slog.Logger

	table     *evidence.Processes
	connector *evidence.Connector // nil where there is none
	signals   *evidence.Signals   // nil where there is none

	mu sync.Mutex
	// told bounds what is told of each container.
	told map[string]*telling
	// byKernel are the processes that the kernel itself sent a SIGKILL lately.
	byKernel map[int]time.Time
}

// telling is what was told of a container in the current minute.
type telling struct {
	minute time.Time
	count  int
	alike  map[string]int64
}

const (
	// tellAMinute bounds the ends and the signals that are told of one container.
	tellAMinute = 10
	// worthTellingAfter is how long a child must have lived for an end without an
	// error to be told: a worker or a server, and no command of a script.
	worthTellingAfter = 30 * time.Second
	// childKillDelay is how long the end of a killed child waits for that of its
	// container: with the main process the kernel kills all others.
	childKillDelay = 2 * time.Second
)

// OpenProcesses opens both sources, as far as they can be had. Close ends them.
func OpenProcesses(log *slog.Logger) *Processes {
	p := &Processes{log: log, told: map[string]*telling{}, byKernel: map[int]time.Time{}}
	p.table = evidence.NewProcesses(p.ended)
	var err error
	if p.connector, err = evidence.OpenConnector(p.table.Take, p.overrun); err != nil {
		log.Info("how processes end is seen by the runtime only", "error", err)
	}
	if p.signals, err = evidence.OpenSignals(p.signalled, p.lostSignals); err != nil {
		log.Info("who sends signals is not seen", "error", err)
	}
	return p
}

// Sources names those that are there.
func (p *Processes) Sources() []fact.Source {
	var names []fact.Source
	if p.connector != nil {
		names = append(names, fact.SourceConnector)
	}
	if p.signals != nil {
		names = append(names, fact.SourceSignals)
	}
	return names
}

// Close ends both sources, after Run has returned.
func (p *Processes) Close() {
	if p.connector != nil {
		if err := p.connector.Close(); err != nil {
			p.log.Warn("closing the process connector", "error", err)
		}
	}
	if p.signals != nil {
		if err := p.signals.Close(); err != nil {
			p.log.Warn("removing the tracing of signals", "error", err)
		}
	}
}

// Run implements [Source]. One of the two that fails is said once.
func (p *Processes) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	defer p.man(ctx, known, emit)()
	for _, pod := range known.All() {
		for _, c := range pod.Containers {
			if c.Running {
				p.adopt(c.ID, c.PID, time.Time{})
			}
		}
	}
	var wg sync.WaitGroup
	follow := func(source fact.Source, run func(context.Context) error) {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				p.log.Warn("a source of the kernel failed", "source", source, "error", err)
				emit(fact.Fact{Body: fact.Lost{Source: source, Reason: err.Error(), From: time.Now().UTC()}})
			}
		})
	}
	if p.connector != nil {
		follow(fact.SourceConnector, p.connector.Run)
	}
	if p.signals != nil {
		follow(fact.SourceSignals, p.signals.Run)
	}
	wg.Wait()
	return nil
}

// Hear learns of containers that start.
func (p *Processes) Hear(f fact.Fact) {
	if b, ok := f.Body.(fact.Started); ok {
		p.adopt(b.ContainerID, b.PID, f.At)
	}
}

// adopt learns of a container that runs.
func (p *Processes) adopt(id string, pid int, began time.Time) {
	if p.connector != nil && pid != 0 {
		p.table.Adopt(pods.BareID(id), pid, began)
	}
}

// Join learns which processes are in a container.
func (p *Processes) Join(id string, pids []int) {
	if p.connector != nil {
		p.table.Join(pods.BareID(id), pids)
	}
}

func (p *Processes) overrun() {
	p.table.Overrun()
	now := time.Now().UTC()
	p.lose(fact.Fact{At: now, Body: fact.Lost{Source: fact.SourceConnector, Reason: "processes came and went faster than they were read", Until: now}})
}

// lose tells of a gap, and not from here: who takes facts may be waiting for what this
// goroutine reads.
func (p *Processes) lose(f fact.Fact) {
	if at := p.Load(); at != nil {
		go at.emit(f)
	}
}

// ended hears of each process of a container that ended.
func (p *Processes) ended(e evidence.EndedProcess) {
	worth := e.Signal != 0 || e.ExitCode != 0 || e.Lived > worthTellingAfter
	if e.Main || !worth || p.enough(e) {
		return
	}
	if e.Signal == sigkill {
		time.AfterFunc(childKillDelay, func() { p.tellEnd(e) })
		return
	}
	go p.tellEnd(e)
}

const sigkill = 9

// enough says whether all that may be told of a container in this minute was told,
// and counts an end that is not. It is quick: a container may end thousands of
// processes a second.
func (p *Processes) enough(e evidence.EndedProcess) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.told[e.Container]
	if t == nil || t.count < tellAMinute || time.Since(t.minute) >= time.Minute {
		return false
	}
	t.miss(alikeKey(e))
	return true
}

func alikeKey(e evidence.EndedProcess) string { return fmt.Sprint(e.Command, e.Status) }

// miss counts what is not told.
func (t *telling) miss(what string) {
	if _, known := t.alike[what]; known || len(t.alike) < tellAMinute {
		t.alike[what]++
	}
}

// tellEnd tells of a child's end, unless its container ended with it or is being
// ended by the node. The kernel ends no others by a fault when the main process has ended: that
// child was the first, and the parent that waited for it was woken before the kernel told.
func (p *Processes) tellEnd(e evidence.EndedProcess) {
	at := p.Load()
	if at == nil {
		return
	}
	run, ok := at.known.ByID(e.Container)
	if !ok || run.Kill != 0 || !run.Running && !slices.Contains(fact.Faults, e.Signal) {
		return
	}
	alike, ok := p.mayTell(e.Container, alikeKey(e))
	if !ok {
		return
	}
	e.Alike = alike
	f := run.Fact(e.ProcessEnded)
	f.At = e.At
	at.emit(f)
}

// mayTell counts what is told of a container; alike are those that were not.
func (p *Processes) mayTell(container, what string) (alike int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for id, t := range p.told {
		if id != container && now.Sub(t.minute) > time.Hour {
			delete(p.told, id)
		}
	}
	t := p.told[container]
	if t == nil {
		t = &telling{alike: map[string]int64{}}
		p.told[container] = t
	}
	if now.Sub(t.minute) >= time.Minute {
		t.minute, t.count = now, 0
	}
	if t.count >= tellAMinute {
		t.miss(what)
		return 0, false
	}
	t.count++
	alike = t.alike[what]
	delete(t.alike, what)
	return alike, true
}
