package front

import (
	"context"
	"errors"
	"sync"
	"time"

	"whylet.dev/whylet/front/link"
)

// session is one agent's stream.
type session struct {
	hub    *Hub
	node   string
	itself bool // the node of Whylet's own, and no agent beside it
	stream link.Stream
	cancel context.CancelCauseFunc

	sending sync.Mutex
	turns   chan struct{} // a place for each question that the agent may have at the same time

	mu    sync.Mutex
	asked uint64
	asks  map[uint64]chan<- link.Said
}

// perSecond and burst bound the messages of one agent: one that says more is read slower.
const (
	perSecond = 50
	burst     = 500
	// takeAgain is when pods are tried again that the API server did not know yet.
	takeAgain = 2 * time.Second
)

func (s *session) send(m link.ToAgent) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.stream.Send(&m)
}

// run reads the stream until it ends.
func (s *session) run(ctx context.Context) error {
	first, err := s.stream.Recv()
	if err != nil || first.Hello == nil {
		return errors.Join(err, errors.New("the agent did not greet"))
	}
	welcome := link.Welcome{Node: s.node}
	var parts sync.WaitGroup
	defer parts.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ends := make(chan *link.Ended, link.Window)
	if a := s.hub.o.Archive; a != nil {
		mark, err := a.Kept(ctx, s.node)
		if err != nil {
			parts.Go(func() { s.awaitArchive(ctx) })
		} else {
			welcome.Kept = &mark
			parts.Go(func() { s.keep(ctx, ends) })
		}
	}
	if err := s.send(link.ToAgent{Welcome: &welcome}); err != nil {
		return err
	}
	messages := make(chan *link.ToFront)
	failed := make(chan error, 1)
	go s.receive(ctx, messages, failed)
	taker := &taker{session: s, waiting: map[uidOf]waitingPod{}}
	again := time.NewTicker(takeAgain)
	defer again.Stop()
	for {
		select {
		case m := <-messages:
			if err := s.take(ctx, m, taker, ends); err != nil {
				return err
			}
		case <-again.C:
			taker.again(ctx)
		case err := <-failed:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// receive reads messages no faster than an agent may say them. It ends with the stream.
func (s *session) receive(ctx context.Context, messages chan<- *link.ToFront, failed chan<- error) {
	credit, last := float64(burst), time.Now()
	for {
		m, err := s.stream.Recv()
		if err != nil {
			failed <- err
			return
		}
		now := time.Now()
		credit = min(burst, credit+now.Sub(last).Seconds()*perSecond) - 1
		if last = now; credit < 0 {
			select {
			case <-time.After(time.Second / perSecond):
			case <-ctx.Done():
				return
			}
		}
		select {
		case messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// take takes one message. An error ends the stream.
func (s *session) take(ctx context.Context, m *link.ToFront, t *taker, ends chan<- *link.Ended) error {
	switch {
	case m.Standing != nil:
		t.take(ctx, *m.Standing)
	case m.Said != nil:
		s.said(*m.Said)
	case m.Ended != nil:
		if sound(m.Ended.Pod, m.Ended.Answer) != nil {
			// Its agent would send the same again after each new stream, so it is left out alone.
			s.hub.count(func(c *Counts) { c.Malformed++ })
			return nil
		}
		select {
		case ends <- m.Ended:
		default:
			return errors.New("more closing answers than may wait")
		}
	}
	return nil
}
