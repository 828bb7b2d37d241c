package pressure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"whylet.dev/whylet/evidence/cgroupfs"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	_ "whylet.dev/whylet/test/fixedseed"
)

var day = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	all, err := Parse("memory.available<100Mi, nodefs.available<10%", time.Minute)
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if got := all[0].Amount(1 << 40); got.String() != "100Mi" {
		t.Errorf("an amount is %s", got)
	}
	if got := all[1].Amount(200 << 20); got.String() != "20Mi" || all[1].Hard() {
		t.Errorf("a part is %s, hard %v", got, all[1].Hard())
	}
	if got := len(Defaults()); got != 6 {
		t.Errorf("%d defaults", got)
	}
	for text, want := range map[string]string{
		"memory":                           "not of the form",
		"memory.free<1Gi":                  "not an eviction signal",
		"allocatableMemory.available<1Gi":  "not an eviction signal",
		"memory.available<lots":            "neither an amount",
		"memory.available<-1":              "neither an amount",
		"memory.available<100%":            "not a percentage",
		"memory.available<NaN%":            "not a percentage",
		"memory.available<100Mi,":          "not of the form",
		"nodefs.available<10%,pid.x<1":     "not an eviction signal",
		"imagefs.inodesFree<5%,memory<1Gi": "not an eviction signal",
	} {
		if _, err := Parse(text, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Default)
	f.Add("memory.available<1e3,pid.available<5.5%")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse(text, 0)
		for _, threshold := range all {
			if amount := threshold.Amount(1000); err == nil && amount.Sign() < 0 {
				t.Fatalf("%q: %s of 1000", text, amount)
			}
		}
	})
}

func mustParse(t *testing.T, text string, grace time.Duration) []Threshold {
	t.Helper()
	all, err := Parse(text, grace)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A soft threshold acts after its grace period only, and starts over when it was
// not met in between; the condition shows at once and stays for its transition.
func TestSoftThreshold(t *testing.T) {
	s := newState(mustParse(t, "memory.available<100", 30*time.Second), 5*time.Minute)
	for _, step := range []struct {
		at        time.Duration
		available int64
		condition bool
		due       int
	}{
		{0, 100, false, 0},
		{1 * time.Second, 99, true, 0},
		{30 * time.Second, 50, true, 0},
		{31 * time.Second, 50, true, 1},
		{32 * time.Second, 200, true, 0},
		{33 * time.Second, 50, true, 0},
		{62 * time.Second, 50, true, 0},
		{64 * time.Second, 150, true, 0},
		{62*time.Second + 5*time.Minute - 1, 150, true, 0},
		{62*time.Second + 5*time.Minute, 150, false, 0},
	} {
		conditions, due := s.observe(day.Add(step.at), Readings{MemoryAvailable: {step.available, 1000}})
		if (len(conditions) == 1) != step.condition || len(due) != step.due {
			t.Errorf("at %v with %d: %v, %v", step.at, step.available, conditions, due)
		}
	}
}

// Once something is done about a shortage it goes on until there is some more than
// the threshold, as much as the minimum reclaim; and only then (kubelet: helpers.go,
// thresholdsMet).
func TestMinimumReclaim(t *testing.T) {
	for _, reclaim := range []string{"50", "25%"} {
		all := mustParse(t, "nodefs.available<100", 0)
		if err := SetReclaim(all, NodeFSAvailable, reclaim); err != nil {
			t.Fatal(err)
		}
		s := newState(all, time.Second)
		for i, step := range []struct {
			available int64
			due       int
		}{{149, 0}, {99, 1}, {149, 1}, {150, 0}, {149, 0}, {99, 1}} {
			if _, due := s.observe(day.Add(time.Duration(i)*time.Minute), Readings{NodeFSAvailable: {step.available, 200}}); len(due) != step.due {
				t.Errorf("%s, step %d: with %d left %v is due", reclaim, i, step.available, due)
			}
		}
	}
	for amount, says := range map[string]string{"lots": "neither an amount", "100%": "not a percentage"} {
		if err := SetReclaim(Defaults(), NodeFSAvailable, amount); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", amount, err)
		}
	}
	if err := SetReclaim(Defaults(), "x", "1"); err == nil {
		t.Error("a signal without a threshold")
	}
}

// Memory is relieved before disk, what cannot be read changes nothing, and the
// pods' own limit has the threshold of the node's memory.
func TestObserve(t *testing.T) {
	s := newState(Defaults(), time.Minute)
	_, due := s.observe(day, Readings{
		NodeFSAvailable: {1, 100}, ImageFSInodesFree: {4, 100}, AllocatableMemory: {99 << 20, 1 << 30}, PIDAvailable: {10, 100},
	})
	var got []Signal
	for _, d := range due {
		got = append(got, d.Signal)
	}
	if !slices.Equal(got, []Signal{AllocatableMemory, NodeFSAvailable, ImageFSInodesFree}) {
		t.Errorf("due: %v", got)
	}
	conditions, due := s.observe(day.Add(time.Second), Readings{})
	if len(due) != 0 || !slices.Equal(conditions, []v1.NodeConditionType{v1.NodeDiskPressure, v1.NodeMemoryPressure}) {
		t.Errorf("blind: %v, %v", conditions, due)
	}
}

// However memory changes at up to the fastest rate, it is looked at before more
// than the fastest program's 20 ms are gone below the threshold; and not much
// earlier than that, for a look at a node with room to spare is wasted.
func TestPauseIsShortEnough(t *testing.T) {
	s := newState(Defaults(), time.Minute)
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Int64Range(256<<20, 1<<42).Draw(t, "capacity")
		available := rapid.Int64Range(0, capacity).Draw(t, "available")
		wait := s.pause(Readings{MemoryAvailable: {available, capacity}})
		if wait < soonest || wait > latest {
			t.Fatalf("wait %v", wait)
		}
		left := available - (100 << 20)
		if eaten := int64(wait.Seconds() * fastest); wait > soonest && eaten > left+1<<20 {
			t.Fatalf("in %v a program can use %d, %d are left", wait, eaten, left)
		}
		if eaten := int64((wait + time.Millisecond).Seconds() * fastest); wait < latest && eaten < left-1<<20 {
			t.Fatalf("it looks after %v, when a program can have used %d of the %d that are left", wait, eaten, left)
		}
	})
	for gib, want := range map[int64]time.Duration{9: 4500 * time.Millisecond, 10: 5 * time.Second, 19: 9500 * time.Millisecond, 20: latest, 4096: latest} {
		if wait := s.pause(Readings{MemoryAvailable: {gib<<30 + 100<<20, 1 << 42}}); wait != want {
			t.Errorf("with %d GiB to spare it looks again after %v, want %v", gib, wait, want)
		}
	}
	if wait := s.pause(Readings{}); wait != latest {
		t.Errorf("blind: %v", wait)
	}
}

func TestRead(t *testing.T) {
	proc := t.TempDir()
	for name, text := range map[string]string{
		"meminfo":                "MemTotal: 1000 kB\nMemFree: 200 kB\nInactive: 7 kB\nInactive(file): 50 kB\nHugetlb: 100 kB\n",
		"loadavg":                "0.1 0.2 0.3 2/345 999\n",
		"sys/kernel/pid_max":     "32768\n",
		"sys/kernel/threads-max": "1000\n",
	} {
		file := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Reader{Proc: proc, NodeDir: proc}
	got := r.Read()
	if want := (Reading{250 << 10, 900 << 10}); got[MemoryAvailable] != want {
		t.Errorf("memory %v", got[MemoryAvailable])
	}
	if want := (Reading{655, 1000}); got[PIDAvailable] != want {
		t.Errorf("pids %v", got[PIDAvailable])
	}
	if d := got[NodeFSAvailable]; d.Available <= 0 || d.Available > d.Capacity {
		t.Errorf("disk %v", d)
	}
	if _, told := got[ImageFSAvailable]; told || r.Dedicated() {
		t.Error("an image file system that nobody named")
	}
	r.PIDs, r.Pods = 300, cgroupfs.Group{PIDs: filepath.Join(proc, "pids")}
	if told, ok := r.Read()[PIDAvailable]; ok {
		t.Errorf("the machine's process ids are not the pods': %v", told)
	}
	if err := os.Mkdir(r.Pods.PIDs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Pods.PIDs, "pids.current"), []byte("271\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Read()[PIDAvailable], (Reading{29, 300}); got != want {
		t.Errorf("the pods' pids %v", got)
	}
	if err := os.WriteFile(filepath.Join(r.Pods.PIDs, "memory.usage_in_bytes"), []byte("40960\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	small := Reader{Proc: proc, Pods: cgroupfs.Group{Memory: r.Pods.PIDs}, Memory: 150 << 10}
	if got, want := small.Read()[MemoryAvailable], (Reading{10 << 10, 50 << 10}); got != want {
		t.Errorf("a part of the machine: %v", got)
	}
	small.Memory = 80 << 10
	if got, want := small.Read()[MemoryAvailable], (Reading{0, 40 << 10}); got != want {
		t.Errorf("less than the machine's huge pages: %v", got)
	}
	if blind := (Reader{Proc: "/nowhere", NodeDir: "/nowhere"}).Read(); len(blind) != 0 {
		t.Errorf("nothing to read, but %v", blind)
	}
}

// fakeNode has pods that use memory until they are evicted.
type fakeNode struct {
	use       map[string]int64
	capacity  int64
	unused    int64 // of disk, that reclaiming gives back
	disk      int64
	evicted   []string
	needed    []fact.EvictionNeeded
	told      []fact.NodeSignals
	events    []string
	reclaimed int
	changed   int
}

func (f *fakeNode) manager(thresholds []Threshold, c *testclock.FakeClock) *Manager {
	return New(Config{
		Thresholds: thresholds, Transition: 5 * time.Minute, SoftGrace: 7,
		Read: func() Readings {
			left := f.capacity
			for _, used := range f.use {
				left -= used
			}
			return Readings{MemoryAvailable: {left, f.capacity}, NodeFSAvailable: {f.disk, 100}}
		},
		Pods: func(context.Context, Signal) []health.MeasuredPod {
			var pods []health.MeasuredPod
			for name, used := range f.use {
				pods = append(pods, health.MeasuredPod{
					Object:     &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}},
					Candidate:  health.Candidate{Pod: fact.Pod{Name: name}, Measured: true, Usage: used},
					Containers: []health.ContainerUse{{Name: "c", Usage: *resource.NewQuantity(used, resource.BinarySI)}},
				})
			}
			return pods
		},
		Evict: func(p fact.Pod, e fact.EvictionNeeded) {
			f.evicted = append(f.evicted, p.Name)
			f.needed = append(f.needed, e)
			if !strings.HasPrefix(p.Name, "stubborn") {
				delete(f.use, p.Name)
			}
		},
		Ended:   func(p fact.Pod, _ Signal) bool { _, there := f.use[p.Name]; return !there },
		Reclaim: func(context.Context, Signal) error { f.reclaimed++; f.disk += f.unused; f.unused = 0; return nil },
		Changed: func() { f.changed++ },
		Tell:    func(s fact.NodeSignals) { f.told = append(f.told, s) },
		Event:   func(reason, message string) { f.events = append(f.events, reason+": "+message) },
		Clock:   c, Log: slog.New(slog.DiscardHandler),
	})
}

// One pod goes at a time, the hungriest first, and none once there is enough.
func TestOneGoesAfterTheOther(t *testing.T) {
	f := &fakeNode{use: map[string]int64{"small": 10, "large": 500, "larger": 600}, capacity: 1000, disk: 50}
	m := f.manager(mustParse(t, "memory.available<450", 0), testclock.NewFakeClock(day))
	for range 5 {
		m.round(t.Context())
	}
	if !slices.Equal(f.evicted, []string{"larger"}) { // which leaves 490
		t.Fatalf("evicted: %v", f.evicted)
	}
	if got := f.needed[0]; got.Signal != "memory.available" || got.GraceSeconds != 1 || got.Ranking[0].Pod.Name != "larger" || len(got.Ranking) != 3 ||
		got.Message != "The node was low on resource: memory. Threshold quantity: 450, available: -110. Container c was using 600, request is 0, has larger consumption of memory. " {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(m.Conditions(), []v1.NodeConditionType{v1.NodeMemoryPressure}) || f.changed != 1 {
		t.Errorf("%v, changed %d times", m.Conditions(), f.changed)
	}
	if !slices.Equal(f.events, []string{"EvictionThresholdMet: Attempting to reclaim memory"}) {
		t.Errorf("events: %v", f.events)
	}
	if len(f.told) != 2 || !slices.Equal(f.told[0].Conditions, []string{"MemoryPressure"}) || f.told[0].MemoryAvailable != -110 {
		t.Errorf("told %+v", f.told)
	}
}

// What nobody needs goes before pods do.
func TestReclaimComesFirst(t *testing.T) {
	f := &fakeNode{use: map[string]int64{"p": 1}, capacity: 1000, disk: 5, unused: 20}
	m := f.manager(mustParse(t, "nodefs.available<10%", 0), testclock.NewFakeClock(day))
	m.round(t.Context())
	if len(f.evicted) != 0 || f.reclaimed != 1 || len(m.Conditions()) != 1 {
		t.Fatalf("evicted %v, reclaimed %d, %v", f.evicted, f.reclaimed, m.Conditions())
	}
	f.disk = 5
	m.round(t.Context())
	if !slices.Equal(f.evicted, []string{"p"}) {
		t.Errorf("evicted %v", f.evicted)
	}
}

// A pod that does not end is waited for, and then not asked again: it is the
// next one's turn, and when there is none, nobody's.
func TestStubbornPod(t *testing.T) {
	f := &fakeNode{use: map[string]int64{"stubborn": 900, "other": 50}, capacity: 1000, disk: 50}
	clock := testclock.NewFakeClock(day)
	m := f.manager(mustParse(t, "memory.available<200", 0), clock)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 {
			m.round(t.Context())
		}
	}()
	for {
		select {
		case <-done:
			if got := fmt.Sprint(f.evicted); got != "[stubborn other]" {
				t.Errorf("evicted %s", got)
			}
			return
		default:
			if clock.HasWaiters() {
				clock.Step(goneEvery)
			}
		}
	}
}

// Memory that becomes short does not wait until a pod is gone that goes for something
// else, or has its time to end.
func TestMemoryDoesNotWaitForAPod(t *testing.T) {
	for name, thresholds := range map[string][]Threshold{
		"disk": mustParse(t, "memory.available<200,nodefs.available<40", 0),
		"soft": append(mustParse(t, "memory.available<200", 0), mustParse(t, "memory.available<600", time.Second)...),
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeNode{use: map[string]int64{"stubborn": 450, "eater": 50}, capacity: 1000, disk: 30}
			clock := testclock.NewFakeClock(day)
			m := f.manager(thresholds, clock)
			ended, eats := m.c.Ended, sync.Once{}
			m.c.Ended = func(p fact.Pod, s Signal) bool {
				eats.Do(func() { f.use["eater"] = 500 })
				return ended(p, s)
			}
			for range 3 {
				m.round(t.Context())
				clock.Step(time.Second)
			}
			if !slices.Equal(f.evicted, []string{"stubborn", "eater"}) || f.needed[1].GraceSeconds != 1 {
				t.Errorf("evicted %v: %+v", f.evicted, f.needed)
			}
		})
	}
}

// Nor until a disk is cleaned up.
func TestMemoryDoesNotWaitForADisk(t *testing.T) {
	f := &fakeNode{use: map[string]int64{"eater": 900}, capacity: 1000, disk: 30}
	clock := testclock.NewFakeClock(day)
	m := f.manager(mustParse(t, "memory.available<200,nodefs.available<40", 0), clock)
	m.c.Reclaim = func(ctx context.Context, _ Signal) error {
		<-ctx.Done()
		return ctx.Err()
	}
	done := make(chan error)
	go func() { done <- m.reclaim(t.Context(), NodeFSAvailable) }()
	for {
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			return
		default:
			if clock.HasWaiters() {
				clock.Step(goneEvery)
			}
		}
	}
}
