package uplink

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/common"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/serve"
)

// tracker knows how each pod of the node stands. Every change has a number, so that each
// session knows what it has not told yet.
type tracker struct {
	journal Journal

	mu      sync.Mutex
	pods    map[types.UID]*standing
	gone    map[types.UID]departure
	version uint64
	lastEnd fact.ID // the newest ObjectGone
	whole   bool
	changed chan struct{} // closed at the next change
}

type standing struct {
	pod     fact.Pod
	maker   common.Maker
	answer  []byte // nil: well
	version uint64 // 0: not known yet
	due     time.Time
}

type departure struct {
	version uint64
	at      time.Time
}

func newTracker(j Journal) *tracker {
	return &tracker{journal: j, pods: map[types.UID]*standing{}, gone: map[types.UID]departure{}, changed: make(chan struct{})}
}

const (
	// soon and later are how long after a fact a pod is explained again: soon after those
	// that change how it stands, else when there is time.
	soon, later = time.Second, 10 * time.Second
	// share is the part of one processor that explaining takes at most: after each answer
	// that took one part, share-1 parts are waited.
	share = 10
	// keepGone is how long a session may be late to hear that a pod is gone. A new one
	// is told of all that are there.
	keepGone = 10 * time.Minute
)

// run follows the journal until ctx ends.
func (t *tracker) run(ctx context.Context) {
	from := t.begin()
	var explaining sync.WaitGroup
	defer explaining.Wait()
	explaining.Go(func() { t.explain(ctx) })
	for f, err := range t.journal.Tail(ctx, from) {
		if err == nil {
			t.take(f)
		}
	}
}

// begin learns which pods there are, and gives the fact to go on from.
func (t *tracker) begin() fact.ID {
	from := t.journal.Stats().LastID + 1
	gone := map[types.UID]bool{}
	for f, err := range t.journal.Query(journal.Query{Kinds: []fact.Kind{fact.ObjectGone{}.Kind()}}) {
		if err == nil {
			gone[f.Pod.UID], t.lastEnd = true, f.ID
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.journal.Pods() {
		if p.Pod.Name != "" && !gone[p.Pod.UID] && len(t.pods) < link.MaxPods {
			t.pods[p.Pod.UID] = &standing{pod: p.Pod, due: time.Now()}
		}
	}
	return from
}

func (t *tracker) take(f fact.Fact) {
	uid := f.Pod.UID
	if uid == "" || f.Pod.Name == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := f.Body.(fact.ObjectGone); ok {
		delete(t.pods, uid)
		t.lastEnd = max(t.lastEnd, f.ID)
		t.bump()
		t.gone[uid] = departure{t.version, time.Now()}
		return
	}
	if _, left := t.gone[uid]; left {
		return
	}
	s := t.pods[uid]
	if s == nil {
		if len(t.pods) >= link.MaxPods {
			return
		}
		s = &standing{pod: f.Pod}
		t.pods[uid] = s
	}
	wait := later
	switch f.Body.(type) {
	case fact.Exited, fact.StartFailed, fact.ImageFailed, fact.StatusSeen, fact.Marked, fact.SpecSeen, fact.DeletionSeen, fact.Evict, fact.OOMKilled, fact.Refused, fact.BackOff:
		wait = soon
	}
	if due := time.Now().Add(wait); s.due.IsZero() || due.Before(s.due) {
		s.due = due
	}
}

// bump begins a new version. The caller holds mu.
func (t *tracker) bump() {
	t.version++
	close(t.changed)
	t.changed = make(chan struct{})
}

// explain keeps the answers up to date.
func (t *tracker) explain(ctx context.Context) {
	ticker := time.NewTicker(soon / 2)
	defer ticker.Stop()
	for {
		if s, ok := t.next(time.Now()); ok {
			began := time.Now()
			text, maker := t.judge(s)
			t.put(s.UID, text, maker)
			select {
			case <-time.After((share - 1) * time.Since(began)):
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// next is the pod that is due the longest.
func (t *tracker) next(now time.Time) (fact.Pod, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var best *standing
	for _, s := range t.pods {
		if !s.due.IsZero() && !s.due.After(now) && (best == nil || s.due.Before(best.due)) {
			best = s
		}
	}
	for uid, d := range t.gone {
		if now.Sub(d.at) > keepGone {
			delete(t.gone, uid)
		}
	}
	if best == nil {
		if !t.whole {
			t.whole = true
			t.bump()
		}
		return fact.Pod{}, false
	}
	best.due = time.Time{}
	return best.pod, true
}

// judge gives the answer about a pod, nil where it is well or nothing is known, and what
// made it.
func (t *tracker) judge(p fact.Pod) (text []byte, maker common.Maker) {
	a, h, err := explained(t.journal, p, time.Now().UTC())
	if err != nil {
		return nil, maker
	}
	if h.Object != nil {
		maker = common.MakerOf(h.Object)
	}
	if well(a) {
		return nil, maker
	}
	a.AsOf = a.AsOf.Truncate(24 * time.Hour) // what is the same must look the same
	return bounded(a), maker
}

// explained answers about a pod as those see it who may see its namespace only.
func explained(j journal.Source, p fact.Pod, now time.Time) (answer.Answer, *history.History, error) {
	q := serve.Question{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Options: why.Options{Now: now, Within: p.Namespace}}
	h, err := serve.History(j, &q)
	if err != nil {
		return answer.Answer{}, nil, err
	}
	a := why.Explain(h, q.Options)
	a.Clean() // a front refuses an answer whose words hold control characters
	return a, h, nil
}

func well(a answer.Answer) bool {
	for i, v := range a.Verdicts {
		if !answer.WellOrDone(a.Symptoms[i], v) {
			return false
		}
	}
	return true
}

func (t *tracker) put(uid types.UID, text []byte, maker common.Maker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.pods[uid]
	if s == nil || s.version > 0 && bytes.Equal(s.answer, text) && s.maker == maker {
		return
	}
	s.answer, s.maker = text, maker
	t.bump()
	s.version = t.version
}

// since gives what changed after a version, bounded, in order, with the version that it
// goes up to, and a channel that is closed at the next change.
func (t *tracker) since(version uint64) (link.Standing, uint64, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	type change struct {
		version uint64
		uid     types.UID
		pod     *standing
	}
	var all []change
	for uid, s := range t.pods {
		if s.version > version {
			all = append(all, change{s.version, uid, s})
		}
	}
	for uid, d := range t.gone {
		if d.version > version {
			all = append(all, change{d.version, uid, nil})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	var out link.Standing
	size := 0
	for i, c := range all {
		if i == link.MaxStanding || c.pod != nil && size+len(c.pod.answer) > link.MaxToFront/2 {
			return out, version, t.changed
		}
		version = c.version
		if c.pod == nil {
			out.Gone = append(out.Gone, c.uid)
			continue
		}
		size += len(c.pod.answer)
		out.Pods = append(out.Pods, link.Pod{
			Pod: c.pod.pod, Answer: json.RawMessage(c.pod.answer), Kind: c.pod.maker.Kind, Workload: c.pod.maker.Name, Revision: c.pod.maker.Revision,
		})
	}
	out.Whole = t.whole
	return out, max(version, t.version), t.changed
}

// ended is the newest end that the journal has.
func (t *tracker) ended() (fact.ID, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastEnd, t.changed
}
