package sense

import (
	"errors"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

// An API server that is silent for long is told of once, and again when it
// answers; one failed request is no news.
func TestAPIWatch(t *testing.T) {
	told := make(chan fact.Lost, 10)
	w := &Contact{}
	defer w.man(t.Context(), nil, func(f fact.Fact) { told <- f.Body.(fact.Lost) })()
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	refused := errors.New("connection refused")
	w.result(noon, refused)
	w.result(noon.Add(time.Second), nil)
	w.result(noon.Add(2*time.Second), refused)
	w.result(noon.Add(silentFrom), refused)
	w.result(noon.Add(2*time.Second+silentFrom), refused)
	if l := <-told; !l.From.Equal(noon.Add(2*time.Second)) || !l.Until.IsZero() || l.Reason != "connection refused" {
		t.Errorf("%+v", l)
	}
	w.result(noon.Add(time.Minute), refused)
	w.result(noon.Add(2*time.Minute), nil)
	if l := <-told; !l.From.Equal(noon.Add(2*time.Second)) || !l.Until.Equal(noon.Add(2*time.Minute)) {
		t.Errorf("%+v", l)
	}
	w.result(noon.Add(3*time.Minute), nil)
	if len(told) != 0 {
		t.Errorf("told more: %+v", <-told)
	}
}
