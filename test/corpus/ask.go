package corpus

import (
	"context"
	"errors"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
)

// Sights are those with which every case is asked.
var Sights = []scenarios.Sight{scenarios.ByAgent, scenarios.ByAPI}

// Ask asks about the case's subject as of its recording.
func (c Case) Ask(ctx context.Context, by scenarios.Sight) (answer.Answer, error) {
	from, err := ask.Recorded(c.Case, by == scenarios.ByAgent, ask.Options{Namespace: c.Namespace})
	if err != nil {
		return answer.Answer{}, err
	}
	targets, err := ask.ParseTargets([]string{c.Subject}, false)
	if err != nil {
		return answer.Answer{}, err
	}
	all, err := ask.Several(ctx, from, targets)
	if len(all) == 0 {
		return answer.Answer{}, errors.Join(errors.New("no answer"), err)
	}
	return all[0], nil // beside it the error says who did not answer
}

// Grade grades an answer to the case's question by a label.
func Grade(want scenarios.Expected, a answer.Answer, err error) scenarios.Sample {
	s := scenarios.Sample{Grade: scenarios.Unknown}
	if err != nil {
		s.Why = err.Error()
		return s
	}
	want.In(scenarios.Live).Grade(&s, a)
	return s
}
