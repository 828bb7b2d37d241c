package why

import (
	"fmt"
	"slices"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
)

// probeTableFull: the node could keep track of no more connections, and dropped the
// packets of new ones.
func probeTableFull(p *probing) *finding {
	for _, at := range slices.Backward(fact.All[fact.PacketsDropped](p.h.Node)) {
		if at.When().Before(p.from.Add(-p.period())) || at.When().After(p.until.Add(p.period())) {
			continue
		}
		return p.finds(answer.NetworkBlocked, certain, at).
			says("The node's table of connections was full (nf_conntrack_max), so the kernel dropped packets of new ones, and no connection of %s came about. Other pods of the node suffer from it too.", p.what()).
			fix(kubectl.OnNode("see how full it is, and raise the limit on the node", "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max"), kubectl.OnNode("see who opens that many", "conntrack -L 2>/dev/null | grep -oE 'src=[0-9.]+' | sort | uniq -c | sort -rn | head"))
	}
	return nil
}

// probeBlocked: packets are dropped or rejected on the way.
func probeBlocked(p *probing) *finding {
	f := p.finds(answer.NetworkBlocked, weak).says("Nothing comes back from port %d of the pod: %s.", p.port(), p.how())
	f.fixes = []answer.Fix{
		p.h.inspect("see which rules drop it", "nft list ruleset | grep -iE 'drop|reject'; iptables-save | grep -iE 'drop|reject'"),
		p.h.inside("ask from inside, past the network", p.run.Container, shell.Linef("wget -qO- -T 5 http://127.0.0.1:%d/", p.port())),
	}
	if errno := p.last.Evidence.Errno; errno == "EPERM" || errno == "EACCES" {
		f.weight = strong
	}
	if at, look, ok := p.look(); ok {
		here := p.here(look)
		switch {
		case p.mode == refused && !p.heldBefore(p.newestRefused()), p.gotThrough():
			return nil // it has come up since
		case len(here) > 0 && here[0].Backlog == 0:
			f.weight = strong
			f.chain = append(f.chain, link(at))
			f.text = fmt.Sprintf("Packets to port %d of the pod are dropped or refused on the way: %s listens there and has no connection waiting. Yet: %s.", p.port(), here[0].Address, p.how())
		case p.mode == refused:
			return nil
		}
	} else if p.mode == refused {
		return nil
	}
	return f
}

// newestRefused is the last of the attempts that was refused.
func (p *probing) newestRefused() *fact.Fact {
	for _, f := range slices.Backward(p.failed) {
		if _, m := p.read(fact.Of[fact.Probed](f)); m == refused {
			return f
		}
	}
	return p.failed[len(p.failed)-1]
}

// gotThrough says whether the newest attempt came to a connection, whatever came of that.
func (p *probing) gotThrough() bool {
	b := fact.Of[fact.Probed](p.failed[len(p.failed)-1])
	return b.Evidence != nil && b.Evidence.Connect > 0
}

// heldBefore says whether somebody is known to have listened on the port in this run
// before an attempt: an answer or a look tells.
func (p *probing) heldBefore(attempt *fact.Fact) bool {
	return len(p.before) > 0 || slices.ContainsFunc(p.run.Looks, func(f *fact.Fact) bool {
		return len(p.here(fact.Of[fact.Looked](f))) > 0 && f.Seen.Before(attempt.When())
	})
}
