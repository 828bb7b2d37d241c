package why

import (
	"testing"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// A pod that its node ended before the machine shut down is explained by that, and by nothing
// that its containers did meanwhile.
func TestShutdown(t *testing.T) {
	for _, q := range []question{
		{name: "in order", says: "gave it 20 s for that", tale: func(s *tale) {
			s.code = 143
			s.see("", 0, fact.NodeShutdown{GraceSeconds: 20})
		}},
		{name: "it used up its time", says: "was shut down", contributing: []answer.Cause{answer.AppIgnoredSIGTERM}, tale: func(s *tale) {
			s.code = 137
			s.see("", 0, fact.NodeShutdown{GraceSeconds: 20})
		}},
	} {
		q.pod, q.symptom, q.cause, q.certainty = web(), answer.Failed, answer.NodeRestarted, answer.Recorded
		t.Run(q.name, q.run)
	}
}
