package node

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// processes follows what the kernel tells of processes and signals, where it can
// be had: raw wait statuses complete exits, and what happens to a child or comes
// from outside is a fact. Both sources are optional; without them answers are less
// certain.
type processes struct {
	known  pods.Registry
	submit func(fact.Fact)
	log    *slog.Logger

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
	// maimed is how long the end of a killed child waits for that of its container:
	// with the main process the kernel kills all others.
	maimed = 2 * time.Second
	// lateStatus is how long an exit waits for the kernel's word of it, which comes
	// a moment after the parent's.
	lateStatus = time.Second
)

func newProcesses(known pods.Registry, submit func(fact.Fact), log *slog.Logger) *processes {
	p := &processes{known: known, submit: submit, log: log, told: map[string]*telling{}, byKernel: map[int]time.Time{}}
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

// sources names those that are there.
func (p *processes) sources() []string {
	var names []string
	if p.connector != nil {
		names = append(names, "connector")
	}
	if p.signals != nil {
		names = append(names, "signals")
	}
	return names
}

func (p *processes) close() {
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

// run reads both sources until ctx ends. One that fails is said once.
func (p *processes) run(ctx context.Context) {
	var wg sync.WaitGroup
	follow := func(source string, run func(context.Context) error) {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				p.log.Warn("a source of the kernel failed", "source", source, "error", err)
				p.submit(fact.Fact{Body: fact.Lost{Source: source, Reason: err.Error(), From: time.Now().UTC()}})
			}
		})
	}
	if p.connector != nil {
		follow("connector", p.connector.Run)
	}
	if p.signals != nil {
		follow("signals", p.signals.Run)
	}
	wg.Wait()
}

// adopt learns of a container that runs.
func (p *processes) adopt(id string, pid int, began time.Time) {
	if p.connector != nil && pid != 0 {
		p.table.Adopt(pods.BareID(id), pid, began)
	}
}

// join learns which processes are in a container.
func (p *processes) join(id string, pids []int) {
	if p.connector != nil {
		p.table.Join(pods.BareID(id), pids)
	}
}

// complete adds to an exit what the kernel said of the main process. It waits for
// that word if it is sure to come.
func (p *processes) complete(e *fact.Exited) {
	if p.connector == nil || e.Vanished {
		return
	}
	id := pods.BareID(e.ContainerID)
	for deadline := time.Now().Add(lateStatus); ; time.Sleep(2 * time.Millisecond) {
		p.connector.Drain()
		status, ended, pending := p.table.MainEnd(id)
		// A code that the runtime made up is left as it is, and unexplained.
		if ended && status.ExitCode() == e.ExitCode {
			e.StatusKnown, e.Signal = true, status.Signal()
		}
		if ended || !pending || time.Now().After(deadline) {
			return
		}
	}
}

// killedByKernel says whether the kernel itself sent the process a SIGKILL lately.
func (p *processes) killedByKernel(pid int) bool {
	if p.signals == nil || pid == 0 {
		return false
	}
	p.signals.Drain()
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.byKernel[pid].IsZero()
}

func (p *processes) overrun() {
	p.table.Overrun()
	now := time.Now().UTC()
	// Not from here: the loop may be waiting for what this goroutine reads.
	go p.submit(fact.Fact{At: now, Body: fact.Lost{Source: "connector", Reason: "processes came and went faster than they were read", Until: now}})
}

func (p *processes) lostSignals(count int64) {
	now := time.Now().UTC()
	go p.submit(fact.Fact{At: now, Body: fact.Lost{Source: "signals", Reason: "signals were sent faster than they were read", Until: now, Count: count}})
}

// ended hears of each process of a container that ended.
func (p *processes) ended(e evidence.EndedProcess) {
	worth := e.Signal != 0 || e.ExitCode != 0 || e.Lived > worthTellingAfter
	if e.Main || !worth || p.enough(e) {
		return
	}
	if e.Signal == sigkill {
		time.AfterFunc(maimed, func() { p.tellEnd(e) })
		return
	}
	go p.tellEnd(e)
}

const sigkill = 9

// enough says whether all that may be told of a container in this minute was told,
// and counts an end that is not. It is quick: a container may end thousands of
// processes a second.
func (p *processes) enough(e evidence.EndedProcess) bool {
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
// ended by the node.
func (p *processes) tellEnd(e evidence.EndedProcess) {
	run, ok := p.known.ByID(e.Container)
	if !ok || !run.Running || run.Kill != 0 {
		return
	}
	alike, ok := p.mayTell(e.Container, alikeKey(e))
	if !ok {
		return
	}
	e.Alike = alike
	f := run.Fact(e.ProcessEnded)
	f.At = e.At
	p.submit(f)
}

// mayTell counts what is told of a container; alike are those that were not.
func (p *processes) mayTell(container, what string) (alike int64, ok bool) {
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

// signalled hears of each signal of the machine that may end a process.
func (p *processes) signalled(s evidence.Signal) {
	at := time.Now().UTC()
	receiver, main := p.owner(s.PID)
	if receiver == "" {
		return
	}
	if s.FromKernel() {
		p.noteKernel(s, at)
		return // what it killed for is told by its log
	}
	own := threadOf(s.Sender, os.Getpid())
	sender := p.from(s.Sender)
	go func() { p.tellSignal(s, at, receiver, main, sender, own) }()
}

// from says where a sender is, or was: it may have ended meanwhile, as kill does.
func (p *processes) from(pid int) from {
	if p.connector != nil {
		p.connector.Drain() // it may have been forked a moment ago
		if id, ok := p.table.Owner(pid); ok {
			return from{container: id}
		}
	}
	if id := evidence.ContainerOf(pid); id != "" {
		return from{container: id, stray: p.connector != nil && p.table.Stray(id, pid)}
	}
	ended, nested := evidence.Whereabouts(pid)
	return from{alive: !ended, nested: ended && nested}
}

func (p *processes) noteKernel(s evidence.Signal, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pid, since := range p.byKernel {
		if at.Sub(since) > time.Minute {
			delete(p.byKernel, pid)
		}
	}
	if s.Number == sigkill {
		p.byKernel[s.PID] = at
	}
}

// owner finds the container of a process, by what forks told or by its cgroup.
func (p *processes) owner(pid int) (container string, main bool) {
	if p.connector != nil {
		if container, _, main, ok := p.table.Of(pid); ok {
			return container, main
		}
	}
	return evidence.ContainerOf(pid), false
}

// threadOf says whether a thread is one of a process.
func threadOf(tid, pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", pid, tid))
	return err == nil
}

// from is the container of a sender, empty where it is in none or that is not known,
// and whether the sender is none that the container's main process brought forth.
type from struct {
	container string
	stray     bool
	// alive: it was still there to be looked at. nested: it was not, and had been in
	// a pid namespace of its own, which is the receiver's: it could not see it else.
	alive, nested bool
}

// runtimeCommands are by what container runtimes send signals.
var runtimeCommands = []string{"runc", "crun", "youki", "containerd-shim", "containerd", "conmon", "crio"}

// tellSignal tells of a signal that the node did not order. What a container does
// to its own children is its own affair.
func (p *processes) tellSignal(s evidence.Signal, at time.Time, receiver string, main bool, sender from, own bool) {
	run, ok := p.known.ByID(receiver)
	if !ok || own || !run.Running {
		return
	}
	main = main || s.PID == run.PID
	runtime := slices.ContainsFunc(runtimeCommands, func(name string) bool { return strings.HasPrefix(s.SenderCommand, name) })
	if (runtime && run.Kill != 0) || (sender.container == receiver && !sender.stray && !main) {
		return
	}
	if _, ok := p.mayTell(receiver, ""); !ok {
		return
	}
	body := fact.Signalled{
		Signal: s.Number, PID: s.PID, Command: s.Command, Main: main, SenderPID: s.Sender, SenderCommand: s.SenderCommand,
	}
	switch {
	case sender.container != "":
		body.Origin, body.SenderStray = fact.FromContainer, sender.stray
		if by, ok := p.known.ByID(sender.container); ok {
			body.SenderPod, body.SenderContainer = &by.Pod, by.Name
		}
	case runtime:
		body.Origin = fact.FromNode
	case sender.nested:
		body.Origin, body.SenderPod = fact.FromContainer, &run.Pod
	case sender.alive:
		body.Origin = fact.FromHost
	}
	f := run.Fact(body)
	f.At = at
	p.submit(f)
}
