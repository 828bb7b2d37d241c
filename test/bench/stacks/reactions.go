package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// marks is a folder of the machine that a pod has as /v. What happens inside is
// told by files that it makes there, and their times.
type marks struct{ dir string }

func (b *bench) newMarks(pod string) (marks, error) {
	m := marks{filepath.Join(b.Dir, "marks", pod)}
	return m, os.MkdirAll(m.dir, 0o777)
}

// volume is the part of a pod's spec that mounts the folder.
func (m marks) volume() string {
	return "volumes: [{name: v, hostPath: {path: " + m.dir + "}}]\n"
}

// times are when the files were made whose names begin with prefix, in order.
func (m marks) times(prefix string) []time.Time {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return nil
	}
	var all []time.Time
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && strings.HasPrefix(entry.Name(), prefix) {
			all = append(all, info.ModTime())
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// wait waits for the n-th file of a prefix.
func (m marks) wait(ctx context.Context, prefix string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for len(m.times(prefix)) < n {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for %s number %d in %s: %w", prefix, n, m.dir, err)
		}
	}
	return nil
}

func (m marks) set(name string) error {
	return os.WriteFile(filepath.Join(m.dir, name), nil, 0o666)
}

// rounds is how many crashes or failing probes are timed.
const rounds = 25

// mark makes a file of its own name each time.
const mark = `n=$(ls /v | wc -l); : >/v/%s-$n`

// crash measures from the last thing that a process does before it exits with 1
// to the first thing that the next one does.
func crash(ctx context.Context, b *bench) error {
	script := fmt.Sprintf(mark+"; sleep 1.3; "+mark+"; exit 1", "started", "ended")
	var took []time.Duration
	for i := range rounds {
		name := fmt.Sprintf("crash-%d", i)
		m, err := b.newMarks(name)
		if err != nil {
			return err
		}
		spec := m.volume() + fmt.Sprintf("containers: [{name: c, image: 'busybox:1', command: [sh, -c, %q], volumeMounts: [{name: v, mountPath: /v}]}]", script)
		if err := b.create(ctx, name, spec); err != nil {
			return err
		}
		if err := m.wait(ctx, "started", 2); err != nil {
			return err
		}
		took = append(took, m.times("started")[1].Sub(m.times("ended")[0]))
		if err := b.removeNow(ctx, name); err != nil {
			return err
		}
	}
	b.addTimes("crash to next start", took)
	return b.remove(ctx)
}

func (b *bench) removeNow(ctx context.Context, name string) error {
	now := int64(0)
	return b.Client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// sickness is a container that serves HTTP and answers the probe at
// /cgi-bin/probe with an error, and marks that, while there is a file named sick.
func sickness(probe string) string {
	script := "mkdir -p /w/cgi-bin; cp /v/probe /w/cgi-bin/probe; chmod +x /w/cgi-bin/probe; trap 'exit 0' TERM; " +
		fmt.Sprintf(mark, "started") + "; httpd -f -p 80 -h /w & wait"
	return fmt.Sprintf("containers: [{name: c, image: 'busybox:1', command: [sh, -c, %q], volumeMounts: [{name: v, mountPath: /v}],"+
		" %s: {httpGet: {path: /cgi-bin/probe, port: 80}, initialDelaySeconds: 1, periodSeconds: 1, failureThreshold: 1}}]", script, probe)
}

const answer = "#!/bin/sh\nif [ -e /v/sick ]; then " + mark + "; printf 'HTTP/1.0 500 sick\\r\\n\\r\\n'; else printf 'HTTP/1.0 200 fine\\r\\n\\r\\n'; fi\n"

func (b *bench) createSick(ctx context.Context, name, probe string) (marks, error) {
	m, err := b.newMarks(name)
	if err != nil {
		return m, err
	}
	if err := os.WriteFile(filepath.Join(m.dir, "probe"), fmt.Appendf(nil, answer, "failed"), 0o777); err != nil {
		return m, err
	}
	return m, b.create(ctx, name, m.volume()+sickness(probe))
}

// liveness measures from the first failing answer to a liveness probe to the
// first thing that the new container does.
func liveness(ctx context.Context, b *bench) error {
	var took []time.Duration
	for i := range rounds {
		name := fmt.Sprintf("liveness-%d", i)
		m, err := b.createSick(ctx, name, "livenessProbe")
		if err != nil {
			return err
		}
		if err := m.wait(ctx, "started", 1); err != nil {
			return err
		}
		if err := m.set("sick"); err != nil {
			return err
		}
		if err := m.wait(ctx, "started", 2); err != nil {
			return err
		}
		took = append(took, m.times("started")[1].Sub(m.times("failed")[0]))
		if err := b.removeNow(ctx, name); err != nil {
			return err
		}
	}
	b.addTimes("failing liveness probe to new container", took)
	return b.remove(ctx)
}

// readiness measures from the first failing answer to a readiness probe to the
// watch event that shows the endpoint not ready.
func readiness(ctx context.Context, b *bench) error {
	const name = "readiness"
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []v1.ServicePort{{Port: 80}}},
	}
	if _, err := b.Client.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	slices, err := watchAll(ctx, b.Client.DiscoveryV1().RESTClient(), "endpointslices", &discovery.EndpointSlice{})
	if err != nil {
		return err
	}
	defer slices.Stop()
	m, err := b.createSick(ctx, name, "readinessProbe")
	if err != nil {
		return err
	}
	var took []time.Duration
	for range rounds {
		if _, err := endpoint(ctx, slices, true); err != nil {
			return err
		}
		failures := len(m.times("failed"))
		if err := m.set("sick"); err != nil {
			return err
		}
		at, err := endpoint(ctx, slices, false)
		if err != nil {
			return err
		}
		took = append(took, at.Sub(m.times("failed")[failures]))
		if err := os.Remove(filepath.Join(m.dir, "sick")); err != nil {
			return err
		}
	}
	b.addTimes("failing readiness probe to EndpointSlice changed", took)
	return b.remove(ctx)
}

// endpoint waits until the watch shows an endpoint that is ready, or none that
// is, and says when.
func endpoint(ctx context.Context, w watch.Interface, wanted bool) (at time.Time, err error) {
	err = follow(ctx, w, time.Minute, func(e watch.Event) bool {
		slice, ok := e.Object.(*discovery.EndpointSlice)
		if !ok {
			return false
		}
		at = time.Now()
		return len(slice.Endpoints) > 0 && (slice.Endpoints[0].Conditions.Ready != nil && *slice.Endpoints[0].Conditions.Ready) == wanted
	})
	return at, err
}
