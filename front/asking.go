package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/serve"
)

// mostParts is in how many parts the longest answer comes, and some.
const mostParts = 2*link.MaxBody/link.MaxChunk + 1

// comesBack is how long an agent that was there a moment ago is waited for.
const comesBack = 5 * time.Second

// errEnded says that a stream ended before its answer was there.
var errEnded = errors.New("the agent went")

// Get is of [ask.Front].
func (h *Hub) Get(ctx context.Context, node, path string, about serve.Question) ([]byte, error) {
	waiting, cancel := context.WithTimeout(ctx, comesBack)
	defer cancel()
	for {
		s, changed, err := h.sessionOf(node)
		if err != nil {
			return nil, err
		}
		if s != nil {
			body, err := s.ask(ctx, path, about.Values().Encode())
			if !errors.Is(err, errEnded) {
				return body, err
			}
		}
		select { // it may come back
		case <-changed:
		case <-waiting.Done():
			return nil, &ask.AwayError{Reason: fmt.Sprintf("the agent of node %s is away", node)}
		}
	}
}

// sessionOf finds a node's session; nil where it may come back.
func (h *Hub) sessionOf(node string) (*session, <-chan struct{}, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	n := h.nodes[node]
	if n == nil {
		return nil, nil, &ask.AwayError{Reason: fmt.Sprintf("no agent on node %s answered", node)}
	}
	return n.session, h.changed, nil
}

// one asks a node about one pod.
func (h *Hub) one(ctx context.Context, node string, about serve.Question) (a answer.Answer, err error) {
	body, err := h.Get(ctx, node, "why", about)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("what node %s says is not understood: %w", node, err)
	}
	if a.Subject.UID != about.UID || a.Subject.Namespace != about.Namespace {
		return a, fmt.Errorf("node %s speaks of another pod", node)
	}
	return a, nil
}

// ask puts one question to the agent and collects the parts of its answer.
func (s *session) ask(ctx context.Context, path, query string) ([]byte, error) {
	select { // an agent refuses more at the same time
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-s.stream.Context().Done():
		return nil, errEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	parts := make(chan link.Said, mostParts)
	s.mu.Lock()
	if s.asks == nil {
		s.mu.Unlock()
		return nil, errEnded
	}
	s.asked++
	id := s.asked
	s.asks[id] = parts
	s.mu.Unlock()
	defer s.forget(id)
	within := time.Duration(0) // the agent has a bound of its own
	if deadline, ok := ctx.Deadline(); ok {
		within = time.Until(deadline)
	}
	if err := s.send(link.ToAgent{Ask: &link.Ask{ID: id, Path: path, Query: query, Within: within}}); err != nil {
		return nil, errEnded
	}
	var body []byte
	for {
		select {
		case p, open := <-parts:
			if !open {
				return nil, errEnded
			}
			if body = append(body, p.Body...); len(body) > link.MaxBody {
				return nil, errors.New("the answer is too long")
			}
			if !p.More {
				return body, refusal(p.Code, body)
			}
		case <-s.stream.Context().Done():
			return nil, errEnded
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// refusal is the error of an answer that is none, in the words of the node.
func refusal(code int, body []byte) error {
	if code == http.StatusOK {
		return nil
	}
	text := strings.TrimSpace(string(body[:min(len(body), 500)]))
	return fmt.Errorf("%w: %s", apierrors.NewGenericServerResponse(code, http.MethodGet, schema.GroupResource{Resource: "nodes"}, "", text, 0, false), text)
}

func (s *session) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asks, id)
}

// said hands a part to who asked. One that nobody waits for is dropped; more than the
// longest answer has end the question.
func (s *session) said(p link.Said) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.asks[p.Ask]
	if c == nil {
		return
	}
	select {
	case c <- p:
	default:
		delete(s.asks, p.Ask)
		close(c)
	}
}
