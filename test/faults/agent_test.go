package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/test/fronts"
)

// agentTold has this program be an agent: where the fronts are, and its memory.
const agentTold = "WHYLET_FAULTS_AGENT"

type agentPlace struct {
	fronts.Apart
	Memory string
}

// told is what an agent is to see of a pod: that it lived through what was recorded, or that
// it is gone.
type told struct {
	Pod   fact.Pod
	Lived string `json:",omitempty"`
}

// agentMain is an agent that puts into its memory what it is told, says so, and ends with
// whoever started it.
func agentMain(where string) int {
	var at agentPlace
	err := json.Unmarshal([]byte(where), &at)
	var j *journal.Journal
	if err == nil {
		j, err = journal.Open(at.Memory, journal.Options{Log: slog.New(slog.DiscardHandler)})
	}
	if err == nil {
		go func() { _ = at.Run(context.Background(), j) }()
		err = obey(j)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func obey(j *journal.Journal) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var t told
		err := in.Decode(&t)
		if err == nil {
			err = t.see(j)
		}
		if err == nil {
			err = out.Encode(t)
		}
		if err != nil {
			return err
		}
	}
}

// see does nothing the second time: who was killed before it said so is told again.
func (t told) see(j *journal.Journal) error {
	q := journal.Query{UID: t.Pod.UID}
	if t.Lived == "" {
		q.Kinds = []fact.Kind{fact.ObjectGone{}.Kind()}
	}
	for _, err := range j.Query(q) {
		return err
	}
	if t.Lived == "" {
		return gone(j, t.Pod)
	}
	return fronts.Record(j, t.Pod, t.Lived)
}

// gone has a node see that a pod is.
func gone(j *journal.Journal, pod fact.Pod) error {
	now := time.Now().UTC()
	first := j.Next(2)
	return j.Append(fact.Fact{ID: first, Pod: pod, At: now, Seen: now, Body: fact.DeletionSeen{Gone: true}},
		fact.Fact{ID: first + 1, Pod: pod, At: now, Seen: now, Body: fact.ObjectGone{}})
}

// node is one whose agent is a process of its own.
type node struct {
	name, memory string
	pods         []*life

	mu    sync.Mutex
	back  *sync.Cond
	agent *process // nil while it is away
}

func newNode(name, memory string) *node {
	n := &node{name: name, memory: memory}
	n.back = sync.NewCond(&n.mu)
	return n
}

type process struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
}

// start starts a node's agent, again with what it remembers.
func (p *play) start(n *node) {
	where, err := json.Marshal(agentPlace{p.w.Apart(n.name), n.memory})
	if err != nil {
		p.Fatal(err)
	}
	a := &process{cmd: exec.Command(os.Args[0])}
	a.cmd.Env = append(os.Environ(), agentTold+"="+string(where))
	a.cmd.Stderr = os.Stderr
	var in io.Writer
	var out io.Reader
	if in, err = a.cmd.StdinPipe(); err == nil { // which ends with this process, and then the agent does
		if out, err = a.cmd.StdoutPipe(); err == nil {
			err = a.cmd.Start()
		}
	}
	if err != nil {
		p.Fatal(err)
	}
	a.in, a.out = json.NewEncoder(in), json.NewDecoder(out)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.agent = a
	n.back.Broadcast()
}

// kill ends a node's agent at once, whatever it is doing.
func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.agent != nil {
		_ = n.agent.cmd.Process.Kill()
		_ = n.agent.cmd.Wait()
		n.agent = nil
		n.back.Broadcast()
	}
}

// tell has an agent see something, the next one where this one was killed first.
func (n *node) tell(t told) {
	for {
		n.mu.Lock()
		for n.agent == nil {
			n.back.Wait()
		}
		a := n.agent
		n.mu.Unlock()
		var heard told
		err := a.in.Encode(t)
		if err == nil {
			err = a.out.Decode(&heard)
		}
		if err == nil && heard == t {
			return
		}
		n.mu.Lock()
		for n.agent == a { // until it is known that it was killed
			n.back.Wait()
		}
		n.mu.Unlock()
	}
}
