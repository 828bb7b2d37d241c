package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const idler = `containers: [{name: c, image: "busybox:1", command: [sh, -c, "trap 'exit 0' TERM; sleep 100000 & wait"]}]`

// idle measures the stack without pods, ten seconds after its start.
func idle(ctx context.Context, b *bench) error {
	if err := pause(ctx, 10*time.Second); err != nil {
		return err
	}
	return b.measureUse(ctx, "idle", 30*time.Second)
}

// latency measures from just before the request that creates a pod to the watch
// event that shows it Ready, one pod at a time.
func latency(ctx context.Context, b *bench) error {
	var took []time.Duration
	for i := range 20 {
		wait, err := b.allReady(ctx, i+1)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := b.create(ctx, fmt.Sprintf("latency-%d", i), idler); err != nil {
			return err
		}
		if err := wait(); err != nil {
			return err
		}
		// The first brings what is made once, such as the bridge.
		if i > 0 {
			took = append(took, time.Since(began))
		}
	}
	b.addTimes("pod created to Ready", took)
	return b.remove(ctx)
}

// many is how many pods are created for density and probes.
const many = 100

// density creates a hundred pods at once, looks at what their shims hold, and
// deletes them at once.
func density(ctx context.Context, b *bench) error {
	took, err := b.createMany(ctx, idler)
	if err != nil {
		return err
	}
	b.results.Add("100 pods created to all Ready", "s", took.Seconds())
	if err := b.measureUse(ctx, "100 pods", 15*time.Second); err != nil {
		return err
	}
	began := time.Now()
	if err := b.remove(ctx); err != nil {
		return err
	}
	b.results.Add("100 pods deleted to all gone", "s", time.Since(began).Seconds())
	return nil
}

func (b *bench) createMany(ctx context.Context, spec string) (time.Duration, error) {
	wait, err := b.allReady(ctx, many)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	errs := make(chan error, many)
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() { errs <- b.create(ctx, fmt.Sprintf("many-%d", i), spec) })
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return 0, err
		}
	}
	err = wait()
	return time.Since(began), err
}

const probed = `
containers:
- name: c
  image: busybox:1
  command: [sh, -c, "mkdir /w; echo fine >/w/index.html; exec httpd -f -p 80 -h /w"]
  readinessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 30}
  livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 30}
`

// probes measures a hundred pods with two HTTP probes a second each, once all are
// Ready and ten seconds have passed.
func probes(ctx context.Context, b *bench) error {
	if _, err := b.createMany(ctx, probed); err != nil {
		return err
	}
	if err := pause(ctx, 10*time.Second); err != nil {
		return err
	}
	if err := b.measureUse(ctx, "100 pods x 2 HTTP probes/s", 30*time.Second); err != nil {
		return err
	}
	return b.remove(ctx)
}
