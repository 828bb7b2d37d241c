package probe

import (
	"hash/fnv"
	"io"
	"time"
)

// How due times differ from kubelet's (pkg/kubelet/prober/worker.go), which
// ticks from the moment it learns of the pod:
//
//   - The first attempt is due when initialDelaySeconds are over, not at the next
//     tick after that.
//   - Attempts then come at fixed distances. The second comes up to a tenth of a
//     period later than that, so that probes of containers which started together
//     drift apart; never sooner, so that no threshold is reached before its time.
//   - A container that ran for longer than a period already when the agent started
//     is first probed within one period. kubelet draws that at random; here it
//     follows from the probe's identity, so a restart changes nothing. One whose
//     startup probe took that long is probed at once, as kubelet does it.
//   - Due times in a probe's later life lie on ticks of 25 ms, so that two hundred
//     probes a second wake the agent 40 times, and ten thousand do no more.
//   - An attempt that outlasts its period is followed at once by one more, and
//     the fixed distances go on: what Go's ticker does for kubelet.

// firstDue says when the first attempt is due. The container's start is wall
// time, so a clock that was set back must not delay the probe by more than its
// initial delay. up is for how long probes have been run.
func firstDue(pl *plan, now time.Time, up time.Duration, share float64) time.Time {
	age := now.Sub(pl.startedAt.Round(0))
	if pl.startedAt.IsZero() || age < 0 {
		age = 0
	}
	if wait := pl.delay - age; wait > 0 {
		return now.Add(wait)
	}
	if age-pl.delay > pl.period && up < pl.period {
		return now.Add(portion(pl.period, share))
	}
	return now
}

// nextDue says when the attempt after the one due at the given time is due. It
// may be in the past, when that one lasted for longer than a period; of several
// missed ones only the latest is made up for.
func nextDue(due, now time.Time, period time.Duration) time.Time {
	missed := max(now.Sub(due)/period, 1)
	return due.Add(missed * period)
}

// parting is how much later than its distance the second attempt is due.
func parting(period time.Duration, share float64) time.Duration {
	return portion(period/10, share)
}

// tick is the distance of the moments at which periodic attempts are due. It
// divides every period, since those are whole seconds.
const tick = 25 * time.Millisecond

// onTick gives the first tick that is not before due.
func onTick(epoch, due time.Time) time.Time {
	since := due.Sub(epoch)
	if since <= 0 {
		return due
	}
	return epoch.Add((since + tick - 1) / tick * tick)
}

func portion(of time.Duration, share float64) time.Duration {
	return time.Duration(float64(of) * share)
}

// share gives a probe its place in the period, in [0, 1): the same for all runs
// of the container.
func (k Key) share() float64 {
	h := fnv.New64a()
	for _, part := range []string{string(k.Pod), k.Container, string(k.Kind)} {
		_, _ = io.WriteString(h, part) // a hash takes everything
		_, _ = h.Write([]byte{0})
	}
	// FNV's high bits hardly see the last bytes; murmur3's finalizer mixes them in.
	x := h.Sum64()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
