package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/pods"
)

// counts reads kubelet's own counters of its probes: they count every attempt, whatever
// it logs, and commands too, which no tap sees.
type counts struct {
	agent *Agent
	read  func(context.Context) ([]byte, error)
	// serving is the kubelet of which it was seen that it serves.
	serving kubelet.Process

	mu   sync.Mutex // held while last and at are replaced, or read by others
	last map[kubelet.ProbeOf]kubelet.Count
	at   time.Time // when last was read; zero: never
	// ended hands over containers that ended: their counters belong to that run.
	ended chan fact.Fact
}

const (
	// countEvery is how often the counters are read, countApart how long at least lies
	// between two readings when containers end.
	countEvery = 30 * time.Second
	countApart = time.Second
	// countWithin bounds one reading.
	countWithin = 5 * time.Second
)

func newCounts(a *Agent) *counts {
	url := fmt.Sprintf("https://%s/metrics/probes", net.JoinHostPort("127.0.0.1", strconv.Itoa(kubeletPort)))
	c := &counts{agent: a, ended: make(chan fact.Fact, 64)}
	c.read = func(ctx context.Context) ([]byte, error) {
		if err := c.found(); err != nil {
			return nil, err
		}
		return a.api.Beside(ctx, url)
	}
	return c
}

// found is nil if kubelet is there and serves. Who holds its port is looked for once in its
// life: that reads the whole table of the machine's connections.
func (c *counts) found() error {
	if c.serving.PID != 0 && c.serving.Lives() {
		return nil
	}
	process, ok := kubelet.Find()
	if !ok {
		return errors.New("no kubelet runs on this machine")
	}
	if err := serves(process.PID, kubeletPort); err != nil {
		return err
	}
	c.serving = process
	return nil
}

// fine says whether all probes of a pod that has run for a while are known to be made and to
// succeed. One that cannot be made at all is not counted.
func (c *counts) fine(pod pods.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range pod.Containers {
		for _, kind := range []fact.ProbeKind{fact.Startup, fact.Liveness, fact.Readiness} {
			n := c.last[kubelet.ProbeOf{UID: pod.Key.UID, Namespace: pod.Key.Namespace, Name: pod.Key.Name, Container: name, Kind: kind}]
			if probeOf(pod, name, kind) != nil && (n.Successes == 0 || n.Failures > 0 || n.Unknowns > 0) {
				return false
			}
		}
	}
	return len(pod.Containers) > 0
}

// serves is nil if a process of this network namespace holds a port. A kubelet's
// certificate is often its own, and proves nothing; so whoever takes the port
// while kubelet is away would be sent the agent's token.
func serves(pid, port int) error {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	if its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err != nil || its != own {
		return fmt.Errorf("kubelet (process %d) is in another network namespace", pid)
	}
	looked := new(evidence.Looker).Listening(pid, []int{pid})
	if !slices.ContainsFunc(looked.Listeners, func(l fact.Listener) bool {
		_, its, err := net.SplitHostPort(l.Address)
		return err == nil && its == strconv.Itoa(port) && l.PID == pid
	}) {
		return fmt.Errorf("kubelet (process %d) does not listen on port %d", pid, port)
	}
	return nil
}

// kubeletPort is where kubelet serves (its --port).
const kubeletPort = 10250

// heard learns of ends. It does not wait: what is left out is told by the next reading.
func (c *counts) heard(f fact.Fact) {
	if _, ok := f.Body.(fact.Exited); ok {
		select {
		case c.ended <- f:
		default:
		}
	}
}

// run reads until ctx ends. A kubelet that does not let itself be asked is asked again,
// and said once.
func (c *counts) run(ctx context.Context) {
	ticker := time.NewTicker(countEvery)
	defer ticker.Stop()
	var refused bool
	var ends []fact.Fact
	for {
		ends = c.gather(ends)
		page, err := c.page(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !refused:
			c.agent.o.Log.Info("kubelet's counters of its probes are not read", "error", err)
		case err == nil:
			for _, f := range c.tell(kubelet.ReadCounters(page), ends, time.Now().UTC()) {
				c.agent.loop.submit(f)
			}
		}
		refused, ends = err != nil, nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(countApart):
		}
		ended := c.ended
		if refused {
			ended = nil // an end would not make it willing
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case f := <-ended:
			ends = append(ends, f)
		}
	}
}

func (c *counts) page(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	return c.read(ctx)
}

// gather adds the ends that are known by now.
func (c *counts) gather(ends []fact.Fact) []fact.Fact {
	for {
		select {
		case f := <-c.ended:
			ends = append(ends, f)
		default:
			return ends
		}
	}
}

// tell makes facts of what was counted since the last reading: of each probe that failed
// meanwhile, and of each whose container ended.
func (c *counts) tell(now map[kubelet.ProbeOf]kubelet.Count, ends []fact.Fact, at time.Time) []fact.Fact {
	var all []fact.Fact
	for of, n := range now {
		pod, ok := c.agent.loop.pods.Get(of.UID)
		if !ok {
			continue
		}
		b := fact.Counted{Probe: of.Kind, Successes: n.Successes, Failures: n.Failures, Unknowns: n.Unknowns}
		was, had := c.last[of]
		if !c.at.IsZero() && (!had || n.Successes >= was.Successes && n.Failures >= was.Failures) {
			b.From, b.NewSuccesses, b.NewFailures = c.at, n.Successes-was.Successes, n.Failures-was.Failures
		} // else they began anew with kubelet, or nothing is known of before
		end := slices.IndexFunc(ends, func(f fact.Fact) bool { return f.Pod.UID == of.UID && f.Container == of.Container })
		if end < 0 && b.NewFailures == 0 && (!b.From.IsZero() || b.Failures == 0) {
			continue
		}
		f := fact.Fact{At: at, Pod: pod.Key, Container: of.Container, Body: b}
		if end >= 0 {
			f.Attempt = ends[end].Attempt
		} else {
			f.Attempt, _ = c.agent.loop.runs.exactly(of.UID, of.Container, at)
		}
		all = append(all, f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.at = now, at
	return all
}
