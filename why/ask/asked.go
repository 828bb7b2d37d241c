package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	authn "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	object "whylet.dev/whylet/why/question"
	"whylet.dev/whylet/why/serve"
)

const (
	// frontWithin is how long a front may take with a question before another way is tried.
	frontWithin = 12 * time.Second
	// takenWithin is how long it may be until a front has taken the question, beside what an
	// API server that is slow takes more: where none does, none is running.
	takenWithin = time.Second
	// withdrawWithin is how long it may take to remove a question that nobody took.
	withdrawWithin = time.Second
)

// doorClosed says that a front cannot be asked, and why.
type doorClosed struct {
	reason    string
	forbidden bool
}

func (e *doorClosed) Error() string { return e.reason }

// asked asks a front by writing the question down in the cluster. ok is false where that
// door is not there; then the nodes are asked.
func (c *Cluster) asked(ctx context.Context, space string, spec object.Spec) (status object.Status, ok bool, err error) {
	if c.options.Front != nil || c.options.NoFront || c.closed.Load() {
		return status, false, nil
	}
	if spec.Container = c.options.Container; c.options.Since > 0 {
		spec.Since = c.options.Since.String()
	}
	kind := object.ClusterKind // who may ask about everything is told more
	var closed *doorClosed
	if c.confined.Load() && kindOf(space, spec) == object.Kind {
		kind = object.Kind
	}
	status, err = c.written(ctx, kind, space, spec)
	if errors.As(err, &closed) && closed.forbidden && kindOf(space, spec) == object.Kind && kind != object.Kind {
		c.confined.Store(true)
		kind = object.Kind
		status, err = c.written(ctx, kind, space, spec)
	}
	if errors.As(err, &closed) {
		c.closed.Store(true)
		c.told("a front is not asked: %s", closed.reason)
		return status, false, nil
	}
	if err == nil {
		c.told("answered by %s, by a %s", status.By, kind)
	}
	return status, true, err
}

// kindOf is the kind that is enough for a question.
func kindOf(space string, spec object.Spec) string {
	if space == "" || spec.Kind == "node" {
		return object.ClusterKind
	}
	return object.Kind
}

func (c *Cluster) told(format string, args ...any) {
	if c.options.Told != nil {
		c.options.Told(fmt.Sprintf(format, args...))
	}
}

// written creates the object and waits for its status.
func (c *Cluster) written(ctx context.Context, kind, space string, spec object.Spec) (object.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, frontWithin)
	defer cancel()
	began := time.Now()
	q := object.Question{TypeMeta: metav1.TypeMeta{APIVersion: object.Group + "/" + object.Version, Kind: kind}, Spec: spec}
	q.GenerateName, q.Spec.Asker = "why-", c.asker(ctx)
	at := path.Join("/apis", object.Group, object.Version, object.ClusterResource)
	if q.Kind == object.Kind {
		at = path.Join("/apis", object.Group, object.Version, "namespaces", space, object.Resource)
	} else {
		q.Spec.Namespace = space
	}
	body, err := json.Marshal(q)
	if err != nil {
		return q.Status, err
	}
	raw, err := c.client.CoreV1().RESTClient().Post().AbsPath(at).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return q.Status, &doorClosed{reason: "the cluster knows no " + q.Kind}
	case apierrors.IsForbidden(err):
		return q.Status, &doorClosed{reason: "you may not create " + strings.ToLower(q.Kind) + "s", forbidden: true}
	case err != nil:
		return q.Status, &doorClosed{reason: err.Error()}
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return q.Status, &doorClosed{reason: err.Error()}
	}
	status, err := c.followed(ctx, cancel, at, q, began)
	if err != nil {
		c.withdraw(ctx, at, q)
	}
	return status, err
}

// asker is the user who asks, as the API server knows it; empty where it does not say.
func (c *Cluster) asker(ctx context.Context) string {
	c.self.Do(func() {
		r, err := c.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authn.SelfSubjectReview{}, metav1.CreateOptions{})
		if err == nil && len(r.Status.UserInfo.Username) <= object.MaxAsker {
			c.name = r.Status.UserInfo.Username
		}
	})
	return c.name
}

// withdraw removes a question that its asker gives up, if that is allowed: no front may come
// that does, and what nobody waits for costs it work.
func (c *Cluster) withdraw(ctx context.Context, at string, q object.Question) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawWithin)
	defer cancel()
	body, err := json.Marshal(metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &q.UID}})
	if err == nil {
		_ = c.client.CoreV1().RESTClient().Delete().AbsPath(at, q.Name).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	}
}

// followed waits for the status of a question that was created.
func (c *Cluster) followed(ctx context.Context, cancel context.CancelFunc, at string, q object.Question, began time.Time) (object.Status, error) {
	rest := c.client.CoreV1().RESTClient()
	watch, err := rest.Get().AbsPath(at).Param("watch", "true").Param("resourceVersion", q.ResourceVersion).
		Param("fieldSelector", "metadata.name="+q.Name).Param("timeoutSeconds", fmt.Sprint(int(frontWithin.Seconds()))).Stream(ctx)
	if err != nil {
		return q.Status, &doorClosed{reason: "the question cannot be watched: " + err.Error()}
	}
	defer watch.Close()
	silence := time.AfterFunc(takenWithin+2*time.Since(began), cancel)
	defer silence.Stop()
	return inStatus(json.NewDecoder(watch), silence)
}

// inStatus follows a question until its answer is there. Once somebody has taken it, the
// silence is over.
func inStatus(events *json.Decoder, silence *time.Timer) (object.Status, error) {
	taken := false
	for {
		var e struct {
			Type   string          `json:"type"`
			Object object.Question `json:"object"`
		}
		switch err := events.Decode(&e); {
		case err != nil && taken:
			return e.Object.Status, &doorClosed{reason: "the front that took the question did not answer in time"}
		case err != nil:
			return e.Object.Status, &doorClosed{reason: "no front took the question"}
		case e.Type == "DELETED":
			return e.Object.Status, &doorClosed{reason: "the question was removed unanswered: too much is asked at once"}
		case e.Type != "MODIFIED":
		case !e.Object.Status.AnsweredAt.IsZero():
			return e.Object.Status, nil
		case len(e.Object.Status.TakenBy) > 0:
			taken = true
			silence.Stop()
		}
	}
}

// answersOf are those of a status, and an error for what failed.
func answersOf(s object.Status) ([]answer.Answer, error) {
	var list serve.List
	if len(s.Answers) > 0 {
		if err := json.Unmarshal(s.Answers, &list); err != nil {
			return nil, fmt.Errorf("the front's answer is not understood: %w", err)
		}
	}
	if s.Message != "" {
		return list.Items, errors.New(s.Message)
	}
	return list.Items, nil
}

// resultOf is what was asked for beside answers.
func resultOf[T any](s object.Status) (result T, err error) {
	if len(s.Result) == 0 {
		return result, errors.New(s.Message)
	}
	err = json.Unmarshal(s.Result, &result)
	return result, err
}

// factsOf are the facts in a status, for the question that they answer.
func (q *question) factsOf(s object.Status, about serve.Question) (Part, error) {
	if len(s.Facts) == 0 {
		return Part{}, errors.New(s.Message)
	}
	return q.partOf(fetched{s.Facts, s.Node}, about)
}

// Facts fetches what is remembered of one pod, or of a node, as a portable file, and says
// by which node.
func (c *Cluster) Facts(ctx context.Context, t Target, uid types.UID) (raw []byte, node string, err error) {
	if err := c.beyond(t); err != nil {
		return nil, "", err
	}
	q, ctx, cancel := c.begin(ctx, t.Namespace)
	defer cancel()
	about := q.about(t.Name)
	if t.Kind == "node" {
		about.Node = true
		f, err := q.facts(ctx, t.Name, about)
		return f.raw, f.node, err
	}
	about.UID = uid
	f, err := q.podFacts(ctx, about)
	return f.raw, f.node, err
}

// directly is the same question to the nodes themselves, through the API server; unheard counts those that nobody could
// be asked on.
func (q *question) directly() (d question, unheard func() int) {
	var nodes sync.Map
	o := q.options
	o.NoFront, o.Unheard = true, func(node string) { nodes.Store(node, true) }
	d = *q
	d.Cluster = q.With(o)
	return d, func() (n int) {
		nodes.Range(func(any, any) bool { n++; return true })
		return n
	}
}

// byFront gives what a front says, unless there is none, or it could not ask some nodes and the asker may: a
// node of Whylet's own answers in the API server's name, and needs no front for that.
func byFront[T any](ctx context.Context, q *question, space string, spec object.Spec, said func(object.Status) (T, error), ask func(*question) (T, error)) (none T, err error) {
	s, ok, err := q.asked(ctx, space, spec)
	if err != nil {
		return none, err
	}
	if !ok {
		return ask(q)
	}
	if own := q.own(s.Unheard); len(own) > 0 {
		d, unheard := q.directly()
		if got, err := ask(&d); err == nil && unheard() < len(s.Unheard) {
			q.told("the front did not hear %s: asked directly", strings.Join(own, ", "))
			return got, nil
		}
	}
	return said(s)
}

// own are those of some nodes that may answer themselves; all where nodes may not be read.
func (q *question) own(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	nodes := q.nodes()
	if len(nodes) == 0 {
		return names
	}
	var own []string
	for i := range nodes {
		_, lost := cluster.NodeLostAnswer(&v1.Pod{Spec: v1.PodSpec{NodeName: nodes[i].Name}}, &nodes[i], q.now())
		if slices.Contains(names, nodes[i].Name) && cluster.Own(&nodes[i]) && !lost {
			own = append(own, nodes[i].Name)
		}
	}
	return own
}

// nearest puts in what nodes say that a front did not hear, in place of what it said of
// their pods.
func (q *question) nearest(ctx context.Context, all []answer.Answer, unheard []string) []answer.Answer {
	unheard = q.own(unheard)
	unheard = unheard[:min(len(unheard), mostUnspoken)]
	lists := make([][]answer.Answer, len(unheard))
	replaced := make([]map[types.UID]bool, len(unheard))
	each(unheard, func(i int, node string) { lists[i], replaced[i] = q.listDirectly(ctx, node) })
	heard := false
	for i, list := range lists {
		if replaced[i] == nil {
			continue
		}
		heard = true
		all = slices.DeleteFunc(all, func(a answer.Answer) bool { return replaced[i][a.Subject.UID] })
		all = append(all, list...)
	}
	if heard {
		answer.WorstFirst(all)
	}
	return all
}

// listDirectly is what a node says about all its pods, and which those are; nil where it
// says nothing.
func (q *question) listDirectly(ctx context.Context, node string) ([]answer.Answer, map[types.UID]bool) {
	pods, err := q.podsOn(ctx, q.space, node)
	if err != nil {
		return nil, nil
	}
	d, unheard := q.directly()
	list, err := d.listOf(ctx, node, q.space, pods)
	if err != nil || unheard() > 0 {
		return nil, nil
	}
	q.told("the front did not hear node %s: asked directly", node)
	uids := map[types.UID]bool{}
	for i := range pods {
		uids[pods[i].UID] = true
	}
	for a, pod := range withPods(list, pods) {
		cluster.StillThere(a, pod)
	}
	return list, uids
}
