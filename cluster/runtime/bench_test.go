package runtime

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// BenchmarkPods creates and removes a hundred pods through CRI, a few at a time,
// and reports what containerd and the shims cost meanwhile: proportional set
// size, and CPU time over ten idle seconds. WHYLET_BENCH_LIBEXEC names other
// helper programs to compare with.
func BenchmarkPods(b *testing.B) {
	const pods, atOnce = 100, 8
	c := testConfig("/tmp/wrtbench")
	if libexec := os.Getenv("WHYLET_BENCH_LIBEXEC"); libexec != "" {
		c.Libexec = libexec
	}
	if _, err := os.Stat(busybox); err != nil || os.Geteuid() != 0 {
		b.Skip("needs root and busybox-static")
	}
	r, err := Start(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := r.Stop(context.Background()); err != nil {
			b.Error(err)
		}
		if err := Purge(context.Background(), c); err != nil {
			b.Error(err)
		}
	}()
	if _, err := LoadImage(b.Context(), r.Endpoint(), boxArchive(b, "box.tar"), ""); err != nil {
		b.Fatal(err)
	}
	s := connect(b, r.Endpoint())
	idle := pss(b, []int{r.PID()}) / 1024
	for b.Loop() {
		b.ReportMetric(idle, "containerd-idle-MiB")
		before := cpu(b, withShims(b, c, r.PID()), true)
		began := time.Now()
		made := make([]pod, pods)
		each(pods, atOnce, func(i int) {
			var err error
			made[i], err = startPod(b.Context(), s, c, fmt.Sprintf("p%d", i), nil, "/bin/busybox", "sleep", "3600")
			if err != nil {
				b.Error(err)
			}
		})
		b.ReportMetric(time.Since(began).Seconds(), "create-s")

		all := withShims(b, c, r.PID())
		// The processes in the pods were runc before they became what they are.
		b.ReportMetric(1000*(cpu(b, withChildren(b, all), true)-before)/pods, "create-cpu-ms/pod")
		b.ReportMetric(float64(len(all)-1), "shims")
		b.ReportMetric(pss(b, all[1:])/1024, "shims-MiB")
		b.ReportMetric(pss(b, all[:1])/1024, "containerd-MiB")
		before = cpu(b, all, false)
		time.Sleep(10 * time.Second)
		b.ReportMetric(6*(cpu(b, all, false)-before), "idle-cpu-s/min")

		before = cpu(b, withChildren(b, all), true)
		began = time.Now()
		each(pods, atOnce, func(i int) {
			if _, err := s.runtime.StopPodSandbox(b.Context(), &cri.StopPodSandboxRequest{PodSandboxId: made[i].sandbox}); err != nil {
				b.Error(err)
			}
			if _, err := s.runtime.RemovePodSandbox(b.Context(), &cri.RemovePodSandboxRequest{PodSandboxId: made[i].sandbox}); err != nil {
				b.Error(err)
			}
		})
		b.ReportMetric(time.Since(began).Seconds(), "delete-s")
		b.ReportMetric(1000*(cpu(b, withShims(b, c, r.PID()), true)-before)/pods, "delete-cpu-ms/pod")
	}
}

// withShims are the pids of containerd and the shims.
func withShims(b *testing.B, c Config, containerd int) []int {
	b.Helper()
	shims, err := findProcesses(c.isShim)
	if err != nil {
		b.Fatal(err)
	}
	return append([]int{containerd}, shims...)
}

// withChildren adds the processes' living children.
func withChildren(b *testing.B, pids []int) []int {
	b.Helper()
	all, err := findProcesses(func([]string) bool { return true })
	if err != nil {
		b.Fatal(err)
	}
	with := slices.Clone(pids)
	for _, pid := range all {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // It has ended.
		}
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		if parent, err := strconv.Atoi(fields[1]); err == nil && slices.Contains(pids, parent) {
			with = append(with, pid)
		}
	}
	return with
}

// each calls f for 0 to n-1, so many at once.
func each(n, atOnce int, f func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}

// pss is the processes' proportional set size together, in KiB.
func pss(b *testing.B, pids []int) float64 {
	b.Helper()
	sum := 0.0
	for _, pid := range pids {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "Pss:" {
				kib, err := strconv.ParseFloat(fields[1], 64)
				if err != nil {
					b.Fatal(err)
				}
				sum += kib
			}
		}
	}
	return sum
}

// cpu is the processes' CPU time together, in seconds, with that of their ended
// children if told so (proc_pid_stat(5), in ticks of a hundredth).
func cpu(b *testing.B, pids []int, children bool) float64 {
	b.Helper()
	last := 13
	if children {
		last = 15
	}
	sum := 0.0
	for _, pid := range pids {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			b.Fatal(err)
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		for _, field := range fields[11:last] {
			ticks, err := strconv.ParseFloat(field, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += ticks / 100
		}
	}
	return sum
}
