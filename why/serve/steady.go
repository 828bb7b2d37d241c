package serve

import (
	"slices"
	"time"

	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// tried is how long ago the question is asked once more, with what was known then.
var tried = []time.Duration{30 * time.Second, 5 * time.Minute, time.Hour}

// steady says since when the answer has been the same: that it would have been given before
// is worth more than that it is given now.
func steady(h *history.History, o why.Options, a *answer.Answer) {
	open := make([]bool, len(a.Verdicts))
	for i, v := range a.Verdicts {
		open[i] = v.Cause != answer.CauseUnknown && v.Cause != answer.None
	}
	for _, ago := range tried {
		then := o
		then.Now, then.Causes = o.Now.Add(-ago), true
		before, ok := h.At(then.Now)
		if !ok || !slices.Contains(open, true) {
			return
		}
		b := why.Explain(before, then)
		for i := range a.Verdicts {
			if open[i] = open[i] && says(b, a.Symptoms[i], a.Verdicts[i]); open[i] {
				a.Verdicts[i].SteadySince = then.Now
			}
		}
	}
}

// says says whether an answer gives a symptom the same cause.
func says(a answer.Answer, s answer.Symptom, v answer.Verdict) bool {
	i := slices.IndexFunc(a.Symptoms, func(o answer.Symptom) bool { return o.Kind == s.Kind && o.Container == s.Container })
	return i >= 0 && a.Verdicts[i].Cause == v.Cause && a.Verdicts[i].Container == v.Container
}
