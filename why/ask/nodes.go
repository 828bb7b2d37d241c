package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/serve"
)

// about begins a question to a node with what the options say.
func (q *question) about(name string) serve.Question {
	about := serve.Question{Namespace: q.space, Name: name, Look: q.look}
	about.Now = q.now()
	about.Container, about.Alone, about.WithValues = q.options.Container, q.alone(), q.options.WithValues
	if q.options.Within {
		about.Within = q.space
	}
	if q.options.Since > 0 {
		about.Since = about.Now.Add(-q.options.Since)
	}
	return about
}

// fromNode puts a question to a node, through the API server, whose RBAC decides.
func fromNode[T any](ctx context.Context, q *question, node string, about serve.Question) (T, error) {
	return fetch[T](ctx, q, node, about, "why")
}

// fetch gets what a node serves below a path.
func fetch[T any](ctx context.Context, q *question, node string, about serve.Question, path ...string) (into T, err error) {
	raw, err := q.get(ctx, node, about, path...)
	if err != nil {
		return into, err
	}
	if err := json.Unmarshal(raw, &into); err != nil {
		return into, fmt.Errorf("what it says is not understood: %w", err)
	}
	switch told := any(&into).(type) {
	case *answer.Answer:
		cluster.Typed(told)
	case *serve.List:
		typed(told.Items)
	}
	return into, nil
}

// typed gives answers of agents or fronts from before their typed fields.
func typed(all []answer.Answer) {
	for i := range all {
		cluster.Typed(&all[i])
	}
}

// get gives what a node serves below a path, which is asked once.
func (q *question) get(ctx context.Context, node string, about serve.Question, path ...string) ([]byte, error) {
	same := about
	same.Now = time.Time{}
	return once(q.read, fmt.Sprint("node ", node, path, same.Values()), func() ([]byte, error) { return q.getAnew(ctx, node, about, path...) })
}

// getAnew gets it: by the front, or through the API server.
func (q *question) getAnew(ctx context.Context, node string, about serve.Question, path ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, q.options.Each)
	defer cancel()
	if q.options.Front != nil {
		return q.options.Front.Get(ctx, node, strings.Join(path, "/"), about)
	}
	asks, none := path[0] == "why", "nobody on node "+node
	if asks {
		if err, deaf := has[error](q.read, none); deaf {
			return nil, err
		}
	}
	r := q.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix(path...)
	for name, values := range about.Values() {
		r = r.Param(name, values[0])
	}
	raw, err := patient(ctx, r)
	if err != nil {
		err = said(err, raw)
		if _, absent := whyAbsent(node, err); absent && asks {
			_, _ = once(q.read, none, func() (error, error) { return err, nil })
		}
		return nil, err
	}
	return raw, nil
}

// comesBack is how long an agent that starts anew may take to listen again.
const comesBack = 3 * time.Second

// patient asks again for a moment when nobody listens at the node: its agent may be
// starting.
func patient(ctx context.Context, r *rest.Request) (raw []byte, err error) {
	_ = wait.PollUntilContextTimeout(ctx, comesBack/10, comesBack, true, func(context.Context) (bool, error) {
		raw, err = r.Do(ctx).Raw()
		return !apierrors.IsServiceUnavailable(err), nil
	})
	return raw, err
}

// said puts a node's own words into the error that the client made of them. The client keeps plain text, as a node
// answers, among the causes of its error, and says nothing of it.
func said(err error, raw []byte) error {
	text := strings.TrimSpace(string(raw))
	var status apierrors.APIStatus
	if errors.As(err, &status) && text == "" && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if c.Type == metav1.CauseTypeUnexpectedServerResponse && c.Message != "unknown" {
				text = c.Message
			}
		}
	}
	if text == "" || len(text) >= longestSaid {
		return err
	}
	return fmt.Errorf("%w: %s", err, text)
}

// longestSaid bounds a node's own words in an error.
const longestSaid = 500
