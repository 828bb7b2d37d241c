package serve

import (
	"cmp"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
)

// nodeMemory is how far back a question about the node itself looks where it does
// not say.
const nodeMemory = 7 * 24 * time.Hour

// Node answers about the node whose journal it is: when it was away, and whom it
// evicted. The error is the journal's own.
func Node(s journal.Source, q Question) (answer.Answer, error) {
	from := cmp.Or(q.Since, q.Now.Add(-nodeMemory))
	node, err := collect(s, journal.Query{Node: true, From: from})
	if err != nil {
		return answer.Answer{}, err
	}
	// Who ran through an outage began before it: that has no bound in time.
	pods, err := collect(s, journal.Query{Kinds: []fact.Kind{fact.Started{}.Kind(), fact.Exited{}.Kind(), fact.Evict{}.Kind()}})
	if err != nil {
		return answer.Answer{}, err
	}
	if q.Journal.From, q.Journal.Complete = from, s.Stats().First.Before(from); from.Before(s.Stats().First) {
		q.Journal.From = s.Stats().First
	}
	return why.NodeMemory(q.Name, node, pods, q.Options), nil
}
