package uplink

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/journal"
)

// settle is how long after a pod is gone its last facts are waited for.
const settle = 2 * time.Second

// ends tells the closing answers that the front does not have, then those that come. The
// journal is the queue: what is not acknowledged is told again at the next session.
func (s *session) ends(ctx context.Context, kept link.Mark) error {
	cursor := s.from(kept)
	for {
		last, changed := s.tracker.ended()
		for cursor < last {
			next, wait, err := s.endsAfter(ctx, cursor)
			if err != nil {
				return err
			}
			cursor = next
			if wait == 0 {
				break // what is left cannot be read
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// from is where to go on: behind the mark, if it is of this journal, else at its beginning.
func (s *session) from(kept link.Mark) fact.ID {
	f, ok, err := s.options.Journal.Get(kept.ID)
	if err != nil || !ok || !f.Seen.Equal(kept.Seen) {
		return 0
	}
	return kept.ID
}

// endsAfter tells the ends after a fact that are old enough, and gives the last one and
// how long the next one has to settle; 0 where there is none.
func (s *session) endsAfter(ctx context.Context, cursor fact.ID) (fact.ID, time.Duration, error) {
	for f, err := range s.options.Journal.Query(journal.Query{Kinds: []fact.Kind{fact.ObjectGone{}.Kind()}, FromID: cursor + 1}) {
		if err != nil {
			continue
		}
		if young := settle - time.Since(f.Seen); young > 0 {
			return cursor, min(young, settle), nil // the clock may have been set back
		}
		if err := s.end(ctx, f); err != nil {
			return cursor, 0, err
		}
		cursor = f.ID
	}
	return cursor, 0, nil
}

// end tells one closing answer, once there is room for it.
func (s *session) end(ctx context.Context, f fact.Fact) error {
	a, h, err := explained(s.options.Journal, f.Pod, f.Seen)
	if err != nil {
		return nil //nolint:nilerr // nothing is left of it to tell
	}
	text := bounded(a)
	if text == nil {
		return nil
	}
	e := link.Ended{Mark: link.Mark{ID: f.ID, Seen: f.Seen}, Pod: f.Pod, At: f.When(), Answer: text}
	if h.Object != nil {
		if owner := metav1.GetControllerOf(h.Object); owner != nil {
			e.Owner = owner.UID
		}
	}
	for !s.room(f.ID) {
		select {
		case <-s.kept:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.send(link.ToFront{Ended: &e})
}

// room takes a place for an end, if there is one.
func (s *session) room(id fact.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unkept) >= link.Window {
		return false
	}
	s.unkept = append(s.unkept, id)
	return true
}

func (s *session) acknowledged(upTo fact.ID) {
	s.mu.Lock()
	s.unkept = slices.DeleteFunc(s.unkept, func(id fact.ID) bool { return id <= upTo })
	s.mu.Unlock()
	select {
	case s.kept <- struct{}{}:
	default:
	}
}
