package probe

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	_ "whylet.dev/whylet/test/fixedseed"
)

// stage is a scheduler whose attempts last as long as the test says, in a
// bubble where time passes only when everyone waits.
type stage struct {
	*Scheduler
	mu      sync.Mutex
	lasting map[string]time.Duration // by command
	begun   map[string][]time.Time
	running map[string]int
	results map[Key]int
	overlap string
	ended   chan struct{}
}

func newStage() *stage {
	s := &stage{
		lasting: map[string]time.Duration{}, begun: map[string][]time.Time{},
		running: map[string]int{}, results: map[Key]int{}, ended: make(chan struct{}),
	}
	s.Scheduler = newScheduler(s.take, s.attempt, func() { close(s.ended) })
	return s
}

func (s *stage) take(key Key, _ time.Time, _ fact.Probed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[key]++
}

func (s *stage) attempt(pl *plan, done doneFunc) {
	name, now := pl.where, time.Now()
	s.mu.Lock()
	s.begun[name] = append(s.begun[name], now)
	s.running[name]++
	if s.running[name] > 1 {
		s.overlap = name
	}
	lasts := s.lasting[name]
	s.mu.Unlock()
	go func() {
		select {
		case <-time.After(lasts):
		case <-s.ended:
			return
		}
		s.mu.Lock()
		s.running[name]--
		s.mu.Unlock()
		done(now, fact.Probed{Probe: pl.kind, Verdict: fact.Success})
	}()
}

func (s *stage) lasts(name string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lasting[name] = d
}

func (s *stage) times(name string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.begun[name]...)
}

func keyOf(name string) Key { return Key{Pod: types.UID(name), Container: "c", Kind: fact.Liveness} }

func every(name string, period, delay int32, started time.Time) Target {
	return Target{
		Kind: fact.Liveness, StartedAt: started,
		Spec: &v1.Probe{
			PeriodSeconds: period, InitialDelaySeconds: delay,
			ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{name}}},
		},
	}
}

func TestFirstAttemptIsDueAfterTheInitialDelay(t *testing.T) {
	for _, delay := range []int32{0, 1, 7} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage()
			defer s.Close()
			started := time.Now()
			s.Set(keyOf("a"), every("a", 10, delay, started))
			time.Sleep(time.Minute)
			first := s.times("a")[0].Sub(started)
			if want := time.Duration(delay) * time.Second; first != want {
				t.Errorf("first attempt after %v, want %v", first, want)
			}
		})
	}
}

func TestNoDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		defer s.Close()
		s.lasts("a", 700*time.Millisecond)
		s.Set(keyOf("a"), every("a", 1, 0, time.Now()))
		time.Sleep(time.Hour)
		times := s.times("a")
		if len(times) < 3599 || len(times) > 3601 {
			t.Errorf("%d attempts in an hour", len(times))
		}
		if first := times[1].Sub(times[0]); first < time.Second || first > 1100*time.Millisecond+tick {
			t.Errorf("the second attempt came after %v", first)
		}
		for i := 2; i < len(times); i++ {
			if d := times[i].Sub(times[i-1]); d != time.Second {
				t.Fatalf("attempt %d came after %v", i, d)
			}
		}
	})
}

// TestOverrun: an attempt that outlasts its period is followed at once by the
// next, and the distances go on.
func TestOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		defer s.Close()
		s.lasts("a", 2500*time.Millisecond)
		s.Set(keyOf("a"), every("a", 1, 0, time.Now()))
		time.Sleep(100 * time.Second)
		times := s.times("a")
		for i := 1; i < len(times); i++ {
			if d := times[i].Sub(times[i-1]); d != 2500*time.Millisecond {
				t.Fatalf("attempt %d came after %v", i, d)
			}
		}
		if s.Stats().Late == 0 {
			t.Error("none counts as late")
		}
	})
}

// TestRestartSpreads: probes of containers that ran before the agent did are
// first attempted all over their period, and again so after another restart.
func TestRestartSpreads(t *testing.T) {
	const n = 1000
	var phases [2][]time.Duration
	for run := range phases {
		synctest.Test(t, func(t *testing.T) {
			s := newStage()
			defer s.Close()
			now := time.Now()
			for i := range n {
				name := fmt.Sprint("pod-", i)
				s.Set(keyOf(name), every(name, 10, 0, now.Add(-time.Hour)))
			}
			time.Sleep(10 * time.Second)
			slots := map[int]int{}
			for i := range n {
				phase := s.times(fmt.Sprint("pod-", i))[0].Sub(now)
				phases[run] = append(phases[run], phase)
				slots[int(phase/(100*time.Millisecond))]++
			}
			for slot, count := range slots { // 10 are expected in each of 100
				if count > 40 {
					t.Errorf("%d probes fire together in slot %d", count, slot)
				}
			}
			if len(slots) < 95 {
				t.Errorf("only %d of 100 slots are used", len(slots))
			}
		})
	}
	for i := range n {
		if phases[0][i] != phases[1][i] {
			t.Fatalf("pod-%d has another phase after a restart: %v, %v", i, phases[0][i], phases[1][i])
		}
	}
}

// TestLateProbeIsNotSpread: a container whose startup probe succeeds after several
// periods of its readiness probe is asked at once whether it is ready.
func TestLateProbeIsNotSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		defer s.Close()
		time.Sleep(time.Minute)
		now := time.Now()
		s.Set(keyOf("a"), every("a", 30, 0, now.Add(-40*time.Second)))
		time.Sleep(time.Minute)
		if late := s.times("a")[0].Sub(now); late != 0 {
			t.Errorf("first attempt %v after it was wanted", late)
		}
	})
}

// TestHangingTargetsDelayNobody: a thousand probes that hang until their
// timeout, and one that does not.
func TestHangingTargetsDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		defer s.Close()
		for i := range 1000 {
			name := fmt.Sprint("hanging-", i)
			s.lasts(name, time.Minute)
			s.Set(keyOf(name), every(name, 1, 0, time.Now()))
		}
		s.Set(keyOf("good"), every("good", 1, 0, time.Now()))
		time.Sleep(30*time.Second + time.Millisecond)
		if got := len(s.times("good")); got < 30 {
			t.Errorf("%d attempts in 30 seconds", got)
		}
		if stats := s.Stats(); stats.InFlight != 1000 || stats.Late != 0 {
			t.Errorf("%+v", stats)
		}
	})
}

// TestClockStep: a start that lies in the future, because the wall clock was set
// back, delays a probe by no more than its initial delay.
func TestClockStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		defer s.Close()
		now := time.Now()
		s.Set(keyOf("a"), every("a", 10, 3, now.Add(time.Hour)))
		time.Sleep(4 * time.Second)
		if got := s.times("a"); len(got) != 1 || got[0].Sub(now) != 3*time.Second {
			t.Errorf("attempts at %v", got)
		}
	})
}

// TestOnlySuccessesThatChangeNothingWait: every failure and the successes that a
// threshold may need come at once, the others together and soon.
func TestOnlySuccessesThatChangeNothingWait(t *testing.T) {
	const threshold, lasting = 3, 10 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		attempts, rows, waited := map[string]int{}, map[Key]int{}, 0
		ended := make(chan struct{})
		s := newScheduler(func(key Key, began time.Time, p fact.Probed) {
			wait := time.Since(began) - lasting
			rows[key]++
			if p.Verdict != fact.Success {
				rows[key] = 0
			}
			if wait > 0 {
				waited++
			}
			if wait > patience || wait > 0 && rows[key] <= threshold {
				t.Errorf("%s, %s number %d in a row, came %v late", key.Pod, p.Verdict, rows[key], wait)
			}
		}, func(pl *plan, done doneFunc) {
			attempts[pl.where]++
			n, began := attempts[pl.where], time.Now()
			go func() {
				select {
				case <-time.After(lasting):
				case <-ended:
					return
				}
				verdict := fact.Success
				if n%10 == 7 {
					verdict = fact.Failure
				}
				done(began, fact.Probed{Verdict: verdict})
			}()
		}, func() { close(ended) })
		for i := range 50 {
			name := fmt.Sprint("pod-", i)
			target := every(name, 1, 0, time.Now())
			target.Spec.SuccessThreshold = threshold
			s.Set(keyOf(name), target)
		}
		time.Sleep(time.Minute)
		s.Close()
		if waited < 500 {
			t.Errorf("only %d results waited for others", waited)
		}
	})
}

// TestSchedulerProperties does anything at any time: no probe overlaps itself,
// what is set is attempted, what was removed is not, and no result comes after
// its removal.
func TestSchedulerProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [4]int {
			return [4]int{
				rapid.IntRange(0, 4).Draw(t, "probe"), rapid.IntRange(0, 3).Draw(t, "what"),
				rapid.IntRange(0, 3000).Draw(t, "wait"), rapid.IntRange(0, 4000).Draw(t, "lasting"),
			}
		}), 1, 40).Draw(rt, "plan")
		synctest.Test(t, func(t *testing.T) { play(t, plan) })
		if t.Failed() {
			rt.FailNow()
		}
	})
}

func play(t *testing.T, plan [][4]int) {
	s := newStage()
	defer s.Close()
	set := map[string]time.Time{}
	for _, step := range plan {
		name, lasting := fmt.Sprint("p", step[0]), time.Duration(step[3])*time.Millisecond
		s.lasts(name, lasting)
		switch step[1] {
		case 0, 1:
			if _, ok := set[name]; !ok {
				set[name] = time.Now()
			}
			s.Set(keyOf(name), every(name, int32(1+step[0]), 0, set[name]))
		case 2:
			s.Remove(keyOf(name))
			delete(set, name)
		}
		time.Sleep(time.Duration(step[2]) * time.Millisecond)
	}
	time.Sleep(5 * time.Second) // what was removed has run out
	s.mu.Lock()
	before := map[string]int{}
	for name, times := range s.begun {
		before[name] = len(times)
	}
	results := map[Key]int{}
	for key, n := range s.results {
		results[key] = n
	}
	s.mu.Unlock()
	time.Sleep(20 * time.Second)
	if s.overlap != "" {
		t.Errorf("%s had two attempts at once", s.overlap)
	}
	for i := range 5 {
		name := fmt.Sprint("p", i)
		_, want := set[name]
		s.mu.Lock()
		attempted, resulted := len(s.begun[name]) > before[name], s.results[keyOf(name)] > results[keyOf(name)]
		s.mu.Unlock()
		if attempted != want || resulted != want {
			t.Errorf("%s: set %v, attempted %v, resulted %v", name, want, attempted, resulted)
		}
	}
	if got := s.Stats().Probes; got != len(set) {
		t.Errorf("%d probes, want %d", got, len(set))
	}
}
