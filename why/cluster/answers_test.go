package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

var dawn = time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)

// wellPod and sickPod are what a node says of a pod that is as it should be, and of
// one that ended with an error.
func wellPod() answer.Answer {
	return podAnswer(answer.Healthy, answer.Verdict{Cause: answer.None, Certainty: answer.Inferred, Rule: "no-symptom", Text: "Nothing is wrong."})
}

func sickPod() answer.Answer {
	return podAnswer(answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Certainty: answer.Inferred, Rule: "exit-code", Text: "It ended with exit code 3."})
}

func podAnswer(kind answer.SymptomKind, v answer.Verdict) answer.Answer {
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: "shop", Name: "web-1", UID: "u1"}, dawn, answer.Coverage{Complete: true})
	a.Put(answer.Symptom{Kind: kind, Container: "app", Text: "container app"}, v)
	return a
}

// check holds an answer to what is true of all of them.
func check(t *testing.T, a answer.Answer) {
	t.Helper()
	if len(a.Symptoms) == 0 || len(a.Symptoms) != len(a.Verdicts) || a.APIVersion != answer.APIVersion || a.AsOf.IsZero() {
		t.Errorf("%+v", a)
	}
	for i, v := range a.Verdicts {
		unknown := v.Cause == answer.CauseUnknown
		if v.Symptom != a.Symptoms[i].ID || v.Text == "" || !slices.Contains(answer.Causes, v.Cause) ||
			unknown != (v.Certainty == answer.Unknown) || (v.Certainty == answer.Inferred) != (v.Rule != "") {
			t.Errorf("%+v", v)
		}
	}
}

// quoteText has a verdict quote its own text, and what a log says in it, as who makes verdicts marks that.
func quoteText(v *answer.Verdict) {
	quotes := func(text string) (all []answer.Quote) {
		all = append(all, answer.Quote{Role: answer.RoleWords, Text: text})
		for _, before := range []string{"log says: ", "last message: "} {
			if _, said, ok := strings.Cut(text, before); ok {
				all = append(all, answer.Quote{Role: answer.RoleLog, Text: said})
			}
		}
		return all
	}
	v.Quotes = quotes(v.Text)
	for i := range v.Hops {
		v.Hops[i].Quotes = quotes(v.Hops[i].Text)
	}
}

// shownIn is a verdict that gets what it is about in the configuration of a pod.
func shownIn(v *answer.Verdict, pod *v1.Pod, all []v1.ConfigMap) shown {
	m, _ := MatterOf(*v)
	return m.shownIn(v, pod, all)
}
