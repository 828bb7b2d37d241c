package sense

import (
	"context"
	"net/http"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// silentFrom is how long the API server must not have answered for it to be told:
// the node is heard of every 10 s, and is missed after some more of that.
const silentFrom = 20 * time.Second

// Contact listens to all requests of the node to the API server, and tells of
// the times in which none was answered.
type Contact struct {
	manned

	mu sync.Mutex
	// failing is since when no request was answered; zero: the last one was.
	failing time.Time
	told    bool
}

// Run implements [Source]. What was heard before it is told when it goes on.
func (w *Contact) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	defer w.man(ctx, known, emit)()
	<-ctx.Done()
	return nil
}

// Wrap makes a transport that is listened to.
func (w *Contact) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if r.Context().Err() == nil {
			w.result(time.Now().UTC(), err)
		}
		return response, err
	})
}

// result takes in how a request went. A server that answers with an error answers.
func (w *Contact) result(now time.Time, err error) {
	at := w.Load()
	w.mu.Lock()
	var news *fact.Lost
	switch {
	case err == nil:
		if w.told {
			news = &fact.Lost{Source: fact.SourceAPI, Reason: "the API server answers again", From: w.failing, Until: now}
		}
		w.failing, w.told = time.Time{}, false
	case w.failing.IsZero():
		w.failing = now
	case at != nil && !w.told && now.Sub(w.failing) >= silentFrom:
		w.told = true
		news = &fact.Lost{Source: fact.SourceAPI, Reason: err.Error(), From: w.failing}
	}
	w.mu.Unlock()
	if at != nil && news != nil {
		go at.emit(fact.Fact{At: now, Body: *news}) // who makes a request must not wait for the journal
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
