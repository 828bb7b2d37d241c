package uplink

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"whylet.dev/whylet/front/link"
)

// hearer is a front that hears what the agent says.
type hearer struct {
	grpc.ClientStream
	said []link.Said
}

func (h *hearer) Send(m *link.ToFront) error   { h.said = append(h.said, *m.Said); return nil }
func (h *hearer) Recv() (*link.ToAgent, error) { return nil, nil }

// A front that was taken over gets no more from a node than answers, and not more at the
// same time than it can give.
func TestQuestionsToANodeAreBounded(t *testing.T) {
	front := &hearer{}
	endless := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for chunk := []byte(strings.Repeat("x", 1<<20)); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	s := &session{options: &Options{Serve: map[string]http.Handler{"why": endless}}, stream: front, asked: make(chan struct{}, link.MaxAsked)}
	for path, code := range map[string]int{"why": http.StatusRequestEntityTooLarge, "exec/shop/web-1/app": http.StatusNotFound, "../why": http.StatusNotFound} {
		front.said = nil
		if s.answer(t.Context(), link.Ask{ID: 1, Path: path}); len(front.said) != 1 || front.said[0].Code != code || len(front.said[0].Body) > 100 {
			t.Errorf("%s: %d parts", path, len(front.said))
		}
	}
	for range link.MaxAsked {
		s.asked <- struct{}{}
	}
	front.said = nil
	if s.answer(t.Context(), link.Ask{ID: 2, Path: "why"}); len(front.said) != 1 || front.said[0].Code != http.StatusTooManyRequests {
		t.Errorf("%d parts", len(front.said))
	}
}
