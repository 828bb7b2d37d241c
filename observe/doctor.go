package observe

import (
	"context"
	"fmt"
	"os"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/observe/runtime"
	"whylet.dev/whylet/observe/tap"
)

// Sight is one thing that the agent can or cannot see.
type Sight struct {
	Name string
	Seen bool
	// What is what was found; where it is not seen, why not and what that costs.
	What string
}

// Examine looks what can be seen on this machine. It leaves nothing behind.
func Examine(ctx context.Context, endpoint string) []Sight {
	return []Sight{seesRuntime(ctx, endpoint), seesKernelLog(), seesProcesses(), seesSignals(), seesKubelet(), seesAttempts()}
}

func seesRuntime(ctx context.Context, endpoint string) Sight {
	s := Sight{Name: "container runtime"}
	if endpoint == "none" {
		s.What = "none is to be asked; ends are known a second late, from the API server, and without the last lines of logs"
		return s
	}
	if endpoint = findRuntime(endpoint); endpoint == "" {
		s.What = "no socket at the usual places; ends are known a second late, from the API server, and without the last lines of logs"
		return s
	}
	c, err := runtime.Dial(ctx, endpoint)
	if err != nil {
		s.What = err.Error()
		return s
	}
	defer c.Close()
	s.Seen, s.What = true, fmt.Sprintf("%s %s at %s", c.Name, c.Version, endpoint)
	return s
}

func seesKernelLog() Sight {
	s := Sight{Name: "kernel's log"}
	f, err := os.Open("/dev/kmsg")
	if err != nil {
		s.What = fmt.Sprintf("%v; OOM kills of children are not seen, and what the limit was", err)
		return s
	}
	defer f.Close()
	s.Seen, s.What = true, "OOM kills with victim and limit, also those of before, since the machine started"
	return s
}

func seesProcesses() Sight {
	s := Sight{Name: "wait statuses"}
	c, err := evidence.OpenConnector(func(evidence.ProcessEvent) {}, func() {})
	if err != nil {
		s.What = fmt.Sprintf("%v; exit 137 and killed by SIGKILL look alike", err)
		return s
	}
	defer c.Close()
	s.Seen, s.What = true, "how each process of a container ended, by the kernel's own word"
	return s
}

func seesSignals() Sight {
	s := Sight{Name: "signals"}
	t, err := evidence.OpenSignals(func(evidence.Signal) {}, func(int64) {})
	if err != nil {
		s.What = fmt.Sprintf("%v; whether an end was ordered is not known where kubelet does not say so", err)
		return s
	}
	defer t.Close()
	s.Seen, s.What = true, "who sent SIGTERM and SIGKILL, so that an end that nobody ordered is known as one"
	return s
}

func seesKubelet() Sight {
	s := Sight{Name: "kubelet"}
	k, ok := kubelet.Find()
	if !ok {
		s.What = "no process of that name; its own words are heard as events only, and of those it gives up most"
		return s
	}
	s.Seen, s.What = true, k.String()
	return s
}

func seesAttempts() Sight {
	s := Sight{Name: "probe attempts"}
	k, ok := kubelet.Find()
	if !ok {
		s.What = "there is no kubelet to see them of"
		return s
	}
	dir, err := tap.CgroupOf(k.PID)
	if err == nil {
		var on *tap.Tap
		if on, err = tap.Open(dir); err == nil {
			err = on.Close()
		}
	}
	if err != nil {
		s.What = fmt.Sprintf("%v; of failed probes only kubelet's words are known, and times and answers are not", err)
		return s
	}
	s.Seen, s.What = true, "each one, by its packets on "+dir
	return s
}
