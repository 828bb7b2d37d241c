package why

import (
	"slices"
	"strconv"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// listening is what the pod's containers listen on, by the newest look into one
// that still runs: its containers share a network namespace, so one look sees all.
// Ports that were probed well since then count too.
func (h *inquiry) listening() *answer.Listening {
	var newest *fact.Fact
	for _, name := range h.Containers() {
		run := h.Last(name)
		if run == nil || run.Exit != nil {
			continue
		}
		for _, f := range run.Looks {
			if fact.Of[fact.Looked](f).Error == "" && (newest == nil || f.Seen.After(newest.Seen)) {
				newest = f
			}
		}
	}
	if newest == nil {
		return nil
	}
	l := listeningIn(newest.Seen, fact.Of[fact.Looked](newest))
	for i := range h.Facts {
		b, ok := h.Facts[i].Body.(fact.Probed)
		if ok && b.Verdict == fact.Success && b.Evidence != nil && b.Evidence.Handler != fact.Exec && !h.Facts[i].Seen.Before(newest.Seen) {
			p := probing{last: b}
			l.Add(strconv.Itoa(p.port()))
		}
	}
	slices.Sort(l.Ports)
	return l
}

func listeningIn(at time.Time, look fact.Looked) *answer.Listening {
	l := &answer.Listening{At: at, Ports: []int32{}}
	for _, s := range look.Listeners {
		host, port, ok := splitAddress(s.Address)
		switch {
		case !ok:
		case loopback(host):
			l.AddLoopback(port)
		default:
			l.Add(port)
		}
	}
	return l
}
