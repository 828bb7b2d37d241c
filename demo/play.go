package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/paint"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// Namespace is where all pods of the demo are.
const Namespace = "whylet-demo"

// mark is by what a namespace that an interrupted demo left is known.
var mark = map[string]string{"app.kubernetes.io/managed-by": "whylet-demo"}

var (
	// ErrNoScene: there is none of that name.
	ErrNoScene = errors.New("there is no scene")
	// ErrForeign: somebody else has a namespace of that name.
	ErrForeign = errors.New("namespace " + Namespace + " is not the demo's")
	// ErrRefused: the node takes no pods.
	ErrRefused = errors.New("the node takes no pods now")
)

// How long the parts of a demo may take. A scene is over in seconds on a calm machine.
const (
	sceneTime = 2 * time.Minute
	cleanTime = time.Minute
	askEvery  = 500 * time.Millisecond
)

// width is how many columns a line of text may have, as those of an answer.
const width = 96

// Stage is what a demo needs of the node that it plays on.
type Stage struct {
	Client kubernetes.Interface
	// Node runs the pods; Image is the actor's, and is on that node.
	Node, Image string
	// Ask writes what kubectl why answers to these arguments.
	Ask func(ctx context.Context, out io.Writer, args ...string) error
	// Only names a single scene; empty: all.
	Only string
	// Web opens the timeline of the last scene, until ctx ends.
	Web bool
	// Out has what the reader is to see, Err how far it is.
	Out, Err io.Writer
	// Bold emphasises a title.
	Bold func(string) string
}

// Play plays the scenes and takes everything away, also when ctx ends. The error is
// ErrNoScene, ErrForeign, ErrRefused, ctx's, that of the API, or says which scene was answered
// otherwise than it should have been.
func (s Stage) Play(ctx context.Context) (err error) {
	chosen, err := scenes(s.Only)
	if err != nil {
		return err
	}
	if err := s.refused(ctx); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer func() {
		left := s.leave(ctx)
		if left != nil && ctx.Err() != nil {
			err = nil // That it was broken off is known; that something is left is not.
		}
		err = errors.Join(err, left)
	}()
	// All at once, so that the second is well under way while the first is read.
	for _, c := range chosen {
		if err := s.create(ctx, c); err != nil {
			return err
		}
	}
	var wrong []error
	for i, c := range chosen {
		fmt.Fprintf(s.Out, "%s\n%s\n\n", s.Bold(fmt.Sprintf("%d/%d  %s (%s)", i+1, len(chosen), c.Title, c.Name)), c.Story)
		if err := s.show(ctx, c); ctx.Err() != nil {
			return ctx.Err()
		} else if errors.Is(err, ErrRefused) {
			return err
		} else if err != nil {
			wrong = append(wrong, err)
		}
	}
	if s.Web {
		last := chosen[len(chosen)-1]
		if err := s.Ask(ctx, s.Out, "pod/"+last.Name, "-n", Namespace, "--web"); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// refused is ErrRefused while the node is tainted, as one that is short of disk is: it would
// evict what is shown. The taint of a node that was not ready is taken away seconds after it is.
func (s Stage) refused(ctx context.Context) error {
	node, err := s.Client.CoreV1().Nodes().Get(ctx, s.Node, metav1.GetOptions{})
	if err != nil {
		return nil // what is wrong with the API is told by who cannot go on
	}
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	for _, taint := range node.Spec.Taints {
		passing := ready && (taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable)
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !passing {
			return fmt.Errorf("%w: it has the taint %s", ErrRefused, taint.Key)
		}
	}
	return nil
}

// enter makes the namespace, after what an interrupted demo left is gone.
func (s Stage) enter(ctx context.Context) error {
	spaces := s.Client.CoreV1().Namespaces()
	old, err := spaces.Get(ctx, Namespace, metav1.GetOptions{})
	switch {
	case err == nil && !marked(old):
		return fmt.Errorf("%w: it lacks the label app.kubernetes.io/managed-by=whylet-demo; remove or rename it", ErrForeign)
	case err == nil:
		if err := s.remove(ctx); err != nil {
			return err
		}
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("look for namespace %s: %w", Namespace, err)
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace, Labels: mark}}
	if _, err := spaces.Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make namespace %s: %w", Namespace, err)
	}
	return nil
}

func marked(n *corev1.Namespace) bool {
	for k, v := range mark {
		if n.Labels[k] != v {
			return false
		}
	}
	return true
}

// create makes the scene's pod. In a new namespace that is refused until it has its
// service account.
func (s Stage) create(ctx context.Context, c scene) error {
	pod := c.pod(s.Node, s.Image)
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, cleanTime, true, func(ctx context.Context) (bool, error) {
		_, last = s.Client.CoreV1().Pods(Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return last == nil || !apierrors.IsForbidden(last), nil
	})
	if err = errors.Join(err, last); err != nil {
		return fmt.Errorf("make pod %s/%s: %w", Namespace, c.Name, err)
	}
	return nil
}

// show waits until the answer has what the scene is about, and prints it. One that comes
// to another end is printed as it is, and the error says so.
func (s Stage) show(ctx context.Context, c scene) error {
	var found []finding
	var last, refused error
	var text bytes.Buffer
	args := []string{"pod/" + c.Name, "-n", Namespace}
	_ = wait.PollUntilContextTimeout(ctx, askEvery, sceneTime, true, func(ctx context.Context) (bool, error) {
		if found, last = s.ask(ctx, c); slices.Contains(found, c.finding) {
			// What is printed is asked for once more, and the pod may have become ready
			// in between: it counts if the same is found after it, too.
			text.Reset()
			_ = s.Ask(ctx, paint.As(&text, s.Out), args...) // Its error is that a cause is unknown, which the answer says.
			found, last = s.ask(ctx, c)
			return slices.Contains(found, c.finding), nil
		}
		refused = s.refused(ctx)
		return false, refused
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refused != nil {
		return refused
	}
	if found == nil && last != nil {
		return fmt.Errorf("ask why pod/%s: %w", c.Name, last)
	}
	if text.Len() == 0 {
		_ = s.Ask(ctx, &text, args...)
	}
	fmt.Fprintf(s.Out, "$ kubectl why %s -n %s\n%s", args[0], Namespace, text.Bytes())
	if !slices.Contains(found, c.finding) {
		return fmt.Errorf("scene %s was to show %v, and after %s the answer is %v", c.Name, c.finding, sceneTime, found)
	}
	fmt.Fprintf(s.Out, "\n→ %s\n\n", strings.Join(prose.Wrap(c.Learn, width), "\n  "))
	return nil
}

// ask finds what is said of the scene's pod as it is now.
func (s Stage) ask(ctx context.Context, c scene) ([]finding, error) {
	var out bytes.Buffer
	asked := s.Ask(ctx, &out, "pod/"+c.Name, "-n", Namespace, "-o", "json")
	var a answer.Answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return nil, errors.Join(asked, err)
	}
	found := []finding{}
	for _, v := range a.Verdicts {
		for _, symptom := range a.Symptoms {
			if symptom.ID == v.Symptom {
				found = append(found, finding{string(symptom.Kind), string(v.Cause)})
			}
		}
	}
	return found, nil
}

// leave takes everything away, whether or not ctx has ended.
func (s Stage) leave(ctx context.Context) error {
	fmt.Fprintln(s.Err, "cleaning up")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	return s.remove(ctx)
}

// remove deletes the namespace, and waits until it is gone.
func (s Stage) remove(ctx context.Context) error {
	spaces := s.Client.CoreV1().Namespaces()
	if err := spaces.Delete(ctx, Namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove namespace %s: %w", Namespace, err)
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, cleanTime, true, func(ctx context.Context) (bool, error) {
		_, err := spaces.Get(ctx, Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		return fmt.Errorf("namespace %s is not gone yet (kubectl delete namespace %s ends it): %w", Namespace, Namespace, err)
	}
	return nil
}
