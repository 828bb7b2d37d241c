package serve

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

// Facts are those that a page shows of a pod and of its node meanwhile, or where the
// question is about the node itself, of that and of its pods' runs, or where it names no pod,
// of all pods of the namespace; by id. The error is as that of [One].
func Facts(s journal.Source, q Question) ([]fact.Fact, error) {
	if !q.Node && q.Name == "" {
		return factsWithin(s, q)
	}
	if !q.Node {
		h, err := History(s, &q)
		if err != nil {
			return nil, err
		}
		return byID(h.Facts, h.Node), nil
	}
	own, err := collect(s, journal.Query{Node: true, From: q.Since})
	if err != nil {
		return nil, err
	}
	runs, err := collect(s, journal.Query{Kinds: []fact.Kind{fact.Started{}.Kind(), fact.Exited{}.Kind(), fact.Evict{}.Kind()}, From: q.Since})
	return byID(own, runs), err
}

// factsWithin gives the facts of all pods of a namespace, those included that are gone, and what
// the node did while they were there. Names of other namespaces' pods are left out.
func factsWithin(s journal.Source, q Question) ([]fact.Fact, error) {
	own := map[types.UID]bool{}
	began := q.Now
	for _, span := range s.Pods() {
		if span.Pod.Namespace == q.Namespace && span.Pod.UID != "" {
			own[span.Pod.UID] = true
			if span.First.Before(began) {
				began = span.First
			}
		}
	}
	began = began.Add(-time.Minute)
	node, err := collect(s, journal.Query{Node: true, From: began})
	if err != nil {
		return nil, err
	}
	agent, err := watching(s, began)
	if err != nil {
		return nil, err
	}
	if agent != nil {
		node = append(node, *agent)
	}
	var pods []fact.Fact
	if len(own) > 0 {
		pods, err = collect(s, journal.Query{Among: own, From: q.Since})
	}
	all := byID(pods, node)
	confine(all, q.Namespace)
	return all, err
}

func byID(some, others []fact.Fact) []fact.Fact {
	all := slices.Concat(some, others)
	slices.SortFunc(all, func(a, b fact.Fact) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// FactsHandler answers GET with the parameters of [ParseQuestion] with the [Facts], as a
// portable file of the journal: 404 when nothing is known of the pod, 400 when the
// question is not about a pod, a namespace or the node. They are as [fact.Outward] has
// them, unless the question wants values. Who may ask is for the server around it. It
// may be used from many goroutines.
func FactsHandler(s journal.Source) http.Handler { return FactsHandlerAt(s, time.Now) }

// FactsHandlerAt is [FactsHandler] with a clock of its own, as [HandlerAt] has.
func FactsHandlerAt(s journal.Source, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, "only GET is answered", http.StatusMethodNotAllowed)
			return
		}
		q, err := ParseQuestion(r.URL.Query(), now().UTC())
		if err == nil && q.Name == "" && (q.Node || q.Namespace == "") {
			err = errors.New("the facts of one pod, of a namespace's or of the node can be had: its name is missing")
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		facts, err := Facts(s, q)
		if err != nil {
			fail(w, Question{}, err)
			return
		}
		w.Header().Set("Content-Type", "application/zstd")
		// A file without its end is seen to be cut short.
		_, _ = journal.Export(w, journal.Header{Exported: q.Now}, func(yield func(fact.Fact, error) bool) {
			for _, f := range facts {
				if !q.WithValues {
					f = fact.Outward(f)
				}
				if !yield(f, nil) {
					return
				}
			}
		})
	})
}
