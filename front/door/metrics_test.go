package door

import (
	"fmt"
	"testing"

	"whylet.dev/whylet/why/answer"
)

// However many verdicts a node invents for a pod, it makes no series that could not be.
func TestNoNodeInventsSeries(t *testing.T) {
	a := answer.Answer{Subject: answer.Subject{Namespace: "shop", Name: "web-1"}}
	add := func(cause answer.Cause, certainty answer.Certainty, container string) {
		a.Symptoms = append(a.Symptoms, answer.Symptom{Kind: answer.Restarted})
		a.Verdicts = append(a.Verdicts, answer.Verdict{Cause: cause, Certainty: certainty, Container: container})
	}
	add(answer.MemoryLimit, answer.Recorded, "app")
	for i := range 300 {
		add(answer.Cause(fmt.Sprint("cause-", i)), answer.Certainty(fmt.Sprint("sure-", i)), fmt.Sprint("c", i))
	}
	found := seriesOf(a, func(container string) bool { return container == "app" })
	want := []series{{"shop", "web-1", "app", string(answer.MemoryLimit), "recorded"}, {"shop", "web-1", "", string(answer.CauseUnknown), "unknown"}}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("%v", found)
	}
	for _, cause := range answer.Causes {
		add(cause, answer.Inferred, "app")
	}
	if n := len(seriesOf(a, func(string) bool { return true })); n != mostSeries {
		t.Errorf("%d series", n)
	}
}
