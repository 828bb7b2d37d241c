package cri_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/cri/critest"
	"whylet.dev/whylet/sense/containers"
)

// BenchmarkRestart measures what of a restart is the runtime's: from the end of a
// process to the event, and the calls that bring the next run to life. Every
// iteration is one crash of a container of a pod that lives on.
//
//	go test ./node/cri -run XXX -bench Restart -benchtime 50x
func BenchmarkRestart(b *testing.B) {
	n := critest.Start(b)
	p := n.RunPod(b, nil, critest.Sh("main", "exit 1"))
	events := follow(b, n, containers.WatchOptions{})
	m := &measures{}
	var ended time.Time // when the runtime says the process ended
	var before cri.ContainerView
	for i := 0; b.Loop(); i++ {
		config := p.Config("main", int32(i))
		var id string
		m.time("create", func() { id = must(n.Create(b.Context(), p.Sandbox.ID, config, p.SandboxConfig()))(b) })
		m.time("start", func() { noError(b, n.Client.Start(b.Context(), id)) })
		for {
			e := next(b, events)
			now := time.Now()
			if e.Kind != containers.ContainerChanged || e.Container.ID != id {
				continue
			}
			if e.Container.State == cri.Running && !ended.IsZero() {
				m.add("crash to next start", e.Container.StartedAt.Sub(ended))
			}
			if e.Container.State == cri.Exited {
				ended = e.Container.FinishedAt
				m.add("exit to event", now.Sub(ended))
				break
			}
		}
		m.time("status", func() { must(n.Status(b.Context(), id))(b) })
		m.time("inspect", func() { _, _, err := n.Inspect(b.Context(), id); noError(b, err) })
		m.time("sandbox", func() { must(n.Sandbox(b.Context(), p.Sandbox.ID))(b) })
		m.time("list", func() { must(n.List(b.Context()))(b) })
		if before.ID != "" {
			m.time("remove", func() { noError(b, n.Remove(b.Context(), before, false)) })
		}
		before = must(n.Status(b.Context(), id))(b)
	}
	m.report(b)
}

// BenchmarkSandbox measures a pod's way in and out.
func BenchmarkSandbox(b *testing.B) {
	n := critest.Start(b)
	p := n.RunPod(b, nil, critest.Sh("main", "sleep 100"))
	m := &measures{}
	for i := 0; b.Loop(); i++ {
		config := p.SandboxConfig()
		config.Metadata.Uid = fmt.Sprintf("%s-%d", p.UID, i)
		var v cri.SandboxView
		m.time("run sandbox", func() { v = must(n.RunSandbox(b.Context(), config, ""))(b) })
		m.time("stop sandbox", func() { noError(b, n.StopSandbox(b.Context(), v.ID)) })
		m.time("remove sandbox", func() { noError(b, n.RemoveSandbox(b.Context(), v.ID)) })
	}
	m.report(b)
}

// BenchmarkExec measures a command in a container, as exec probes and hooks run it.
func BenchmarkExec(b *testing.B) {
	n := critest.Start(b)
	p := n.RunPod(b, nil, critest.Sh("main", "sleep 1000"))
	id := p.Start("main", 0)
	m := &measures{}
	for b.Loop() {
		m.time("exec", func() {
			must(n.Exec(context.Background(), id, []string{"true"}, time.Minute, 100))(b)
		})
	}
	m.report(b)
}

// measures keeps durations by name and reports their medians and 99th percentiles.
type measures struct {
	names []string
	all   map[string][]time.Duration
}

func (m *measures) add(name string, d time.Duration) {
	if m.all == nil {
		m.all = map[string][]time.Duration{}
	}
	if _, ok := m.all[name]; !ok {
		m.names = append(m.names, name)
	}
	m.all[name] = append(m.all[name], d)
}

func (m *measures) time(name string, f func()) {
	began := time.Now()
	f()
	m.add(name, time.Since(began))
}

func (m *measures) report(b *testing.B) {
	for _, name := range m.names {
		all := m.all[name]
		slices.Sort(all)
		b.Logf("%-20s median %8.2f ms  p99 %8.2f ms  n=%d", name, ms(all[len(all)/2]), ms(all[len(all)*99/100]), len(all))
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		noError(t, err)
		return v
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
