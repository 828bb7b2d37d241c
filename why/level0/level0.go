package level0

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Seen is what the API server shows of a pod that has a node.
type Seen struct {
	Pod *v1.Pod
	// Events are those about this pod; those about an earlier one of its name are left
	// out by its uid.
	Events []v1.Event
	// Words are the last lines that a container logged in the run before this one, where
	// they could be read.
	Words map[string][]string
	// Saying are the last lines of containers that run and are not ready.
	Saying map[string][]string
	// Changed is when each of the ConfigMaps that its containers read was changed last, as far
	// as that is known.
	Changed map[string]time.Time
	// Images are those that its node has; none where they may not be read.
	Images []v1.ContainerImage
	// Since leaves out what was over before; Container asks about one container.
	Since     time.Time
	Container string
	// Reason says why nobody on the node was asked, as the end of a sentence.
	Reason string
	// Now is when it was read, by the clock of who asks.
	Now time.Time
}

// Sight is what an answer of this level begins its gaps with.
const Sight = "level 0, only what the API shows: "

// Explain answers why the pod is as it is. Each symptom has one verdict.
func Explain(s Seen) answer.Answer {
	p := s.Pod
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}, s.Now, answer.Coverage{
		Gaps: []answer.Gap{{Reason: Sight + s.Reason}},
	})
	events := relevant(s.Events, p)
	c := &podCase{Seen: s, events: events}
	all := c.symptoms()
	all = slices.DeleteFunc(all, func(t told) bool {
		return s.Container != "" && t.symptom.Container != "" && t.symptom.Container != s.Container || !t.symptom.Last.IsZero() && t.symptom.Last.Before(s.Since)
	})
	if len(all) == 0 {
		all = []told{{answer.Symptom{Kind: answer.Healthy, Last: s.Now}, nothing("By its status there is nothing to explain in what was asked about.")}}
	}
	for _, t := range all {
		v := t.why
		t.symptom.ID = fmt.Sprintf("s%d", len(a.Symptoms)+1)
		v.Symptom = t.symptom.ID
		a.Symptoms = append(a.Symptoms, t.symptom)
		a.Verdicts = append(a.Verdicts, v)
	}
	return a
}

// podCase is a pod that is looked at.
type podCase struct {
	Seen
	events []v1.Event
}

// told is a symptom with its verdict.
type told struct {
	symptom answer.Symptom
	why     answer.Verdict
}

// because is a verdict that a rule concluded.
func because(cause answer.Cause, rule, container, text string, fixes ...answer.Fix) answer.Verdict {
	return answer.Verdict{Cause: cause, Certainty: answer.Inferred, Rule: rule, Container: container, Text: text, Fixes: fixes}
}

// unknown is a verdict without a cause; missing is what somebody on the node would have
// seen.
func unknown(container, text, missing string, fixes ...answer.Fix) answer.Verdict {
	return answer.Verdict{
		Cause: answer.CauseUnknown, Certainty: answer.Unknown, Container: container, Fixes: fixes,
		Text: text + " An agent on the node would have seen " + missing + ".",
	}
}

// kinds of the links of a chain: they are no facts of a journal.
const (
	fromStatus fact.Kind = "PodStatus"
	fromEvent  fact.Kind = "Event"
)

func link(at time.Time, kind fact.Kind, text string) answer.Link {
	return answer.Link{At: at, Kind: kind, Text: text}
}

func (c *podCase) describe() answer.Fix {
	return answer.Fix{Text: "see what the API has of it", Command: fmt.Sprintf("kubectl -n %s describe pod %s", c.Pod.Namespace, c.Pod.Name), Risk: answer.Inspect}
}

func (c *podCase) logs(container string) answer.Fix {
	return answer.Fix{Text: "read what it says", Command: fmt.Sprintf("kubectl -n %s logs %s -c %s", c.Pod.Namespace, c.Pod.Name, container), Risk: answer.Inspect}
}

func (c *podCase) logsBefore(container string) answer.Fix {
	return answer.Fix{Text: "read what it said before it ended", Command: fmt.Sprintf("kubectl -n %s logs %s -c %s --previous", c.Pod.Namespace, c.Pod.Name, container), Risk: answer.Inspect}
}
