package corpus

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why/answer"
)

// eachCase calls f with each case of all archives, from as many goroutines as there are processors.
func eachCase(f func(batch string, c Case)) error {
	archives, err := filepath.Glob("testdata/*.tar.zst")
	if err == nil && len(archives) == 0 {
		err = errors.New("there are no archives in testdata")
	}
	type one struct {
		batch string
		Case
	}
	all := make(chan one)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for c := range all {
				f(c.batch, c.Case)
			}
		})
	}
	for _, file := range archives {
		batch := strings.TrimSuffix(filepath.Base(file), ".tar.zst")
		failed := EachOf(file, func(c Case) error {
			all <- one{batch, c}
			return nil
		})
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", file, failed))
		}
	}
	close(all)
	wait.Wait()
	return err
}

// pass is what asking all cases came to: each once with facts and once by the API alone.
type pass struct {
	lock     sync.Mutex
	answers  []asked
	commands []string // what is wrong with commands
	checked  int      // how many commands there are
	steps    []string // what is wrong with steps
	err      error
}

// asked is a case that was asked again.
type asked struct {
	batch string
	About
	scenarios.Sample
	answer answer.Answer
	failed error
	live   map[scenarios.Sight]scenarios.Grade
}

// passed asks all cases, once for all tests of a run.
var passed = sync.OnceValue(func() *pass {
	p := &pass{}
	labels, err := labels()
	rules, failed := ReadStepRules("testdata")
	if p.err = errors.Join(err, failed); p.err != nil {
		return p
	}
	p.err = eachCase(func(batch string, c Case) {
		if *onlyCases != "" && !isOnly(c.Scenario) {
			return
		}
		for _, by := range Sights {
			p.ask(batch, c, by, labels, rules)
		}
	})
	return p
})

func (p *pass) ask(batch string, c Case, by scenarios.Sight, labels map[string]scenarios.Expected, rules StepRules) {
	want, ok := labels[c.Scenario]
	if !ok {
		want = c.Want
	}
	a, err := c.Ask(context.Background(), by)
	one := asked{batch: batch, About: About{c.Scenario, by}, Sample: Grade(want, a, err), answer: a, failed: err, live: c.Live}
	var commands, steps []string
	checked := 0
	if err == nil {
		for text := range commandsOf(a) {
			checked++
			if err := runs(c.Case, a, by, text); err != nil {
				commands = append(commands, fmt.Sprintf("%s, %s: %s: %v", c.Scenario, by, text, err))
			}
		}
		for _, v := range a.Verdicts {
			for _, fault := range rules.Check(v) {
				steps = append(steps, fmt.Sprintf("%s, %s: %s", c.Scenario, by, fault))
			}
		}
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.answers = append(p.answers, one)
	p.commands, p.checked, p.steps = append(p.commands, commands...), p.checked+checked, append(p.steps, steps...)
}

// passOf gives what asking all cases came to.
func passOf(t *testing.T) *pass {
	t.Helper()
	p := passed()
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p
}
