package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// a turn has so many pods started one after the other.
const turn = 10

// started is how pods started beside one agent, or none.
type started struct {
	took []time.Duration
	// rest is the processor time that all others of the stack used meanwhile, and own
	// that of the agent.
	rest, own time.Duration
}

// starts times pods from their creation to Ready by what the API says, in turns with each
// agent and without one.
func (b *bench) starts(ctx context.Context, o options) error {
	if o.starts == 0 {
		return nil
	}
	if _, err := b.start(ctx, "first"); err != nil { // it brings what is made once, such as the bridge
		return err
	}
	beside := append([]string{""}, o.programs()...)
	all := map[string]*started{}
	for n := 0; n < o.starts; n += turn {
		for i, program := range beside {
			if all[program] == nil {
				all[program] = &started{}
			}
			if err := b.turn(ctx, program, fmt.Sprintf("start-%d-%d", n, i), all[program]); err != nil {
				return err
			}
		}
	}
	for _, program := range beside {
		fmt.Println(all[program].line(program))
	}
	for _, program := range o.programs() {
		more := func(q float64) float64 { return 100 * (all[program].at(q).Seconds()/all[""].at(q).Seconds() - 1) }
		fmt.Printf("with %s pods start %+.1f %% later by the median, and %+.1f %% by the p99\n", filepath.Base(program), more(0.5), more(0.99))
	}
	return nil
}

// at is the time that a share of the pods, once they are in order, were ready within.
func (s *started) at(q float64) time.Duration { return s.took[int(q*float64(len(s.took)-1))] }

func (s *started) line(program string) string {
	name, n := "no agent", time.Duration(len(s.took))
	if program != "" {
		name = filepath.Base(program)
	}
	slices.Sort(s.took)
	at := func(q float64) time.Duration { return s.at(q).Round(time.Millisecond) }
	sum := time.Duration(0)
	for _, one := range s.took {
		sum += one
	}
	return fmt.Sprintf("pod created to Ready, %s: p50 %v, p90 %v, p99 %v, mean %v of %d; processor time a pod: %v, and the agent's %v; load %s",
		name, at(0.5), at(0.9), at(0.99), (sum / n).Round(time.Millisecond), n, (s.rest / n).Round(time.Millisecond), (s.own / n).Round(100*time.Microsecond), load())
}

// turn starts some pods beside an agent, or none.
func (b *bench) turn(ctx context.Context, program, name string, into *started) error {
	if program != "" {
		if err := b.begin(program); err != nil {
			return err
		}
	}
	if err := pause(ctx, 3*time.Second); err != nil { // what went before is over, and the agent sees
		return err
	}
	before, err := b.uses()
	if err != nil {
		return err
	}
	for i := range turn {
		one, err := b.start(ctx, fmt.Sprintf("%s-%d", name, i))
		if err != nil {
			return err
		}
		into.took = append(into.took, one)
	}
	after, err := b.uses()
	if err != nil {
		return err
	}
	for name, now := range after {
		used := now.CPU - before[name].CPU
		if name == filepath.Base(program) {
			into.own += used
		} else if _, known := before[name]; known {
			into.rest += used
		}
	}
	return b.end()
}

func (b *bench) start(ctx context.Context, name string) (time.Duration, error) {
	began, err := b.create(ctx, name, 0) // a probe that comes before the server listens would wait for its next turn
	if err != nil {
		return 0, err
	}
	pods := b.Client.CoreV1().Pods(namespace)
	for deadline := began.Add(3 * time.Minute); ; {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		if isReady(pod) {
			took := time.Since(began)
			return took, pods.Delete(ctx, name, metav1.DeleteOptions{})
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("pod %s was not ready in time", name)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return 0, err
		}
	}
}
