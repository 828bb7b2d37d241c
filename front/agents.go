package front

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"whylet.dev/whylet/front/link"
)

// mostStreams bounds the agents of one front.
const mostStreams = 5000

// sessionFor is how long a stream lives, and a part of it more: then the agent comes again
// and its token is reviewed again, which is how long one that was revoked is good for.
const sessionFor = 20 * time.Minute

// Server makes the server that agents dial. The options bring its certificate: there is no
// way to it without TLS.
func (h *Hub) Server(secure ...grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(append(append(link.ServerOptions(), secure...),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 15 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 15 * time.Second, PermitWithoutStream: true}),
		grpc.MaxConcurrentStreams(4), grpc.ConnectionTimeout(10*time.Second), grpc.MaxHeaderListSize(2*mostToken),
		// What agents say is small: windows that grow with the line would take memory for each,
		// and so do buffers: TLS has one for what is read.
		grpc.InitialWindowSize(64<<10), grpc.InitialConnWindowSize(128<<10), grpc.ReadBufferSize(0), grpc.WriteBufferSize(8<<10),
	)...)
	link.Serve(s, h.connect)
	return s
}

// Guard bounds the connections of a listener for agents until it is known whose they are. It is to
// be called before the server serves.
func (h *Hub) Guard(l net.Listener) net.Listener {
	h.guard = NewGuard(l)
	return h.guard
}

// connect takes one agent's stream.
func (h *Hub) connect(stream link.Stream) error {
	ctx, cancel := context.WithTimeoutCause(stream.Context(), sessionFor+rand.N(sessionFor/2), errRenew)
	defer cancel()
	node, itself, err := h.whoIs(ctx)
	if err != nil {
		h.count(func(c *Counts) { c.Refused++ })
		h.o.Log.Warn("an agent was refused", "error", err)
		return status.Error(codes.Unauthenticated, err.Error())
	}
	if p, ok := peer.FromContext(ctx); ok && h.guard != nil {
		h.guard.Known(p.Addr.String())
	}
	s := &session{hub: h, node: node, itself: itself, stream: stream, turns: make(chan struct{}, link.MaxAsked), asks: map[uint64]chan<- link.Said{}}
	ctx, s.cancel = context.WithCancelCause(ctx)
	if err := h.enter(s); err != nil {
		return err
	}
	defer h.leave(s)
	err = s.run(ctx)
	h.o.Log.Debug("an agent went", "node", node, "error", err)
	if cause := context.Cause(ctx); errors.Is(cause, errRenew) || errors.Is(cause, errReplaced) {
		return status.Error(codes.Aborted, cause.Error())
	}
	return err
}

var (
	errRenew    = errors.New("it is time to show a token again")
	errReplaced = errors.New("another agent of the node has connected")
	errBeside   = status.Error(codes.AlreadyExists, "the node speaks for itself")
	errFull     = status.Error(codes.ResourceExhausted, "too many agents")
)

func bearer(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md.Get("authorization"); len(v) == 1 {
		if token, ok := strings.CutPrefix(v[0], "Bearer "); ok {
			return token
		}
	}
	return ""
}

// enter makes a session the one of its node: the newest stands, but that of the node itself
// before that of an agent beside it, which knows less.
func (h *Hub) enter(s *session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.nodes[s.node]
	if n == nil {
		if len(h.nodes) >= mostStreams {
			return errFull
		}
		n = &nodeState{name: s.node, pods: map[uidOf]*podState{}}
		h.nodes[s.node] = n
	}
	if n.session != nil && n.session.itself && !s.itself {
		return errBeside
	}
	if n.session != nil {
		n.session.cancel(errReplaced)
	}
	n.session, n.seen = s, time.Now()
	h.counts.Connected++
	close(h.changed)
	h.changed = make(chan struct{})
	return nil
}

func (h *Hub) leave(s *session) {
	s.cancel(nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.nodes[s.node]; n.session == s {
		n.session, n.seen = nil, time.Now()
	}
}

// Sweep forgets nodes that have been away for long, and where pods were. It is to be
// called now and then.
func (h *Hub) Sweep(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, n := range h.nodes {
		if n.session == nil && now.Sub(n.seen) > leftFor {
			for uid := range n.pods {
				h.forget(uid)
			}
			delete(h.nodes, name)
		}
	}
	for uid, l := range h.left {
		if now.Sub(l.at) > leftFor {
			delete(h.left, uid)
		}
	}
}
