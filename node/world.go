package node

import (
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/node/effect"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
)

// outside is the world as the loop sees it: everything that happens because of
// a turn, and nothing that waits.
type outside struct {
	reports
	effects *effect.Effects
	volumes *volumes.Manager
	probes  *probes
	hearers []hearer
}

// hearer is told of recorded facts, and does not wait.
type hearer interface{ Hear(f fact.Fact) }

func (o outside) act(p pods.Pod, d fact.Fact)             { o.effects.Act(p, d) }
func (o outside) publish(p fact.Pod, s v1.PodStatus)      { o.publisher.Publish(p, s) }
func (o outside) probe(p pods.Pod, wanted []health.Probe) { o.probes.want(p, wanted) }

// record lets all hear of a fact that do something with it.
func (o outside) record(f fact.Fact) {
	for _, h := range o.hearers {
		h.Hear(f)
	}
}

func (o outside) announce(pod *v1.Pod, f fact.Fact) { o.events.Announce(pod, f) }

// changed lets what is written into running pods follow their labels.
func (o outside) changed(p pods.Pod) {
	if p.Sandbox.ID != "" {
		o.volumes.Update(p.Object)
	}
}

// gone forgets a pod of which nothing is left.
func (o outside) gone(p pods.Pod) {
	o.publisher.Forget(p.Key)
	o.metrics.Forget(p.Key)
	o.probed.Forget(p.Key)
	if p.Source == fact.FromFile {
		go o.static.Gone(p.Key)
	}
}
