package door

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/serve"
)

// mostUnheard is how many nodes an answer names that did not speak for themselves.
const mostUnheard = 64

// hearing notes for one question which nodes did not speak for themselves: those without
// an agent, and Whylet's own where only an agent beside them was asked.
type hearing struct {
	ask.Front // nil: the nodes are reached through the API server

	mu sync.Mutex
	// unheard are nodes that nobody spoke for, beside those of Whylet's own that an agent
	// spoke for.
	unheard, beside map[string]bool
}

// listen begins a hearing.
func (a *Answerer) listen() *hearing {
	return &hearing{Front: a.Front, unheard: map[string]bool{}, beside: map[string]bool{}}
}

// knowsOwn is a front that knows which nodes are Whylet's own.
type knowsOwn interface {
	Own(ctx context.Context) []string
}

// mayBeFresh is a front that says whether it has just begun.
type mayBeFresh interface {
	Fresh() bool
}

func (h *hearing) front() ask.Front {
	if h.Front == nil {
		return nil
	}
	return h
}

// missing is told of nodes that could not be asked.
func (h *hearing) missing(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unheard[node] = true
}

func (h *hearing) ownNodes(ctx context.Context) []string {
	if f, ok := h.Front.(knowsOwn); ok {
		return f.Own(ctx)
	}
	return nil
}

// Get is of [ask.Front].
func (h *hearing) Get(ctx context.Context, node, path string, about serve.Question) ([]byte, error) {
	body, err := h.Front.Get(ctx, node, path, about)
	if err == nil && slices.Contains(h.ownNodes(ctx), node) {
		h.missing(node)
	}
	return body, err
}

// Standing is of [ask.Front].
func (h *hearing) Standing(ctx context.Context, namespace string) (ill []answer.Answer, well int, missing []string, err error) {
	ill, well, missing, err = h.Front.Standing(ctx, namespace)
	own := h.ownNodes(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, node := range own {
		if !slices.Contains(missing, node) {
			h.beside[node] = true
		}
	}
	return ill, well, missing, err
}

// result are the nodes that did not speak for themselves, and whether somebody else who
// answers questions in this cluster may know more: of Whylet's own nodes their own process,
// of others an installed front, or a replica of it that has run for longer.
func (h *hearing) result(ctx context.Context, err error) (unheard []string, better bool) {
	var unknown *serve.NotKnownError
	own := h.ownNodes(ctx)
	f, ok := h.Front.(mayBeFresh)
	alone := h.Front == nil || ok && f.Fresh() // agents are not heard here, or not all yet
	h.mu.Lock()
	defer h.mu.Unlock()
	if errors.As(err, &unknown) { // any node may remember what is gone
		for _, node := range own {
			h.unheard[node] = true
		}
	}
	unheard = slices.Sorted(maps.Keys(h.unheard))
	better = len(h.beside) > 0 || alone && (len(unheard) > 0 || unknown != nil) ||
		slices.ContainsFunc(unheard, func(node string) bool { return slices.Contains(own, node) })
	return unheard[:min(len(unheard), mostUnheard)], better
}
