package uplink

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"whylet.dev/whylet/front/link"
)

// mostWithin bounds how long one question may take.
const mostWithin = time.Minute

// answer answers what the front asks, by the node's own handlers.
func (s *session) answer(ctx context.Context, ask link.Ask) {
	select {
	case s.asked <- struct{}{}:
	default:
		s.say(ask.ID, &reply{code: http.StatusTooManyRequests, body: []byte("the agent is asked too much at the same time")})
		return
	}
	r := s.served(ctx, ask)
	<-s.asked // before the front knows that there is room
	s.say(ask.ID, r)
}

// served is what a handler says.
func (s *session) served(ctx context.Context, ask link.Ask) *reply {
	ctx, cancel := context.WithTimeout(ctx, min(max(ask.Within, time.Second), mostWithin))
	defer cancel()
	r := &reply{header: http.Header{}}
	handler, ok := s.options.Serve[ask.Path]
	if !ok {
		handler = http.NotFoundHandler()
	}
	request := (&http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/" + ask.Path, RawQuery: ask.Query}, Header: http.Header{}}).WithContext(ctx)
	handler.ServeHTTP(r, request)
	if r.tooLong {
		r.code, r.body = http.StatusRequestEntityTooLarge, []byte("the answer is too long")
	}
	return r
}

// say sends a reply in parts. An error ends the session elsewhere.
func (s *session) say(id uint64, r *reply) {
	code, body := max(r.code, http.StatusOK), r.body
	for {
		part := body[:min(len(body), link.MaxChunk)]
		body = body[len(part):]
		if s.send(link.ToFront{Said: &link.Said{Ask: id, Code: code, Body: part, More: len(body) > 0}}) != nil || len(body) == 0 {
			return
		}
	}
}

// reply is a http.ResponseWriter in memory.
type reply struct {
	header  http.Header
	code    int
	body    []byte
	tooLong bool
}

func (r *reply) Header() http.Header { return r.header }

func (r *reply) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}

func (r *reply) Write(b []byte) (int, error) {
	if len(r.body)+len(b) > link.MaxBody {
		r.tooLong = true
		return 0, http.ErrContentLength
	}
	r.body = append(r.body, b...)
	return len(b), nil
}
