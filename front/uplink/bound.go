package uplink

import (
	"encoding/json"

	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/why/answer"
)

// keptLinks is how much of a chain stays in an answer that is too long: its end.
const keptLinks = 4

// bounded writes an answer so that it fits: what explains least goes first. nil where
// nothing helps.
func bounded(a answer.Answer) []byte {
	for _, less := range []func(*answer.Verdict){
		func(*answer.Verdict) {},
		func(v *answer.Verdict) {
			for i := range v.Chain {
				v.Chain[i].Evidence = nil
			}
		},
		func(v *answer.Verdict) { v.Chain = v.Chain[max(0, len(v.Chain)-keptLinks):] },
		func(v *answer.Verdict) { v.Chain, v.LastWords, v.RuledOut, v.Contributing = nil, nil, nil, nil },
	} {
		for i := range a.Verdicts {
			less(&a.Verdicts[i])
		}
		if text, err := json.Marshal(a); err == nil && len(text) <= link.MaxAnswer {
			return text
		}
	}
	return nil
}
