package scenarios

import (
	"testing"

	"whylet.dev/whylet/why"
)

func answerOf(pairs ...any) why.Answer {
	var a why.Answer
	for i := 0; i < len(pairs); i += 2 {
		a.Symptoms = append(a.Symptoms, why.Symptom{Kind: pairs[i].(why.SymptomKind)})
		a.Verdicts = append(a.Verdicts, why.Verdict{Cause: pairs[i+1].(why.Cause), Container: "c"})
	}
	return a
}

func TestJudge(t *testing.T) {
	want := Expected{
		Symptom: why.Restarted, Cause: why.MemoryLimit, Container: "c",
		Also: []why.Cause{why.AppUnhealthy}, Never: []why.Cause{why.NodeOutOfMemory},
	}
	for _, c := range []struct {
		name   string
		answer why.Answer
		grade  Grade
	}{
		{"as expected", answerOf(why.Restarted, why.MemoryLimit), Right},
		{"with what may be said too", answerOf(why.Restarted, why.MemoryLimit, why.NotReady, why.AppUnhealthy), Right},
		{"deleted afterwards", answerOf(why.Restarted, why.MemoryLimit, why.Disappeared, why.Deleted), Right},
		{"with a second cause", answerOf(why.Restarted, why.MemoryLimit, why.NotReady, why.AppHang), Beside},
		{"of another symptom", answerOf(why.NotReady, why.MemoryLimit), Part},
		{"not known", answerOf(why.Restarted, why.CauseUnknown), Unknown},
		{"nothing", answerOf(), Unknown},
		{"another cause", answerOf(why.Restarted, why.AppHang), Wrong},
		{"nothing is wrong", answerOf(why.Healthy, why.None), Wrong},
		{"what must not be said", answerOf(why.Restarted, why.MemoryLimit, why.NotReady, why.NodeOutOfMemory), Wrong},
	} {
		if grade, err := want.Judge(c.answer); grade != c.grade || (grade == Right) != (err == nil) {
			t.Errorf("%s: %s, %v; want %s", c.name, grade, err, c.grade)
		}
	}
	well := answerOf(why.Healthy, why.None)
	want.Recovered = &Recovery{Symptom: why.Healthy, Cause: why.None}
	if grade, err := want.In(Recovered).Judge(well); grade != Right {
		t.Errorf("recovered: %s, %v", grade, err)
	}
	if grade, _ := want.In(Recovered).Judge(answerOf(why.Restarted, why.MemoryLimit)); grade != Wrong {
		t.Errorf("recovered, and still told: %s", grade)
	}
	if grade, _ := want.In(Live).Judge(well); grade != Wrong {
		t.Errorf("live: %s", grade)
	}
	want.RuledOut = []why.Cause{why.AppHang}
	if grade, _ := want.Judge(answerOf(why.Restarted, why.MemoryLimit)); grade != Part {
		t.Errorf("without what must be ruled out: %s", grade)
	}
}
