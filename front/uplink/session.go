package uplink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
)

// session is one stream.
type session struct {
	options *Options
	tracker *tracker
	stream  link.Dialled

	sending sync.Mutex
	asked   chan struct{} // a place for each question that is being answered

	mu     sync.Mutex
	unkept []fact.ID     // closing answers that were sent and not acknowledged
	kept   chan struct{} // told when some were
}

func runSession(ctx context.Context, stream link.Dialled, t *tracker, o *Options) error {
	s := &session{options: o, tracker: t, stream: stream, asked: make(chan struct{}, link.MaxAsked), kept: make(chan struct{}, 1)}
	if err := s.send(link.ToFront{Hello: &link.Hello{Version: o.Version}}); err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return fmt.Errorf("the front refused: %w", err)
	}
	if first.Welcome == nil {
		return errors.New("the front did not greet")
	}
	o.Log.Info("a front listens", "node", first.Welcome.Node)
	ctx, cancel := context.WithCancelCause(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel(nil)
	parts.Go(func() { cancel(s.tell(ctx)) })
	if first.Welcome.Kept != nil {
		parts.Go(func() { cancel(s.ends(ctx, *first.Welcome.Kept)) })
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		switch {
		case m.Ask != nil:
			ask := *m.Ask
			parts.Go(func() { s.answer(ctx, ask) })
		case m.Kept != nil:
			s.acknowledged(m.Kept.ID)
		case m.Requested != nil && o.Requested != nil:
			r := *m.Requested
			at := time.Now().UTC().Add(-max(0, min(r.Ago, mostWithin)))
			o.Requested(fact.Fact{At: at, Pod: r.Pod, Body: fact.Requested{Verb: r.Verb, User: r.User, Asked: true}})
		}
	}
}

func (s *session) send(m link.ToFront) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.stream.Send(&m)
}

// apart bounds how often standing verdicts are told.
const apart = time.Second

// tell tells what changes, from everything on.
func (s *session) tell(ctx context.Context) error {
	version, whole := uint64(0), false
	for {
		news, next, changed := s.tracker.since(version)
		if len(news.Pods)+len(news.Gone) > 0 || news.Whole && !whole {
			if err := s.send(link.ToFront{Standing: &news}); err != nil {
				return err
			}
			if version, whole = next, whole || news.Whole; !news.Whole {
				continue // there may be more at once
			}
		}
		version = next
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-time.After(apart):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
