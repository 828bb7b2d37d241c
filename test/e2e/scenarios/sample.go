package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"whylet.dev/whylet/why/answer"
)

// Sample is one of the answers that were given to a question.
type Sample struct {
	// After is the time since the first symptom, or since the situation was entered,
	// at which it was asked; Took is how long the answer took.
	After time.Duration `json:"after"`
	Took  time.Duration `json:"took"`
	// Asked is when, by the clock.
	Asked time.Time `json:"asked,omitzero"`
	Grade Grade     `json:"grade"`
	// Why says what was amiss.
	Why string `json:"why,omitempty"`
	// Overstated says that a wrong verdict was called recorded.
	Overstated bool `json:"overstated,omitempty"`
	// Untold are words that its steps have to have and do not ([Expected.Untold]).
	Untold string `json:"untold,omitempty"`
	// Text is the answer, where its grade or what is amiss is not as just before: a right
	// one is kept, too, for whoever reads whether a person could act on it.
	Text string `json:"text,omitempty"`
}

// Grace is how long after the first symptom an answer may not be right yet.
const Grace = 3 * time.Second

// Counts says whether a sample of a situation came after the grace.
func (s Sample) Counts(in Situation) bool { return in != Live || s.After >= Grace }

// Sample asks again and again from the first symptom on, for as long as a window
// lasts, and grades every answer; it gives a result for each sight. The first symptom
// is there when the API shows it, or when an answer tells it rightly before.
func (s *Suite) Sample(ctx context.Context, c *Scenario, in Situation) []Result {
	sights := slices.DeleteFunc(s.Node.Sights(), func(by Sight) bool { return by == ByAgent && !c.OfNode() })
	results := make([]Result, len(sights))
	for i, by := range sights {
		results[i] = Result{Scenario: c, Situation: in, Sight: by, Grade: Unknown, Subject: s.subject(c), Namespace: s.namespace(c)}
	}
	window := s.Window
	switch {
	case in != Live:
		window = max(window/3, 3*s.Every)
	case !s.firstSymptom(ctx, c) && c.Want.shows() && ctx.Err() == nil:
		// Nobody's answer is at fault then.
		results[0].Err = fmt.Errorf("the trouble did not come about within %v", s.Patience)
		return results[:1]
	}
	for began := time.Now(); ctx.Err() == nil; {
		for i := range results {
			s.sampleInto(ctx, &results[i], time.Since(began))
		}
		// Not in step with anything that repeats: probes, back-offs, other scenarios.
		pause(ctx, s.Every/2+rand.N(s.Every))
		if time.Since(began) >= window {
			break
		}
	}
	if s.Record != nil && in == Live && ctx.Err() == nil {
		s.Record(ctx, results)
	}
	return results
}

// sampleInto asks once and adds the answer to what was said before.
func (s *Suite) sampleInto(ctx context.Context, r *Result, after time.Duration) {
	one, got := s.once(ctx, r.Scenario, r.Situation, r.Sight)
	if ctx.Err() != nil {
		return
	}
	one.After = after
	text := got.Text(answer.Style{Wide: true})
	if one.Grade != Right {
		r.Err = errors.New(one.Why)
		r.Text = text
	}
	if n := len(r.Samples); n == 0 || r.Samples[n-1].Why != one.Why {
		one.Text = text
	}
	r.Grade, r.Took = one.Grade, one.Took
	r.Samples = append(r.Samples, one)
}

// once asks once and grades the answer.
func (s *Suite) once(ctx context.Context, c *Scenario, in Situation, by Sight) (Sample, answer.Answer) {
	at := time.Now()
	got, err := s.question(ctx, c, by)
	one := Sample{Asked: at.UTC(), Took: time.Since(at), Grade: Unknown}
	if err != nil {
		one.Why = err.Error()
		return one, got
	}
	c.Want.In(in).Grade(&one, got)
	return one, got
}

// Grade judges a sample's answer.
func (e Expected) Grade(s *Sample, got answer.Answer) {
	var err error
	s.Why = ""
	if s.Grade, err = e.Judge(got); err != nil {
		s.Why = err.Error()
	}
	s.Overstated, s.Untold = s.Grade == Wrong && e.overstated(got), e.Untold(got)
}

// overstated says whether one of a wrong answer's verdicts is wrong and called
// recorded; that nothing is wrong, too, where there is nothing else.
func (e Expected) overstated(a answer.Answer) bool {
	return slices.ContainsFunc(a.Verdicts, func(v answer.Verdict) bool {
		return v.Certainty == answer.Recorded && (!e.fine(v.Cause) || slices.Contains(e.Never, v.Cause) || v.Cause == answer.None && len(a.Verdicts) == 1)
	})
}

// firstSymptom waits until there is something to ask about; false says that the
// patience was over before.
func (s *Suite) firstSymptom(ctx context.Context, c *Scenario) bool {
	if c.Want.After.Duration > 0 {
		pause(ctx, c.Want.After.Duration)
		return true
	}
	best := s.Node.Sights()[0]
	deadline := time.Now().Add(s.Patience)
	var asked time.Time
	for ; ctx.Err() == nil && time.Now().Before(deadline); pause(ctx, 200*time.Millisecond) {
		if s.signs.shows(s.namespace(c), s.subject(c), c.Want) {
			return true
		}
		if time.Since(asked) < s.Every {
			continue
		}
		asked = time.Now()
		if one, _ := s.once(ctx, c, Live, best); one.Grade == Right {
			return true
		}
	}
	return false
}

// question asks once; an exit code that says "not healthy" comes with an answer too.
func (s *Suite) question(ctx context.Context, c *Scenario, by Sight) (answer.Answer, error) {
	var a answer.Answer
	out, err := s.Node.Why(ctx, by, s.subject(c), s.namespace(c))
	if len(out) == 0 {
		return a, errors.Join(errors.New("no answer"), err)
	}
	return a, json.Unmarshal(out, &a)
}
