package front

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
)

// talker is the stream of an agent that always has something to say.
type talker struct{ grpc.ServerStream }

func (talker) Recv() (*link.ToFront, error) { return &link.ToFront{}, nil }
func (talker) Send(*link.ToAgent) error     { return nil }

// An agent that says more than it may is read slower.
func TestMessagesOfOneAgentAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seconds = 60
		s := &session{stream: talker{}}
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		defer cancel()
		messages := make(chan *link.ToFront)
		go s.receive(ctx, messages, make(chan error, 1))
		n := 0
		for ctx.Err() == nil {
			select {
			case <-messages:
				n++
			case <-ctx.Done():
			}
		}
		if n > burst+perSecond*seconds+1 || n < perSecond*seconds {
			t.Errorf("%d messages in %d seconds", n, seconds)
		}
		synctest.Wait()
	})
}

// What is longer than it may be is not taken, wherever it stands.
func TestWhatAgentsSayIsBounded(t *testing.T) {
	h := New(Options{Log: slog.New(slog.DiscardHandler)})
	s := &session{hub: h, node: "a", stream: talker{}}
	tk := &taker{session: s, waiting: map[uidOf]waitingPod{}}
	pod := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u"}
	long := fact.Pod{Namespace: "shop", Name: strings.Repeat("x", link.MaxName+1), UID: "u"}
	answer := json.RawMessage(`{"x":"` + strings.Repeat("x", link.MaxAnswer) + `"}`)
	for name, m := range map[string]link.ToFront{
		"pods":              {Standing: &link.Standing{Pods: make([]link.Pod, link.MaxStanding+1)}},
		"pods that went":    {Standing: &link.Standing{Gone: make([]types.UID, link.MaxStanding+1)}},
		"a name":            {Standing: &link.Standing{Pods: []link.Pod{{Pod: long}}}},
		"an answer":         {Standing: &link.Standing{Pods: []link.Pod{{Pod: pod, Answer: answer}}}},
		"a closing answer":  {Ended: &link.Ended{Pod: pod, Answer: answer}},
		"an end's own name": {Ended: &link.Ended{Pod: long}},
	} {
		before, _, _ := h.Count()
		_ = s.take(t.Context(), &m, tk, make(chan *link.Ended, 1))
		if now, _, _ := h.Count(); now.Malformed != before.Malformed+1 || len(tk.waiting) > 0 || len(h.pods) > 0 {
			t.Errorf("%s: taken, %+v", name, now)
		}
	}
	ends := make(chan *link.Ended) // nobody keeps them
	if err := s.take(t.Context(), &link.ToFront{Ended: &link.Ended{Pod: pod}}, tk, ends); err == nil {
		t.Error("closing answers wait without end")
	}
}

// An answer that is longer than it may be ends the question, and not the front.
func TestAnswersAreBounded(t *testing.T) {
	s := &session{stream: talker{}, asks: map[uint64]chan<- link.Said{}}
	parts := make(chan link.Said, mostParts)
	s.asks[1] = parts
	for range mostParts + 10 {
		s.said(link.Said{Ask: 1, Body: make([]byte, 1), More: true})
	}
	n := 0
	for range parts {
		n++
	}
	if n != mostParts || len(s.asks) != 0 {
		t.Errorf("%d parts, %d questions", n, len(s.asks))
	}
}
