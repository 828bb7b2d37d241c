package main

import (
	"context"
	"slices"
	"time"

	"whylet.dev/whylet/test/peer"
)

// usage is what a role of a stack uses.
type usage struct {
	rss, pss int64
	cpu      time.Duration
	count    int
}

// The roles. Whylet's control plane and agent are one process; on the real stack
// they are five, and what the kubelet of them uses is shown as well.
const (
	everything = "all"
	control    = "control plane and agent"
	kubelet    = "kubelet alone"
	runtime    = "containerd"
	shims      = "shims"
)

func rolesOf(p peer.Process) []string {
	roles := []string{everything}
	switch {
	case p.Name == "containerd-shim-runc-v2":
		return append(roles, shims)
	case p.Name == "containerd", slices.Contains(p.Args, "containerd"):
		return append(roles, runtime)
	case p.Name == "kubelet":
		roles = append(roles, kubelet)
	}
	return append(roles, control)
}

// use sums up the stack's processes by role.
func (b *bench) use() (map[string]usage, error) {
	processes, err := b.Processes()
	if err != nil {
		return nil, err
	}
	sums := map[string]usage{}
	for _, p := range processes {
		for _, role := range rolesOf(p) {
			u := sums[role]
			u.rss, u.pss, u.cpu, u.count = u.rss+p.RSS, u.pss+p.PSS, u.cpu+p.CPU, u.count+1
			sums[role] = u
		}
	}
	return sums, nil
}

// measureUse adds CPU seconds a minute over a window, and memory at its end.
// Runs of short-lived helpers (runc) count where their parents waited for them.
func (b *bench) measureUse(ctx context.Context, what string, window time.Duration) error {
	before, err := b.use()
	if err != nil {
		return err
	}
	if err := pause(ctx, window); err != nil {
		return err
	}
	after, err := b.use()
	if err != nil {
		return err
	}
	for _, role := range []string{everything, control, kubelet, runtime, shims} {
		u, ok := after[role]
		if !ok || role == shims && u.count == 0 {
			continue
		}
		cpu := (u.cpu - before[role].cpu).Seconds() * float64(time.Minute) / float64(window)
		b.results.Add(what+", CPU, "+role, "s/min", cpu)
		b.results.Add(what+", memory (PSS), "+role, "MiB", float64(u.pss>>10)/1024)
	}
	b.results.Add(what+", memory (RSS), "+everything, "MiB", float64(after[everything].rss>>10)/1024)
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
