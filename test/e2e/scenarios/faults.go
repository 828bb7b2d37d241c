package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// fault is a part of the real stack that is killed as a crash would, and started again.
type fault string

const (
	killKubelet fault = "kubelet"
	killRuntime fault = "containerd"
	killAgent   fault = "agent"
)

// Faults kills kubelet, the runtime and the agent at random until ctx ends, on average once in
// every. It gives how often each was killed.
func (k *Kubelet) Faults(ctx context.Context, every time.Duration) (killed map[string]int, err error) {
	killed = map[string]int{}
	for {
		pause(ctx, every/2+rand.N(every))
		if ctx.Err() != nil {
			return killed, err
		}
		one := []fault{killKubelet, killRuntime, killAgent}[rand.N(3)]
		// What was begun is done: the next one, and what is asked at the end, needs all of them.
		if failed := k.fault(context.WithoutCancel(ctx), one); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", one, failed))
		}
		killed[string(one)]++
	}
}

func (k *Kubelet) fault(ctx context.Context, one fault) error {
	k.lock.Lock()
	defer k.lock.Unlock()
	switch one {
	case killKubelet:
		return k.stack.RestartKubelet(ctx)
	case killRuntime:
		return k.stack.RestartRuntime()
	}
	return errors.Join(k.endAgent(), k.startAgent(ctx))
}

// Agent is what the agent uses now: memory in bytes and open files; 0 where it does not run.
func (k *Kubelet) Agent() (memory int64, files int) {
	all, err := k.stack.Processes()
	if err != nil {
		return 0, 0
	}
	for _, p := range all {
		if p.Name == "whylet-observe" && len(p.Args) > 1 && p.Args[1] == "agent" {
			return p.RSS, p.Files()
		}
	}
	return 0, 0
}
