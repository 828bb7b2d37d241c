package front

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/why/answer"
)

// keepAgain is how long an archive that failed is left alone. Meanwhile the agents keep
// what they have, and nothing else waits for it.
const keepAgain = 5 * time.Second

// keep brings one agent's closing answers into the archive, and acknowledges them then.
func (s *session) keep(ctx context.Context, ends <-chan *link.Ended) {
	var batch []Closing
	for {
		select {
		case e := <-ends:
			batch = append(batch[:0], s.closing(*e))
		case <-ctx.Done():
			return
		}
		for more := true; more && len(batch) < link.Window; {
			select {
			case e := <-ends:
				batch = append(batch, s.closing(*e))
			default:
				more = false
			}
		}
		if !s.keepAll(ctx, batch) {
			return
		}
	}
}

// awaitArchive ends the stream once the archive works again: at the next one the agent
// hears from where on it lacks closing answers.
func (s *session) awaitArchive(ctx context.Context) {
	for {
		select {
		case <-time.After(keepAgain + rand.N(keepAgain)):
		case <-ctx.Done():
			return
		}
		if _, err := s.hub.o.Archive.Kept(ctx, s.node); err == nil {
			s.cancel(errRenew)
			return
		}
	}
}

// keepAll tries until it is done, or ctx ends.
func (s *session) keepAll(ctx context.Context, batch []Closing) bool {
	for {
		err := s.hub.o.Archive.Keep(ctx, s.node, batch)
		if err == nil {
			s.hub.count(func(c *Counts) { c.Kept += uint64(len(batch)) })
			return s.send(link.ToAgent{Kept: &batch[len(batch)-1].Mark}) == nil
		}
		if ctx.Err() != nil {
			return false
		}
		s.hub.count(func(c *Counts) { c.Unkept++ })
		s.hub.o.Log.Debug("closing answers are not archived, and stay with their agent", "node", s.node, "error", err)
		select {
		case <-time.After(keepAgain):
		case <-ctx.Done():
			return false
		}
	}
}

// closing notes whether it is known that the pod was on the node.
func (s *session) closing(e link.Ended) Closing {
	s.hub.mu.RLock()
	defer s.hub.mu.RUnlock()
	c := Closing{Ended: e, Node: s.node}
	if p := s.hub.pods[e.Pod.UID]; p != nil {
		c.Confirmed = p.node == s.node
	} else if l, ok := s.hub.left[e.Pod.UID]; ok {
		c.Confirmed = l.node == s.node
	}
	return c
}

// answer is what was kept; what is not confirmed says so.
func (c *Closing) answer() (answer.Answer, error) {
	var a answer.Answer
	if err := json.Unmarshal(c.Answer, &a); err != nil {
		return a, fmt.Errorf("reading the closing answer about pod %s: %w", c.Pod, err)
	}
	if !c.Confirmed {
		a.Journal.Gaps = append(a.Journal.Gaps, answer.Gap{Reason: fmt.Sprintf("told by node %s alone: nobody asked the API server whether the pod ran there", c.Node)})
	}
	return a, nil
}
