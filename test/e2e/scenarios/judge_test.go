package scenarios

import (
	"testing"

	"whylet.dev/whylet/why/answer"
)

func answerOf(pairs ...any) answer.Answer {
	var a answer.Answer
	for i := 0; i < len(pairs); i += 2 {
		a.Symptoms = append(a.Symptoms, answer.Symptom{Kind: pairs[i].(answer.SymptomKind)})
		v := answer.Verdict{Cause: pairs[i+1].(answer.Cause), Container: "c", Certainty: answer.Inferred}
		if v.Cause == answer.CauseUnknown {
			v.Certainty = answer.Unknown
		}
		a.Verdicts = append(a.Verdicts, v)
	}
	return a
}

func TestJudge(t *testing.T) {
	want := Expected{
		Symptom: answer.Restarted, Cause: answer.MemoryLimit, Container: "c",
		Also: []answer.Cause{answer.AppUnhealthy}, Never: []answer.Cause{answer.NodeOutOfMemory},
	}
	for _, c := range []struct {
		name   string
		answer answer.Answer
		grade  Grade
	}{
		{"as expected", answerOf(answer.Restarted, answer.MemoryLimit), Right},
		{"with what may be said too", answerOf(answer.Restarted, answer.MemoryLimit, answer.NotReady, answer.AppUnhealthy), Right},
		{"deleted afterwards", answerOf(answer.Restarted, answer.MemoryLimit, answer.Disappeared, answer.Deleted), Right},
		{"with a second cause", answerOf(answer.Restarted, answer.MemoryLimit, answer.NotReady, answer.AppHang), Beside},
		{"of another symptom", answerOf(answer.NotReady, answer.MemoryLimit), Part},
		{"not known", answerOf(answer.Restarted, answer.CauseUnknown), Unknown},
		{"nothing", answerOf(), Unknown},
		{"another cause", answerOf(answer.Restarted, answer.AppHang), Wrong},
		{"nothing is wrong", answerOf(answer.Healthy, answer.None), Wrong},
		{"what must not be said", answerOf(answer.Restarted, answer.MemoryLimit, answer.NotReady, answer.NodeOutOfMemory), Wrong},
	} {
		if grade, err := want.Judge(c.answer); grade != c.grade || (grade == Right) != (err == nil) {
			t.Errorf("%s: %s, %v; want %s", c.name, grade, err, c.grade)
		}
	}
	want.Either = []answer.Cause{answer.MemoryLimitChild}
	if grade, err := want.Judge(answerOf(answer.Restarted, answer.MemoryLimitChild, answer.NotReady, answer.MemoryLimit)); grade != Right {
		t.Errorf("as true: %s, %v", grade, err)
	}
	want.Or = answer.NotStarting
	for kind, right := range map[answer.SymptomKind]Grade{answer.NotStarting: Right, answer.NotReady: Part} {
		if grade, _ := (Expected{Symptom: want.Symptom, Or: want.Or, Cause: want.Cause}).Judge(answerOf(kind, answer.MemoryLimit)); grade != right {
			t.Errorf("%s: %s", kind, grade)
		}
	}
	for pattern, right := range map[string]Grade{"CONTAINER-MEMORY|heap": Right, "container.{2}memory": Part} {
		if grade, _ := (Expected{Symptom: want.Symptom, Cause: want.Cause, Matches: []string{pattern}}).Judge(answerOf(answer.Restarted, answer.MemoryLimit)); grade != right {
			t.Errorf("%s: %s", pattern, grade)
		}
	}
	elsewhere := answerOf(answer.Restarted, answer.MemoryLimit)
	elsewhere.Verdicts[0].Container, elsewhere.Symptoms[0].Container = "", "c"
	if grade, _ := want.Judge(elsewhere); grade != Part {
		t.Errorf("of no container: %s", grade)
	}
	elsewhere.Verdicts[0].Hops = []answer.Hop{{Pod: "shop/db"}}
	if grade, err := want.Judge(elsewhere); grade != Right {
		t.Errorf("of a container that suffers from another pod: %s, %v", grade, err)
	}
	well := answerOf(answer.Healthy, answer.None)
	want.Recovered = &Recovery{Symptom: answer.Healthy, Cause: answer.None}
	if grade, err := want.In(Recovered).Judge(well); grade != Right {
		t.Errorf("recovered: %s, %v", grade, err)
	}
	if grade, _ := want.In(Recovered).Judge(answerOf(answer.Restarted, answer.MemoryLimit)); grade != Wrong {
		t.Errorf("recovered, and still told: %s", grade)
	}
	if grade, _ := want.In(Live).Judge(well); grade != Wrong {
		t.Errorf("live: %s", grade)
	}
	well.Verdicts[0].Certainty = answer.Unknown
	if grade, _ := want.In(Live).Judge(well); grade != Unknown {
		t.Errorf("nothing to see, and not sure of it: %s", grade)
	}
	want.RuledOut = []answer.Cause{answer.AppHang}
	if grade, _ := want.Judge(answerOf(answer.Restarted, answer.MemoryLimit)); grade != Part {
		t.Errorf("without what must be ruled out: %s", grade)
	}
}

// Steps are held to what is to be changed, in any of the words that say it, whatever the case.
func TestUntold(t *testing.T) {
	a := answerOf(answer.Restarted, answer.MemoryLimit, answer.NotReady, answer.AppHang)
	a.Verdicts[0].Fixes = []answer.Fix{{Text: "raise the Limit", Command: "kubectl edit deployment/web"}}
	a.Verdicts[1].Fixes = []answer.Fix{{Text: "lower maxmemory"}}
	for _, c := range []struct {
		does   []string
		untold string
	}{
		{nil, ""},
		{[]string{"limit"}, ""},
		{[]string{"request|limit", "deployment/web"}, ""},
		{[]string{"limit", "maxmemory|-Xmx"}, "maxmemory|-Xmx"}, // a step of another verdict
	} {
		if got := (Expected{Cause: answer.MemoryLimit, Does: c.does}).Untold(a); got != c.untold {
			t.Errorf("%v: %q, want %q", c.does, got, c.untold)
		}
	}
}
