package runtime

import (
	"context"
	"fmt"
	"os"
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

		shims, err := findProcesses(c.isShim)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(shims)), "shims")
		b.ReportMetric(pss(b, shims)/1024, "shims-MiB")
		b.ReportMetric(pss(b, []int{r.PID()})/1024, "containerd-MiB")
		before := cpu(b, append(shims, r.PID()))
		time.Sleep(10 * time.Second)
		b.ReportMetric(6*(cpu(b, append(shims, r.PID()))-before), "idle-cpu-s/min")

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
	}
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

// cpu is the processes' CPU time together, in seconds (proc_pid_stat(5), in
// ticks of a hundredth).
func cpu(b *testing.B, pids []int) float64 {
	b.Helper()
	sum := 0.0
	for _, pid := range pids {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			b.Fatal(err)
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		for _, field := range fields[11:13] {
			ticks, err := strconv.ParseFloat(field, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += ticks / 100
		}
	}
	return sum
}
