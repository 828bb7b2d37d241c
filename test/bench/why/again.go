package main

import (
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// past is a memory as it was at a moment.
type past struct {
	journal.Source
	to fact.ID
}

func (p past) Query(q journal.Query) iter.Seq2[fact.Fact, error] {
	if q.ToID == 0 || q.ToID > p.to {
		q.ToID = p.to
	}
	return p.Source.Query(q)
}

// clock finds how much of a memory was there at a moment.
type clock []struct {
	seen time.Time
	id   fact.ID
}

func newClock(s journal.Source) (c clock, err error) {
	for f, err := range s.Query(journal.Query{}) {
		if err != nil {
			return nil, err
		}
		c = append(c, struct {
			seen time.Time
			id   fact.ID
		}{f.Seen, f.ID})
	}
	return c, nil
}

// until is the first fact that was written after a moment for sure: what is seen before may
// be written later, and what is seen after cannot have been written before.
func (c clock) until(at time.Time) fact.ID {
	to := fact.ID(1)
	for _, one := range c {
		if !one.seen.Before(at) {
			return one.id
		}
		to = max(to, one.id+1)
	}
	return to
}

// askAgain asks the questions of a file of results again, and prints the table. With
// -v every answer that is not right comes before it.
func (o *options) askAgain(all []scenarios.Scenario) error {
	kept, err := readRecords(o.again)
	if err != nil {
		return err
	}
	named := map[string]*scenarios.Scenario{}
	for i := range all {
		named[all[i].Name] = &all[i]
	}
	readers, clocks := map[string]*journal.Reader{}, map[string]clock{}
	defer func() {
		for _, r := range readers {
			_ = r.Close() // it was only read
		}
	}()
	var asked []record
	for _, r := range kept {
		c := named[r.Scenario]
		if c == nil || r.Journal == "" || r.Sight == scenarios.ByAPI || !strings.HasPrefix(r.Subject, "pod/") {
			continue // what a workload's or a Service's answer is made of is asked of the API, which is gone
		}
		if readers[r.Journal] == nil {
			if readers[r.Journal], err = journal.OpenReader(r.Journal + "/journal"); err != nil {
				return err
			}
			if clocks[r.Journal], err = newClock(readers[r.Journal]); err != nil {
				return err
			}
		}
		for i := range r.Samples {
			o.askOnce(past{readers[r.Journal], clocks[r.Journal].until(r.Samples[i].Asked)}, &r, &r.Samples[i], c)
		}
		asked = append(asked, r)
	}
	fmt.Print(newReport(asked).markdown())
	return nil
}

func (o *options) askOnce(s journal.Source, r *record, one *scenarios.Sample, c *scenarios.Scenario) {
	q := serve.Question{Namespace: r.Namespace, Name: strings.TrimPrefix(r.Subject, "pod/")}
	q.Now = one.Asked
	was := one.Grade
	a, err := serve.One(s, q)
	if err == nil {
		c.Want.In(r.Situation).Grade(one, a)
	} else {
		one.Grade, one.Why = scenarios.Unknown, err.Error()
	}
	if o.verbose && one.Grade != scenarios.Right {
		fmt.Fprintf(os.Stderr, "--- %s, %s after %v: %s (was %s): %s\n%s\n", r.Scenario, r.Situation, one.After.Round(time.Second), one.Grade, was, one.Why, a.Text(answer.Style{Wide: true}))
	}
	one.Why = brief(one.Why)
}
