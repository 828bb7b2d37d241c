package fromapi

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// Seen is what the API server shows of a pod that has a node.
type Seen struct {
	Pod *v1.Pod
	// Events are those about this pod and about whoever made it.
	Events []v1.Event
	// Ended are the last lines that a container logged in the run before this one, Running those of
	// containers that run, where they could be read.
	Ended, Running map[string][]Line
	// Changed is when each of the ConfigMaps that its containers read was changed last, as far
	// as that is known.
	Changed map[string]time.Time
	// Images are those that its node has; none where they may not be read.
	Images []v1.ContainerImage
	// Now is when it was read, by the clock of who asks.
	Now time.Time
}

// Line is one line of a log, and when it was written; the zero time where that is not known.
type Line struct {
	At   time.Time
	Text string
}

// Sight is what an answer from the API alone begins its gaps with.
const Sight = "based on the Kubernetes API alone (level 0): "

// Asked says what is asked about a pod.
type Asked struct {
	// Since leaves out what was over before; Container asks about one container.
	Since     time.Time
	Container string
	// Reason says why nobody on the node was asked, as the end of a sentence.
	Reason string
}

// Explain returns the answer about a pod by what the API server shows of it.
func Explain(s Seen, asked Asked) answer.Answer { return explain(History(s), s.Now, asked) }

func explain(h *history.History, now time.Time, asked Asked) answer.Answer {
	return why.Explain(h, why.Options{
		Now: now, Since: asked.Since, Container: asked.Container,
		Journal: answer.Coverage{Gaps: []answer.Gap{{Reason: Sight + asked.Reason}}},
	})
}
