package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/serve"
)

const (
	space = "shop"
	// names is how many pods there may be: a name is soon another pod's, on another node.
	names = 40
	// atOnce is how many pods a node has, pause how long it is until the next.
	atOnce, pause = 6, 2 * time.Second
	// between is how long who asks waits.
	between = 300 * time.Millisecond
)

// recorded is what a pod lives through, with the causes that only it has.
type recorded struct {
	name    string
	causes  map[answer.Cause]bool
	foreign map[answer.Cause]bool // those of the others
}

// problem says what is wrong with an answer about such a pod; empty: nothing.
func (r *recorded) problem(text []byte) string {
	var a answer.Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return err.Error()
	}
	own, foreign := r.told(a)
	if foreign != "" {
		return "its cause is another pod's: " + foreign
	}
	if !own {
		return "it has another cause"
	}
	return ""
}

// told says whether an answer has a cause of its pod, and names one that is another's.
func (r *recorded) told(a answer.Answer) (own bool, foreign string) {
	for _, v := range a.Verdicts {
		own = own || r.causes[v.Cause]
		if r.foreign[v.Cause] {
			foreign = string(v.Cause)
		}
	}
	return own, foreign
}

type life struct {
	pod  fact.Pod
	node string
	of   *recorded
}

// tally is how the answers were.
type tally struct {
	mu                            sync.Mutex
	right, nothing, failed, wrong int
	ended                         int
}

func (t *tally) String() string {
	return fmt.Sprintf("%d pods ended; of %d answers %d had the cause, %d had none (nobody who knew could be asked), %d were errors, %d were wrong",
		t.ended, t.right+t.nothing+t.failed+t.wrong, t.right, t.nothing, t.failed, t.wrong)
}

func (t *tally) count(n *int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*n++
}

// play is pods that come, fail and go, and people who ask.
type play struct {
	*testing.T
	w     *fronts.World
	of    []*recorded
	nodes []*node
	free  chan string // names that no pod has
	tally tally

	mu    sync.Mutex
	lives map[types.UID]*life
	order []*life
}

func newPlay(t *testing.T, w *fronts.World) *play {
	t.Helper()
	p := &play{T: t, w: w, lives: map[types.UID]*life{}, free: make(chan string, names)}
	for i := range names {
		p.free <- fmt.Sprintf("web-%d", i)
	}
	for _, name := range []string{"oom-main", "wrong-port", "emptydir-limit", "threshold-exit1"} {
		p.of = append(p.of, &recorded{name: name, causes: p.causesOf(name), foreign: map[answer.Cause]bool{}})
	}
	for _, r := range p.of {
		for _, other := range p.of {
			for cause := range other.causes {
				if !r.causes[cause] {
					r.foreign[cause] = true
				}
			}
		}
		if len(r.causes) == 0 || len(r.foreign) == 0 {
			t.Fatalf("%s is not told from others: %v", r.name, r.causes)
		}
	}
	for i := range nodes {
		n := newNode(fmt.Sprintf("node-%d", i), t.TempDir())
		w.Node(n.name)
		p.start(n)
		t.Cleanup(n.kill)
		before := fact.Pod{Namespace: space, Name: "before", UID: types.UID("before-" + n.name)}
		n.tell(told{Pod: before, Lived: "gate"})
		n.tell(told{Pod: before})
		p.nodes = append(p.nodes, n)
	}
	return p
}

// causesOf are what is answered about a pod with these facts, there and gone.
func (p *play) causesOf(name string) map[answer.Cause]bool {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "x", UID: "x"}}
	j := p.w.Journal(pod, name)
	key := fact.Pod{Namespace: space, Name: "x", UID: "x"}
	all := map[answer.Cause]bool{}
	for range 2 {
		about := serve.Question{Namespace: space, Name: "x", UID: "x", Options: why.Options{Now: time.Now().UTC(), Within: space}}
		r := httptest.NewRequest(http.MethodGet, "/why?"+about.Values().Encode(), nil)
		w := httptest.NewRecorder()
		serve.Handler(j, health.Policy{}, nil).ServeHTTP(w, r)
		var a answer.Answer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			p.Fatalf("%s: %v\n%s", name, err, w.Body)
		}
		for _, v := range a.Verdicts {
			if v.Cause != answer.CauseUnknown && v.Cause != answer.Deleted {
				all[v.Cause] = true
			}
		}
		if err := gone(j, key); err != nil {
			p.Fatal(err)
		}
	}
	return all
}

// live has pods come and go on a node, and in the end all go.
func (p *play) live(ctx context.Context, n *node) {
	for ctx.Err() == nil {
		if l := p.begin(ctx, n); l != nil {
			n.pods = append(n.pods, l)
		}
		if len(n.pods) > atOnce {
			p.end(n, n.pods[0])
			n.pods = n.pods[1:]
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
		}
	}
	for _, l := range n.pods {
		p.end(n, l)
	}
}

// perform has pods live and end on all nodes, and people ask about them from when they are
// called until it is stopped.
func (p *play) perform() (people, stop func()) {
	ctx, cancel := context.WithCancel(p.Context())
	var acting sync.WaitGroup
	for _, n := range p.nodes {
		acting.Go(func() { p.live(ctx, n) })
	}
	people = func() {
		for range askers {
			acting.Go(func() { p.askOn(ctx) })
		}
	}
	return people, func() { cancel(); acting.Wait() }
}

// begin makes a pod, as soon as the API server lets it.
func (p *play) begin(ctx context.Context, n *node) *life {
	name := <-p.free
	for {
		pod, err := p.w.Kube.Client.CoreV1().Pods(space).Create(ctx, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1.PodSpec{NodeName: n.name, Containers: []v1.Container{{Name: "app", Image: "app"}}},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // made as the API server was killed
			p.remove(ctx, name)
			continue
		}
		if err == nil {
			l := &life{pod: fact.Pod{Namespace: space, Name: name, UID: pod.UID}, node: n.name, of: p.of[rand.N(len(p.of))]}
			p.mu.Lock()
			p.lives[pod.UID] = l
			p.order = append(p.order, l)
			p.mu.Unlock()
			n.tell(told{Pod: l.pod, Lived: l.of.name})
			return l
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			p.free <- name
			return nil
		}
	}
}

// remove takes a pod away, as soon as the API server lets it.
func (p *play) remove(ctx context.Context, name string) {
	zero := int64(0)
	for ctx.Err() == nil {
		err := p.w.Kube.Client.CoreV1().Pods(space).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
		if apierrors.IsNotFound(err) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (p *play) end(n *node, l *life) {
	p.remove(context.Background(), l.pod.Name)
	n.tell(told{Pod: l.pod})
	p.tally.count(&p.tally.ended)
	p.free <- l.pod.Name
}

// askOn asks about pods that are there or went a while ago, as kubectl why does.
func (p *play) askOn(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-time.After(between/2 + rand.N(between)):
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		var name string
		if recent := p.order[max(0, len(p.order)-2*nodes*atOnce):]; len(recent) > 0 {
			name = recent[rand.N(len(recent))].pod.Name
		}
		p.mu.Unlock()
		if name == "" {
			continue
		}
		c, err := ask.Connect(p.w.Kube.Config, ask.Options{Namespace: space})
		if err != nil {
			p.Error(err)
			return
		}
		answers, err := c.About(ctx, ask.Target{Kind: "pod", Name: name})
		if ctx.Err() == nil {
			p.judge(name, answers, err)
		}
	}
}

// judge says whether an answer is about a pod of that name, and its own.
func (p *play) judge(name string, answers []answer.Answer, err error) {
	if len(answers) == 0 {
		p.tally.count(&p.tally.failed)
		if err == nil {
			p.Error(errors.New("neither an answer nor an error"))
		}
		return
	}
	l := p.lifeOf(answers[0].Subject.UID)
	if l == nil || l.pod.Name != name {
		p.tally.count(&p.tally.wrong)
		p.Errorf("asked about %s, told of %+v", name, answers[0].Subject)
		return
	}
	own, foreign := l.of.told(answers[0])
	switch {
	case foreign != "":
		p.tally.count(&p.tally.wrong)
		p.Errorf("%s on %s lived through %s, and is told %s", l.pod, l.node, l.of.name, foreign)
	case own:
		p.tally.count(&p.tally.right)
	default:
		p.tally.count(&p.tally.nothing)
	}
}

// lifeOf finds a pod, which may just be being made.
func (p *play) lifeOf(uid types.UID) *life {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		p.mu.Lock()
		l := p.lives[uid]
		p.mu.Unlock()
		if l != nil || time.Now().After(end) {
			return l
		}
	}
}
