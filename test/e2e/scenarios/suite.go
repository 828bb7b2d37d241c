package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// Suite plays scenarios on a cluster. Its methods may be called at the same time.
type Suite struct {
	Node Cluster
	// Suffix tells the namespaces of one round from those of another.
	Suffix string
	// Patience is how long trouble may take to come about and be understood, and
	// Every how long between two questions.
	Patience, Every time.Duration
	// Window is for how long answers are sampled after the first symptom, and a third
	// of it in other situations than live; 0 asks until the answer is right.
	Window time.Duration
	// Record, where it is set, is called once the answers to a scenario that is live were sampled,
	// while all of it is there still.
	Record func(ctx context.Context, results []Result)

	// subjects are those that only a trigger could name, by namespace.
	subjects sync.Map
	signs    signs
	follow   sync.Once
}

// Result is how a question was answered.
type Result struct {
	Scenario  *Scenario
	Situation Situation
	Sight     Sight
	// Subject and Namespace are what was asked about, where answers were sampled.
	Subject, Namespace string
	// Grade is that of the last answer, Samples are all of them.
	Grade   Grade
	Samples []Sample
	// Err says what was wrong with the last one that was not right, Text is that one.
	Err  error
	Text string
	// Took is the time of the last question alone, Until that from the first one to
	// the right answer.
	Took, Until time.Duration
}

func (r Result) String() string {
	return fmt.Sprintf("%s, %s: %s: %v", r.Scenario.Name, r.Situation, r.Grade, r.Err)
}

func (s *Suite) namespace(c *Scenario) string { return c.Name + s.Suffix }

func (s *Suite) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	out, err := s.Node.Run(ctx, stdin, "kubectl", args...)
	return string(out), err
}

// roomy says what the machine has too little of to play anything: no pod would come to a
// node under pressure, and every scenario would seem not to come about.
func (s *Suite) roomy(ctx context.Context) error {
	taints, err := s.kubectl(ctx, "", "get", "nodes", "-o", "jsonpath={.items[*].spec.taints[*].key}")
	if err == nil && strings.Contains(taints, "pressure") {
		err = fmt.Errorf("the node takes no pods, before anything was played (%s): free the machine's disk or memory", taints)
	}
	return err
}

// Prepare makes the namespaces of all scenarios at once, and waits for what every
// pod needs in one.
func (s *Suite) Prepare(ctx context.Context, all []Scenario) error {
	var manifest strings.Builder
	for i := range all {
		fmt.Fprintf(&manifest, "---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {whylet.dev/scenario: %q}}}\n", s.namespace(&all[i]), all[i].Name)
	}
	if _, err := s.kubectl(ctx, manifest.String(), "apply", "-f", "-"); err != nil {
		return err
	}
	var failed error
	s.follow.Do(func() { failed = cmp.Or(s.roomy(ctx), s.signs.follow(ctx, s.Node)) })
	if failed != nil {
		return failed
	}
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	return eventually(ctx, time.Second, func() error {
		accounts, err := s.kubectl(ctx, "", "get", "serviceaccounts", "-A", "--no-headers", "-o", "custom-columns=:metadata.namespace,:metadata.name")
		if err != nil {
			return err
		}
		roots, err := s.kubectl(ctx, "", "get", "configmaps", "-A", "--no-headers", "-o", "custom-columns=:metadata.namespace,:metadata.name")
		if err != nil {
			return err
		}
		words := strings.Join(strings.Fields(accounts+roots), " ") + " "
		for i := range all {
			for _, name := range []string{"default", "kube-root-ca.crt"} {
				if !strings.Contains(" "+words, " "+s.namespace(&all[i])+" "+name+" ") {
					return fmt.Errorf("namespace %s has no %s yet", s.namespace(&all[i]), name)
				}
			}
		}
		return nil
	})
}

// Begin makes the trouble.
func (s *Suite) Begin(ctx context.Context, c *Scenario) error {
	if _, err := s.kubectl(ctx, c.Manifest, "-n", s.namespace(c), "apply", "-f", "-"); err != nil {
		return err
	}
	if c.Trigger == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	out, err := s.Node.Script(ctx, c, c.Trigger, s.namespace(c))
	if _, subject, ok := strings.Cut(out, "subject="); ok {
		s.subjects.Store(s.namespace(c), strings.TrimSpace(subject))
	}
	return err
}

// subject is what is asked about: the one that the trigger named in its last line
// of output, or else that of the answer.
func (s *Suite) subject(c *Scenario) string {
	if named, ok := s.subjects.Load(s.namespace(c)); ok {
		return named.(string)
	}
	return c.Want.Subject
}

// settled is how long an answer may still change after a situation was entered.
const settled = 30 * time.Second

// Ask asks until the answer is right, for as long as is given; the last answer
// counts. In another situation than live the trouble is there already, so soon
// after the first answer the last one is due.
func (s *Suite) Ask(ctx context.Context, c *Scenario, in Situation, within time.Duration) Result {
	by := s.Node.Sights()[0]
	r := Result{Scenario: c, Situation: in, Sight: by, Grade: Unknown}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	began := time.Now()
	if in == Live && c.Want.After.Duration > 0 {
		pause(ctx, c.Want.After.Duration)
	}
	_ = eventually(ctx, s.Every, func() error {
		s.sampleInto(ctx, &r, time.Since(began))
		n := len(r.Samples)
		if n == 0 {
			return ctx.Err()
		}
		last := r.Samples[n-1]
		r.Until = last.After + last.Took
		switch {
		case last.Grade == Right:
			r.Err, r.Text = nil, ""
		case last.Grade == Beside, in != Live && last.After-r.Samples[0].After > settled:
			// it will not become another
		default:
			return r.Err
		}
		return nil
	})
	return r
}

// End removes a scenario, without waiting for it.
func (s *Suite) End(ctx context.Context, c *Scenario) error {
	_, err := s.kubectl(ctx, "", "delete", "namespace", s.namespace(c), "--wait=false")
	return err
}

// Enter brings a situation about for scenarios that are live. Those whose
// situation cannot be entered come back with the reason.
func (s *Suite) Enter(ctx context.Context, in Situation, all []Scenario) map[string]error {
	failed := map[string]error{}
	one := func(c *Scenario) error { return nil }
	switch in {
	case NoEvents:
		one = func(c *Scenario) error {
			_, err := s.kubectl(ctx, "", "delete", "events", "--all", "-n", s.namespace(c))
			return err
		}
	case Restarted, KubeletRestarted, Installed:
		err := s.Node.Restart(ctx, in)
		one = func(*Scenario) error { return err }
	case Recovered:
		ctx, cancel := context.WithTimeout(ctx, s.Patience)
		defer cancel()
		one = func(c *Scenario) error {
			_, err := s.Node.Script(ctx, c, c.Recover, s.namespace(c))
			return err
		}
	case Deleted:
		one = func(c *Scenario) error {
			_, err := s.kubectl(ctx, "", "delete", s.subject(c), "-n", s.namespace(c), "--ignore-not-found", "--timeout=2m")
			return err
		}
	}
	var lock sync.Mutex
	SideBySide(len(all), 6, func(i int) {
		if !all[i].Asked(in) {
			return
		}
		if err := one(&all[i]); err != nil {
			lock.Lock()
			failed[all[i].Name] = err
			lock.Unlock()
		}
	})
	return failed
}

// Play plays scenarios at once, asks in all situations, and removes them.
func (s *Suite) Play(ctx context.Context, all []Scenario, situations []Situation) ([]Result, error) {
	if err := s.Prepare(ctx, all); err != nil {
		return nil, err
	}
	var lock sync.Mutex
	var results []Result
	for _, in := range situations {
		var failed map[string]error
		if in != Live {
			failed = s.Enter(ctx, in, all)
		}
		SideBySide(len(all), len(all), func(i int) {
			if !all[i].Asked(in) {
				return
			}
			found := s.one(ctx, &all[i], in, failed[all[i].Name])
			lock.Lock()
			results = append(results, found...)
			lock.Unlock()
		})
	}
	for i := range all {
		if err := s.End(ctx, &all[i]); err != nil {
			return results, err
		}
	}
	return results, nil
}

// Flow plays scenarios live, up to width of them at once: each is removed as soon as it was
// asked about, and makes room for the next. took gets the answers of one at a time.
func (s *Suite) Flow(ctx context.Context, all []Scenario, width int, took func([]Result) error) error {
	var lock sync.Mutex
	var failed error
	SideBySide(len(all), width, func(i int) {
		lock.Lock()
		over := failed != nil || ctx.Err() != nil
		lock.Unlock()
		if over {
			return
		}
		var found []Result
		err := s.Prepare(ctx, all[i:i+1])
		if err == nil {
			found = s.one(ctx, &all[i], Live, nil)
			err = s.End(ctx, &all[i])
		}
		lock.Lock()
		defer lock.Unlock()
		failed = cmp.Or(failed, err, ctx.Err())
		if failed == nil {
			failed = took(found)
		}
	})
	return failed
}

// one asks about one scenario in one situation; failed says why that could not be
// brought about.
func (s *Suite) one(ctx context.Context, c *Scenario, in Situation, failed error) []Result {
	if in == Live {
		if s.Window > 0 {
			pause(ctx, rand.N(s.Every)) // beside others, and not in step with them
		}
		failed = s.Begin(ctx, c)
	}
	switch {
	case failed != nil:
		return []Result{{Scenario: c, Situation: in, Sight: s.Node.Sights()[0], Grade: Unknown, Err: failed}}
	case s.Window > 0:
		return s.Sample(ctx, c, in)
	}
	return []Result{s.Ask(ctx, c, in, s.Patience)}
}

// SideBySide calls work for 0 to n-1, up to width of them at once.
func SideBySide(n, width int, work func(i int)) {
	var wait sync.WaitGroup
	turns := make(chan struct{}, max(1, width))
	for i := range n {
		turns <- struct{}{}
		wait.Go(func() {
			defer func() { <-turns }()
			work(i)
		})
	}
	wait.Wait()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
