package node

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/object"
	"whylet.dev/whylet/node/shutdown"
	"whylet.dev/whylet/pods"
)

// newShutdown makes what ends the pods before their machine shuts down. It is told of each
// shutdown in kubelet's events, and by a fact.
func newShutdown(g ground, in inbox, own *object.Own, r reports) *shutdown.Manager {
	event := r.nodeEvent(g.config.Name)
	var m *shutdown.Manager
	m = shutdown.New(shutdown.Config{
		Periods: g.config.Shutdown, Connect: shutdown.ConnectLogind, Known: r.known, Log: g.log,
		End: func(p pods.Pod, grace int64) {
			if p.Source == fact.FromFile {
				r.static.End(p.Object, grace)
				return
			}
			in.submit(fact.Fact{Pod: p.Key, Body: fact.NodeShutdown{GraceSeconds: grace}})
		},
		Changed: func(begins bool) {
			r.static.Hold(begins)
			own.Changed()
			message := "Shutdown manager detected shutdown event"
			if !begins {
				message = "Shutdown manager detected shutdown cancellation"
			}
			event(object.Event{Type: v1.EventTypeNormal, Reason: fact.ShutdownReason, Message: message})
			in.submit(fact.Fact{Body: fact.NodeShutdown{GraceSeconds: int64(m.Grace() / time.Second), Cancelled: !begins}})
		},
	})
	return m
}
