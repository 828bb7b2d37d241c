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
func (h *History) listening() *answer.Listening {
	var newest *fact.Fact
	for _, name := range h.Containers() {
		run := h.Last(name)
		if run == nil || run.Exit != nil {
			continue
		}
		for _, f := range run.Looks {
			if of[fact.Looked](f).Error == "" && (newest == nil || f.Seen.After(newest.Seen)) {
				newest = f
			}
		}
	}
	if newest == nil {
		return nil
	}
	l := listeningIn(newest.Seen, of[fact.Looked](newest))
	for i := range h.Facts {
		b, ok := h.Facts[i].Body.(fact.Probed)
		if ok && b.Verdict == fact.Success && b.Evidence != nil && b.Evidence.Handler != "exec" && !h.Facts[i].Seen.Before(newest.Seen) {
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
		if host, port, ok := splitAddress(s.Address); ok && !loopback(host) {
			l.Add(port)
		}
	}
	return l
}

// LookedAt takes a look into one of the pod's containers that was made for the answer.
func LookedAt(a *answer.Answer, at time.Time, look fact.Looked) {
	if look.Error == "" {
		a.Listening = listeningIn(at, look)
		slices.Sort(a.Listening.Ports)
	}
}
