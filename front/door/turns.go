package door

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/question"
)

const (
	// untaken is how long each further replica leaves a question to those before it that
	// nobody has taken, turn one that somebody has.
	untaken, turn = 300 * time.Millisecond, time.Second
	// seen is how long it is looked who else takes a question before an answer is written
	// that others may know more of, theirs how long those have then.
	seen, theirs = 500 * time.Millisecond, 2 * time.Second
	// mostTakers is how many may be at one question.
	mostTakers = 8
)

// takenBy are those who are at a question.
func takenBy(u *unstructured.Unstructured) []string {
	names, _, _ := unstructured.NestedStringSlice(u.Object, "status", "takenBy")
	return names
}

// changed notes what became of a question.
func (q *Questions) changed(o any, gone bool) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.inFlight[u.GetUID()]
	if f == nil {
		return
	}
	f.takenBy = takenBy(u)
	if gone || answeredAt(u) != "" {
		select {
		case <-f.over:
		default:
			close(f.over)
		}
	}
}

// takers are who is at a question, as far as it is known.
func (q *Questions) takers(f *flight) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return f.takenBy
}

// still waits, and says whether the question is to be answered still.
func (f *flight) still(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-f.over:
	case <-ctx.Done():
	}
	return false
}

// answer answers one question, after those whose turn is before. Where others may know
// more, it is left to them for a moment.
func (q *Questions) answer(ctx context.Context, gvr schema.GroupVersionResource, u *unstructured.Unstructured) {
	q.mu.Lock()
	f := q.inFlight[u.GetUID()]
	q.mu.Unlock()
	if !q.ours(ctx, f, u.GetUID()) {
		return
	}
	log := q.Log.With("namespace", u.GetNamespace(), "name", u.GetName())
	raw, err := u.MarshalJSON()
	var asked question.Question
	if err == nil {
		err = json.Unmarshal(raw, &asked)
	}
	if err != nil {
		log.Warn("a question is not understood", "error", err)
		return
	}
	if f.tooMany != "" {
		asked.Status = question.Status{By: q.Answerer.Name, Message: f.tooMany, AnsweredAt: metav1.NowMicro()}
		over, err := q.write(ctx, gvr, &asked)
		if q.told(log, err); !over && err == nil {
			q.drop(gvr, u) // its asker watches, and is told before it goes
		}
		return
	}
	// Taken, its asker knows at once that somebody is at it, and another front that it is
	// not alone.
	if over, err := q.write(ctx, gvr, &asked); over || err != nil {
		q.told(log, err)
		return
	}
	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	// The namespace is the object's own, whatever it says: who may create it there may see it.
	status, better := q.Answerer.heard(asking, u.GetNamespace(), asked.Spec)
	if better && !q.holdBack(ctx, f) {
		return
	}
	status.TakenBy, status.AnsweredAt = asked.Status.TakenBy, metav1.NowMicro()
	asked.Status = status
	over, err := q.write(ctx, gvr, &asked)
	if q.told(log, err); over || err != nil {
		return
	}
	q.mu.Lock()
	q.answered++
	q.mu.Unlock()
}

func (q *Questions) told(log *slog.Logger, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Warn("a question's status could not be written", "error", err)
	}
}

// ours waits for this replica's turn: those before it have not taken the question, or had
// time to answer it.
func (q *Questions) ours(ctx context.Context, f *flight, uid types.UID) bool {
	rank := time.Duration(q.rank(uid))
	switch {
	case rank == 0:
		return true
	case !f.still(ctx, rank*untaken):
		return false
	case len(q.takers(f)) == 0:
		return true
	}
	return f.still(ctx, rank*(turn-untaken))
}

// holdBack leaves a question to others that are at it, and says whether none of them
// answered.
func (q *Questions) holdBack(ctx context.Context, f *flight) bool {
	if !f.still(ctx, seen) {
		return false
	}
	others := slices.ContainsFunc(q.takers(f), func(name string) bool { return name != q.Answerer.Name })
	return !others || f.still(ctx, theirs)
}

// mostWrites is how often a status is written anew because somebody else changed it.
const mostWrites = 5

// write writes a question's status, with this front among those who are at it. over says
// that the question is gone, or has an answer by somebody else.
func (q *Questions) write(ctx context.Context, gvr schema.GroupVersionResource, asked *question.Question) (over bool, err error) {
	at := q.API.Resource(gvr).Namespace(asked.Namespace)
	for try := 1; ; try++ {
		if by := asked.Status.TakenBy; !slices.Contains(by, q.Answerer.Name) && len(by) < mostTakers {
			asked.Status.TakenBy = append(by, q.Answerer.Name)
		}
		o, err := objectOf(asked)
		if err != nil {
			return false, err
		}
		o, err = at.UpdateStatus(ctx, o, metav1.UpdateOptions{})
		changed := apierrors.IsConflict(err) && try < mostWrites
		if changed {
			o, err = at.Get(ctx, asked.Name, metav1.GetOptions{})
		}
		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case err != nil:
			return false, err
		}
		asked.ResourceVersion, asked.Status.TakenBy = o.GetResourceVersion(), takenBy(o)
		if !changed {
			return false, nil
		}
		if answeredAt(o) != "" {
			return true, nil
		}
	}
}

func objectOf(asked *question.Question) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	return o, o.UnmarshalJSON(raw)
}

// rank is how many replicas are to answer a question before this one: each has another
// order of them, so that they share the work. One that has just begun comes last: not all
// agents may have found it yet.
func (q *Questions) rank(uid types.UID) int {
	var peers []string
	if q.Peers != nil {
		peers = slices.Clone(q.Peers())
	}
	if q.Fresh != nil && q.Fresh() {
		return max(1, len(peers))
	}
	weight := func(name string) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(string(uid) + "/" + name))
		return h.Sum64()
	}
	slices.SortFunc(peers, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) })
	return max(0, slices.Index(peers, q.Self))
}
