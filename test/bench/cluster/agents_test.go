package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/why/answer"
)

// agent is a simulated one: it says what it is told to, and answers each question about a
// pod of its node with a made-up answer of usual length.
type agent struct {
	node string
	pods []link.Pod

	sending sync.Mutex
	stream  link.Dialled
	counts  atomic.Int64
	kept    atomic.Int64
	mark    fact.ID
}

// connect dials the front and tells of all pods, the first of which is not well.
func (a *agent) connect(ctx context.Context, address string, secure credentials.TransportCredentials, token string) error {
	c, err := grpc.NewClient(address, append(link.DialOptions(), grpc.WithTransportCredentials(secure))...)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = c.Close() })
	if a.stream, err = link.Connect(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), c); err != nil {
		return err
	}
	if err := a.send(link.ToFront{Hello: &link.Hello{Version: "bench"}}); err != nil {
		return err
	}
	if m, err := a.stream.Recv(); err != nil || m.Welcome == nil {
		return fmt.Errorf("%s: no welcome: %w", a.node, err)
	}
	var s link.Standing
	for i, p := range a.pods {
		if i == 0 {
			p.Answer = about(p.Pod, 1)
		}
		s.Pods = append(s.Pods, p)
	}
	s.Whole = true
	go a.listen()
	return a.send(link.ToFront{Standing: &s})
}

func (a *agent) send(m link.ToFront) error {
	a.sending.Lock()
	defer a.sending.Unlock()
	return a.stream.Send(&m)
}

// listen answers until the stream ends.
func (a *agent) listen() {
	for {
		m, err := a.stream.Recv()
		if err != nil {
			return
		}
		switch {
		case m.Kept != nil:
			a.kept.Add(1)
		case m.Ask != nil:
			q, _ := url.ParseQuery(m.Ask.Query)
			p := fact.Pod{Namespace: q.Get("namespace"), Name: q.Get("name"), UID: types.UID(q.Get("uid"))}
			_ = a.send(link.ToFront{Said: &link.Said{Ask: m.Ask.ID, Code: 200, Body: about(p, 3)}})
		}
	}
}

// restarted tells that the first pod ended once more.
func (a *agent) restarted() {
	p := a.pods[0]
	p.Answer = about(p.Pod, int(a.counts.Add(1))+1)
	_ = a.send(link.ToFront{Standing: &link.Standing{Pods: []link.Pod{p}}})
}

// gone tells that a pod is, and why.
func (a *agent) gone(p fact.Pod) {
	a.mark++
	now := time.Now().UTC()
	_ = a.send(link.ToFront{Standing: &link.Standing{Gone: []types.UID{p.UID}}})
	_ = a.send(link.ToFront{Ended: &link.Ended{Mark: link.Mark{ID: a.mark, Seen: now}, Pod: p, At: now, Answer: about(p, 2)}})
}

// about is an answer as long as those of real pods.
func about(p fact.Pod, count int) []byte {
	now := time.Now().UTC().Truncate(time.Minute)
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}, now, answer.Coverage{From: now.Add(-time.Hour), Complete: true})
	v := answer.Verdict{Cause: answer.MemoryLimit, Certainty: answer.Recorded, Container: "app", Text: "Container app was killed by the kernel because it used more memory than its limit of 256 MiB."}
	for i := range 12 {
		v.Chain = append(v.Chain, answer.Link{Fact: fact.ID(i), At: now, Kind: "Exited", Text: "container app ended with exit code 137, " + strings.Repeat("as before ", 6), Evidence: map[string]any{"exitCode": 137, "oomKills": 1}})
	}
	v.LastWords = []string{"allocating", "allocating more", strings.Repeat("x", 80)}
	v.Fixes = []answer.Fix{{Text: "raise the memory limit", Command: "kubectl -n shop set resources deployment/web --limits=memory=512Mi", Risk: answer.Limits}}
	a.Put(answer.Symptom{Kind: answer.Restarted, Container: "app", Count: count, First: now, Last: now, Text: "container app was restarted"}, v)
	text, _ := json.Marshal(a)
	return text
}
