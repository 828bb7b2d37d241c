package main

import (
	"context"
	"fmt"
	"math/rand/v2"
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
		slices.Reverse(beside) // so that none always follows the same one
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
		with, without := all[program].took, all[""].took
		fmt.Printf("with %s pods start later by the median: %s, by the p99: %s\n", filepath.Base(program), later(with, without, 0.5), later(with, without, 0.99))
	}
	return nil
}

// later says by how many per cent a quantile is later, and between what nine of ten
// bootstrap samples of the same starts are: a difference within that may be chance.
func later(with, without []time.Duration, q float64) string {
	random := rand.New(rand.NewPCG(1, 1))
	again := func(all []time.Duration) []time.Duration {
		drawn := make([]time.Duration, len(all))
		for i := range drawn {
			drawn[i] = all[random.IntN(len(all))]
		}
		slices.Sort(drawn)
		return drawn
	}
	more := func(with, without []time.Duration) float64 {
		return 100 * (at(with, q).Seconds()/at(without, q).Seconds() - 1)
	}
	drawn := make([]float64, 1000)
	for i := range drawn {
		drawn[i] = more(again(with), again(without))
	}
	slices.Sort(drawn)
	return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f %%)", more(with, without), drawn[len(drawn)/20], drawn[len(drawn)-len(drawn)/20])
}

// at is the time that a share of the pods, which are in order, were ready within.
func at(took []time.Duration, q float64) time.Duration { return took[int(q*float64(len(took)-1))] }

func (s *started) line(program string) string {
	name, n := "no agent", time.Duration(len(s.took))
	if program != "" {
		name = filepath.Base(program)
	}
	slices.Sort(s.took)
	quantile := func(q float64) time.Duration { return at(s.took, q).Round(time.Millisecond) }
	sum := time.Duration(0)
	for _, one := range s.took {
		sum += one
	}
	return fmt.Sprintf("pod created to Ready, %s: p50 %v, p90 %v, p99 %v, mean %v of %d; processor time a pod: %v, and the agent's %v; load %s",
		name, quantile(0.5), quantile(0.9), quantile(0.99), (sum / n).Round(time.Millisecond), n, (s.rest / n).Round(time.Millisecond), (s.own / n).Round(100*time.Microsecond), load())
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
