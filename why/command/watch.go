package command

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/paint"
	"whylet.dev/whylet/why/answer"
)

// askAgain is how often a question is asked that is followed.
const askAgain = 2 * time.Second

// again waits until a question is to be asked again; false: nobody waits any more.
func again(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(askAgain):
		return true
	}
}

// follow prints a line for each symptom that is new, changes or is over, until wait says
// that nobody wants to know. A question that fails in between is told once, and asked
// again; what it did not tell of is left as it was.
func (o *options) follow(ctx context.Context, ask func() ([]answer.Answer, error), wait func(context.Context) bool) error {
	before, failed := map[string]change{}, ""
	for {
		answers, err := ask()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && err.Error() != failed {
			fmt.Fprintf(o.Err, "%s %v\n", paint.Text(o.Err, paint.Red, "error:"), err)
		}
		failed = ""
		if err != nil {
			failed = err.Error()
		}
		now := changes(answers)
		for _, c := range now.since(before, err == nil) {
			if err := o.writeChange(c); err != nil {
				return err
			}
		}
		if !wait(ctx) {
			return nil
		}
	}
}

// change is a symptom of something, as it is now.
type change struct {
	answer  *answer.Answer
	symptom answer.Symptom
	verdict answer.Verdict
	over    bool
}

type changed struct {
	keys []string
	all  map[string]change
}

// changes are the symptoms of the answers, each by what it is about.
func changes(answers []answer.Answer) changed {
	c := changed{all: map[string]change{}}
	for i := range answers {
		a := &answers[i]
		for j, s := range a.Symptoms {
			key := fmt.Sprint(a.Subject.Kind, a.Subject.Namespace, a.Subject.Name, s.Kind, s.Pod, s.Container, a.Verdicts[j].Container)
			if _, twice := c.all[key]; twice {
				key += s.ID
			}
			c.keys = append(c.keys, key)
			c.all[key] = change{answer: a, symptom: s, verdict: a.Verdicts[j]}
		}
	}
	return c
}

// since are the changes against before, which it brings up to date. What is not heard of
// any more is over where the answers are whole.
func (c changed) since(before map[string]change, whole bool) (news []change) {
	for _, key := range c.keys {
		now, was := c.all[key], before[key]
		counted := now.symptom.Count != was.symptom.Count && now.symptom.Kind != answer.Degraded // its count is that of an error in a log
		if was.answer == nil || counted || now.verdict.Cause != was.verdict.Cause {
			news = append(news, now)
		}
		before[key] = now
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		was := before[key]
		if _, there := c.all[key]; there || !whole {
			continue
		}
		if was.over = true; was.symptom.Kind != answer.Healthy {
			news = append(news, was)
		}
		delete(before, key)
	}
	return news
}

// writeChange prints a change as a line, or as a document for programs.
func (o *options) writeChange(c change) error {
	switch o.output {
	case "json":
		return json.NewEncoder(o.Out).Encode(c.answer)
	case "yaml":
		fmt.Fprintln(o.Out, "---")
		return o.writeData(c.answer)
	}
	what := strings.ToLower(c.answer.Subject.Kind) + " " + strings.TrimPrefix(c.answer.Subject.Namespace+"/"+c.answer.Subject.Name, "/")
	kind, colour := string(c.symptom.Kind), paint.Red
	switch {
	case c.over:
		_, err := fmt.Fprintf(o.Out, "%s  %-32s %s\n", c.answer.AsOf.Local().Format(time.TimeOnly), what, paint.Text(o.Out, paint.Green, "no longer "+kind))
		return err
	case c.symptom.Kind == answer.Healthy || c.symptom.Kind == answer.Completed:
		colour = paint.Green
	}
	if c.symptom.Count > 1 {
		kind += fmt.Sprintf(" ×%d", c.symptom.Count)
	}
	_, err := fmt.Fprintf(o.Out, "%s  %-32s %s  %s  %s\n", c.answer.AsOf.Local().Format(time.TimeOnly), what, paint.Text(o.Out, colour, fmt.Sprintf("%-14s", kind)), c.verdict.Cause, firstLine(c.verdict.Text))
	return err
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text
}
