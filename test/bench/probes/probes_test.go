// Package probes_test measures what ten thousand one-second HTTP probes cost:
// package probe beside the prober of kubelet v1.37.2, each in a process of its
// own, against one server in a third.
package probes_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet/prober"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
	"k8s.io/kubernetes/pkg/kubelet/status"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/probe"
)

// probes is how many there are; WHYLET_BENCH_PROBES sets another number for
// machines that cannot serve ten thousand a second beside making them.
var probes = func() int {
	if n, err := strconv.Atoi(os.Getenv("WHYLET_BENCH_PROBES")); err == nil {
		return n
	}
	return 10_000
}()

const (
	period   = time.Second
	warmUp   = 5 * time.Second
	measured = 20 * time.Second
	// role says, in a child's environment, who makes the probes; ports says where.
	role, ports = "WHYLET_BENCH_PROBER", "WHYLET_BENCH_PORTS"
)

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "whylet":
		runWhylet(targets())
	case "kubelet":
		runKubelet(targets())
	default:
		os.Exit(m.Run())
	}
}

func BenchmarkTenThousandProbes(b *testing.B) {
	s := newServer(b)
	for range b.N {
		kubelet, whylet := s.measure(b, "kubelet"), s.measure(b, "whylet")
		fmt.Printf("\n%d probes, one a second each, for %v\n", probes, measured)
		fmt.Printf("%-10s %12s %10s %10s %10s %9s %8s\n", "", "CPU a probe", "p50 late", "p99 late", "max late", "attempts", "RSS MiB")
		for _, m := range []measurement{kubelet, whylet} {
			fmt.Println(m)
		}
		fmt.Printf("kubelet / whylet: CPU %.2f, memory %.2f\n", float64(kubelet.cpu)/float64(whylet.cpu), float64(kubelet.rss)/float64(whylet.rss))
		b.ReportMetric(float64(whylet.cpu.Nanoseconds()), "cpu-ns/probe")
		b.ReportMetric(float64(kubelet.cpu)/float64(whylet.cpu), "kubelet/whylet")
		b.ReportMetric(float64(whylet.p99.Microseconds()), "p99-late-µs")
	}
}

type measurement struct {
	who           string
	cpu           time.Duration // a probe, user and system
	p50, p99, max time.Duration
	attempts      int
	rss           int64
}

func (m measurement) String() string {
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	return fmt.Sprintf("%-10s %12v %10v %10v %10v %9d %8d",
		m.who, m.cpu.Round(100*time.Nanosecond), round(m.p50), round(m.p99), round(m.max), m.attempts, m.rss>>20)
}

// server answers every probe and notes when it came.
type server struct {
	ports    []string
	mu       sync.Mutex
	arrivals [][]time.Time // by probe
}

// newServer listens on many ports, so that no pair of addresses runs out of
// ephemeral ports.
func newServer(b *testing.B) *server {
	s := &server{}
	for range 64 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = l.Close() })
		s.ports = append(s.ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
		go s.accept(l)
	}
	return s
}

func (s *server) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go s.answer(conn)
	}
}

func (s *server) answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	now := time.Now()
	var buf [1024]byte
	n, err := conn.Read(buf[:])
	if err != nil {
		return
	}
	_, path, _ := bytes.Cut(buf[:n], []byte("GET /"))
	number, _, _ := bytes.Cut(path, []byte(" "))
	if id, err := strconv.Atoi(string(number)); err == nil && id < probes {
		s.mu.Lock()
		if s.arrivals != nil {
			s.arrivals[id] = append(s.arrivals[id], now)
		}
		s.mu.Unlock()
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
}

func (s *server) record(on bool) [][]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	recorded := s.arrivals
	s.arrivals = nil
	if on {
		s.arrivals = make([][]time.Time, probes)
	}
	return recorded
}

func (s *server) measure(b *testing.B, who string) measurement {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), role+"="+who, ports+"="+strings.Join(s.ports, ","))
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // Pdeathsig is the thread's death
	defer runtime.UnlockOSThread()
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = child.Wait() }()
	defer func() { _ = child.Process.Kill() }()
	time.Sleep(warmUp)
	s.record(true)
	before, _ := usage(b, child.Process.Pid)
	time.Sleep(measured)
	after, rss := usage(b, child.Process.Pid)
	m := lateness(s.record(false))
	m.who, m.rss = who, rss
	if m.attempts == 0 {
		b.Fatalf("%s made no attempt", who)
	}
	m.cpu = (after - before) / time.Duration(m.attempts)
	return m
}

// usage reads a process's CPU time (in ticks of 10 ms) and resident memory.
func usage(b *testing.B, pid int) (cpu time.Duration, rss int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := bytes.Cut(data, []byte(") "))
	fields := strings.Fields(string(rest))
	number := func(i int) int64 {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return time.Duration(number(11)+number(12)) * 10 * time.Millisecond, number(21) * int64(os.Getpagesize())
}

// lateness compares each arrival with the earliest grid of one a second on which
// none of the probe's arrivals is early.
func lateness(arrivals [][]time.Time) measurement {
	var m measurement
	var late []time.Duration
	for _, times := range arrivals {
		if len(times) == 0 {
			continue
		}
		var least time.Duration
		offsets := make([]time.Duration, len(times))
		for i, t := range times {
			since := t.Sub(times[0])
			offsets[i] = since - since.Round(period)
			least = min(least, offsets[i])
		}
		for _, o := range offsets {
			late = append(late, o-least)
		}
	}
	slices.Sort(late)
	m.attempts = len(late)
	if len(late) > 0 {
		m.p50, m.p99, m.max = late[len(late)/2], late[len(late)*99/100], late[len(late)-1]
	}
	return m
}

func targets() []int {
	var list []int
	for _, p := range strings.Split(os.Getenv(ports), ",") {
		n, err := strconv.Atoi(p)
		if err != nil {
			panic(err)
		}
		list = append(list, n)
	}
	return list
}

func specOf(i int, ports []int) *v1.Probe {
	return &v1.Probe{
		PeriodSeconds: 1, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
		ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{
			Path: fmt.Sprint("/", i), Port: intstr.FromInt(ports[i%len(ports)]), Scheme: v1.URISchemeHTTP,
		}},
	}
}

func runWhylet(ports []int) {
	s, err := probe.NewScheduler(probe.Options{Result: func(probe.Key, time.Time, fact.Probed) {}})
	if err != nil {
		panic(err)
	}
	started := time.Now().Add(-time.Hour)
	for i := range probes {
		key := probe.Key{Pod: types.UID(fmt.Sprint("pod-", i)), Container: "c", Kind: fact.Liveness}
		s.Set(key, probe.Target{Kind: fact.Liveness, Spec: specOf(i, ports), PodIP: "127.0.0.1", StartedAt: started})
	}
	select {}
}

// runKubelet feeds kubelet's own probe manager with pods that run.
func runKubelet(ports []int) {
	liveness := results.NewManager()
	go func() {
		for range liveness.Updates() { // somebody has to take them
		}
	}()
	m := prober.NewManager(running{}, liveness, results.NewManager(), results.NewManager(), nil, &record.FakeRecorder{})
	for i := range probes {
		m.AddPod(context.Background(), &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), Namespace: "default", UID: types.UID(fmt.Sprint("pod-", i))},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", LivenessProbe: specOf(i, ports)}}},
		})
	}
	select {}
}

// running is a status manager to which every pod runs.
type running struct{ status.Manager }

var started = metav1.NewTime(time.Now().Add(-time.Hour))

func (running) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	return v1.PodStatus{
		Phase: v1.PodRunning, PodIP: "127.0.0.1",
		ContainerStatuses: []v1.ContainerStatus{{
			Name: "c", ContainerID: "containerd://" + string(uid), Started: new(true),
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: started}},
		}},
	}, true
}
