package tap

import (
	"net/netip"
	"time"
)

// Attempt is one connection of kubelet's to what it probes, from its first packet to
// its end, as far as packets show it.
type Attempt struct {
	Near, Far netip.AddrPort
	// Began is CLOCK_MONOTONIC; the others count from it, and are zero where nothing of
	// the kind was seen.
	Began                         time.Duration
	Connect, Sent, First, Ended   time.Duration
	Refused, Reset, Closed, Alert bool // Reset and Closed: by what is probed, before kubelet
	TLS, HTTP2                    bool
	Method, Path                  string
	Status                        int
	Proto                         string
	Header                        map[string]string
	// Body is the beginning of an HTTP/1 answer's, as far as it was copied.
	Body []byte
	// Odd is set where an answer came that is not HTTP/1, to a request that is.
	Odd bool
	// Partial is set where kubelet closed the connection before the body was whole.
	Partial bool
	// Short is set where the answer's body ended before its Content-Length.
	Short bool
	// Health is the gRPC health status that was answered, -1 without one.
	Health int
	// Code is the status with which a gRPC call was refused, with the words Said; 0: it was not.
	Code int
	Said string
}

// Flows makes attempts of packets. Not safe for concurrent use.
type Flows struct {
	open map[flow]*state
	// Tell hears of each attempt when it is over.
	Tell func(Attempt)
}

type flow struct{ near, far netip.AddrPort }

type state struct {
	Attempt
	head     head
	firstSeq uint32
	begin    []byte // of the answer, as far as copies have it without a gap
	bytes    int
	ended    bool
}

const (
	// mostFlows bounds the connections that are followed at once.
	mostFlows = 8192
	// mostBegin bounds what is kept of an answer.
	mostBegin = 1 << 10
	// mostRead is how much of an answer kubelet reads (pkg/probe/http/http.go).
	mostRead = 10 << 10
	// answersLate is how long the rest of a connection is waited for after its end.
	answersLate = 200 * time.Millisecond
)

// NewFlows makes one that has seen nothing.
func NewFlows(tell func(Attempt)) *Flows { return &Flows{open: map[flow]*state{}, Tell: tell} }

// take takes one packet.
func (f *Flows) take(p packet) {
	key := flow{p.near, p.far}
	s := f.open[key]
	if p.out && p.syn && !p.ack {
		if s != nil && !s.ended && s.Connect == 0 {
			return // the SYN once more
		}
		f.end(key, s, p.at)
		if len(f.open) < mostFlows {
			f.open[key] = &state{Attempt: Attempt{Near: p.near, Far: p.far, Began: p.at, Health: -1}}
		}
		return
	}
	if s == nil {
		return // it began before we looked
	}
	if p.out {
		f.outgoing(key, s, p)
	} else {
		s.incoming(p)
	}
	if p.out && (p.fin || p.rst) && s.head.size > 0 && s.head.length > 0 {
		s.Partial = s.bytes < s.head.size+s.head.length && s.bytes < mostRead
	}
	if p.rst || p.fin && p.out || s.Closed {
		if s.Ended == 0 {
			s.Ended = p.at - s.Began
		}
		f.end(key, s, p.at)
	}
}

// outgoing is a packet from kubelet.
func (f *Flows) outgoing(key flow, s *state, p packet) {
	if len(p.data) == 0 {
		return
	}
	method, path, isRequest := requestPath(p.data)
	if isRequest && s.First != 0 { // the connection is used once more
		f.end(key, s, p.at)
		*s = state{Attempt: Attempt{Near: p.near, Far: p.far, Began: p.at, Connect: 1, Health: -1}}
		f.open[key] = s
	}
	if s.Sent == 0 {
		s.Sent = max(1, p.at-s.Began)
		s.TLS, s.HTTP2 = isTLS(p.data), len(p.data) >= len(preface) && string(p.data[:len(preface)]) == preface
	}
	if isRequest {
		s.Method, s.Path = method, path
	}
}

// incoming is a packet to kubelet.
func (s *state) incoming(p packet) {
	switch {
	case p.syn && p.ack:
		s.Connect = max(1, p.at-s.Began)
		return
	case p.rst && s.Connect == 0:
		s.Refused = true
		return
	case p.rst:
		s.Reset = true
		return
	}
	if p.size > 0 {
		s.answer(p)
	}
	if p.fin {
		s.Closed = true
		whole := s.bytes
		s.Short = s.head.size > 0 && s.head.length >= 0 && whole < s.head.size+s.head.length
	}
}

// answer takes a part of what came back.
func (s *state) answer(p packet) {
	if s.First == 0 {
		s.First, s.firstSeq = max(1, p.at-s.Began), p.seq
	}
	// Some write an answer in many small pieces.
	if p.seq == s.firstSeq+uint32(len(s.begin)) && len(s.begin) < mostBegin {
		s.begin = append(s.begin, p.data...)
		if h, ok := readHead(s.begin); ok {
			s.head, s.Status, s.Proto, s.Header = h, h.status, h.proto, h.header
		}
	}
	if upTo := int(p.seq-s.firstSeq) + p.size; upTo > s.bytes && upTo < 1<<30 {
		s.bytes = upTo
	}
	if isAlert(p.data) {
		s.Alert = true
	}
	if s.HTTP2 && s.Health < 0 {
		if health, ok := healthOf(p.data); ok {
			s.Health = health
		} else if code, said, ok := refusalOf(p.data); ok && s.Code == 0 {
			s.Code, s.Said = code, said
		}
	}
}

func (f *Flows) end(key flow, s *state, _ time.Duration) {
	if s == nil {
		return
	}
	delete(f.open, key)
	if !s.ended {
		s.ended = true
		s.Body = s.head.body(s.begin)
		s.Odd = s.Path != "" && s.Status == 0 && len(s.begin) > 0 && !mayBeHead(s.begin)
		f.Tell(s.Attempt)
	}
}

// expire ends what has not been answered in time; within says how long an attempt may
// take, from its beginning.
func (f *Flows) expire(now time.Duration, within func(Attempt) time.Duration) {
	for key, s := range f.open {
		if now-s.Began > within(s.Attempt)+answersLate {
			f.end(key, s, now)
		}
	}
}
