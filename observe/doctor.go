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

const withoutRuntime = "a container's end is learned a second late, from the API server, without the last lines of its log"

func seesRuntime(ctx context.Context, endpoint string) Sight {
	s := Sight{Name: "container runtime"}
	if endpoint == "none" {
		s.What = "not asked, as told (none); " + withoutRuntime
		return s
	}
	if endpoint = findRuntime(endpoint); endpoint == "" {
		s.What = "no socket where kubelet is configured to find one, nor at the usual places (name it: kubectl why install --runtime-endpoint); " + withoutRuntime
		return s
	}
	c, err := runtime.Dial(ctx, endpoint)
	if err != nil {
		s.What = fmt.Sprintf("%v; %s", err, withoutRuntime)
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
		s.What = fmt.Sprintf("%v; OOM kills of child processes are not seen, nor whose limit was reached", err)
		return s
	}
	defer f.Close()
	s.Seen, s.What = true, "OOM kills, with the process and the limit, back to when the machine started"
	return s
}

func seesProcesses() Sight {
	s := Sight{Name: "wait statuses"}
	c, err := evidence.OpenConnector(func(evidence.ProcessEvent) {}, func() {})
	if err != nil {
		s.What = fmt.Sprintf("%v; an exit with code 137 and a SIGKILL look the same", err)
		return s
	}
	defer c.Close()
	s.Seen, s.What = true, "how each process of a container ended, as the kernel tells it"
	return s
}

func seesSignals() Sight {
	s := Sight{Name: "signals"}
	t, err := evidence.OpenSignals(func(evidence.Signal) {}, func(int64) {})
	if err != nil {
		s.What = fmt.Sprintf("%v; whether somebody ended a container is not known unless kubelet says so", err)
		return s
	}
	defer t.Close()
	s.Seen, s.What = true, "who sent SIGTERM and SIGKILL, and so whether somebody ended a container"
	return s
}

func seesKubelet() Sight {
	s := Sight{Name: "kubelet"}
	k, ok := kubelet.Find()
	if !ok {
		s.What = "no process of that name; what it says is known only from its events, and it drops most of those"
		return s
	}
	s.Seen, s.What = true, k.String()
	return s
}

func seesAttempts() Sight {
	s := Sight{Name: "probe attempts"}
	k, ok := kubelet.Find()
	if !ok {
		s.What = "no kubelet runs here that makes them"
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
		s.What = fmt.Sprintf("%v; of a failed probe only what kubelet says is known, not how long it took nor what was answered", err)
		return s
	}
	s.Seen, s.What = true, "each one, by its packets on "+dir
	return s
}
