package sense

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// killedByKernel says whether the kernel itself sent the process a SIGKILL lately.
func (p *Processes) killedByKernel(pid int) bool {
	if p.signals == nil || pid == 0 {
		return false
	}
	p.signals.Drain()
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.byKernel[pid].IsZero()
}

func (p *Processes) lostSignals(count int64) {
	now := time.Now().UTC()
	p.lose(fact.Fact{At: now, Body: fact.Lost{Source: fact.SourceSignals, Reason: "signals were sent faster than they were read", Until: now, Count: count}})
}

// signalled hears of each signal of the machine that may end a process.
func (p *Processes) signalled(s evidence.Signal) {
	at := evidence.WallOf(s.At)
	if s.FromKernel() {
		p.noteKernel(s, at)
		return // what it killed for is told by its log
	}
	receiver, main := p.owner(s.PID)
	if receiver == "" {
		return
	}
	own := threadOf(s.Sender, os.Getpid())
	sender := p.from(s.Sender)
	go p.tellSignal(s, at, receiver, main, sender, own)
}

// from says where a sender is, or was: it may have ended meanwhile, as kill does.
func (p *Processes) from(pid int) from {
	if id, ok := p.ownerNow(pid); ok {
		return from{container: id}
	}
	if id := evidence.ContainerOf(pid); id != "" {
		return from{container: id, stray: p.connector != nil && p.table.Stray(id, pid)}
	}
	ended, nested := evidence.Whereabouts(pid)
	return from{alive: !ended, nested: ended && nested}
}

// ownerNow gives the container of a process that is alive or ended lately, by all that the
// kernel has told of forks by now.
func (p *Processes) ownerNow(pid int) (container string, ok bool) {
	if p.connector == nil {
		return "", false
	}
	p.connector.Drain()
	return p.table.Owner(pid)
}

func (p *Processes) noteKernel(s evidence.Signal, at time.Time) {
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
func (p *Processes) owner(pid int) (container string, main bool) {
	if p.connector != nil {
		p.connector.Drain() // it may have been forked a moment ago
		if container, _, main, ok := p.table.Of(pid); ok {
			return container, main
		}
	}
	if id := evidence.ContainerOf(pid); id != "" {
		return id, false
	}
	// It is gone, and of its fork a busy machine's kernel lost the word: main processes
	// are known from the runtime, too.
	if post := p.Load(); post != nil {
		if run, ok := post.known.ByPID(pid); ok {
			return pods.BareID(run.ID), true
		}
	}
	return "", false
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
func (p *Processes) tellSignal(s evidence.Signal, at time.Time, receiver string, main bool, sender from, own bool) {
	post := p.Load()
	if post == nil {
		return
	}
	run, ok := post.known.ByID(receiver)
	main = main || s.PID == run.PID
	// A main process may end of it, and its end be known, before this is told.
	if !ok || own || !run.Running && !main {
		return
	}
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
		if by, ok := post.known.ByID(sender.container); ok {
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
	post.emit(f)
}
