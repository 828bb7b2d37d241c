package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// Each scene is whole, and teaches in two sentences.
func TestScenes(t *testing.T) {
	all, err := scenes("")
	if err != nil || len(all) != 5 {
		t.Fatalf("%d scenes: %v", len(all), err)
	}
	for _, s := range all {
		if s.Title == "" || s.Story == "" || s.Cause == "" || s.Symptom == "" || len(s.Spec.Containers) == 0 {
			t.Errorf("%s lacks something: %+v", s.Name, s)
		}
		if n := strings.Count(s.Learn+" ", ". "); n != 2 {
			t.Errorf("%s teaches in %d sentences", s.Name, n)
		}
		for _, c := range s.pod("n", "i").Spec.Containers {
			if c.Image != "i" || c.ImagePullPolicy != corev1.PullNever {
				t.Errorf("%s/%s needs a registry", s.Name, c.Name)
			}
		}
	}
	if _, err := scenes("none"); !errors.Is(err, ErrNoScene) || !strings.Contains(err.Error(), all[0].Name) {
		t.Errorf("of no scene: %v", err)
	}
}

// stage has an answer for every question: the cause that the scene is about.
func stage(t *testing.T, space *corev1.Namespace) (Stage, *bytes.Buffer) {
	t.Helper()
	client := fake.NewClientset()
	if space != nil {
		client = fake.NewClientset(space)
	}
	var out bytes.Buffer
	all, err := scenes("")
	if err != nil {
		t.Fatal(err)
	}
	return Stage{
		Client: client, Node: "n", Image: "i", Out: &out, Err: io.Discard, Bold: func(s string) string { return s },
		Ask: func(_ context.Context, w io.Writer, args ...string) error {
			for _, s := range all {
				if args[0] != "pod/"+s.Name {
					continue
				}
				if args[len(args)-1] != "json" {
					fmt.Fprintln(w, strings.Join(args, " "))
					return nil
				}
				fmt.Fprintf(w, `{"symptoms": [{"id": "s1", "kind": "NotReady"}, {"id": "s2", "kind": %q}],
					"verdicts": [{"symptom": "s1", "cause": "unknown"}, {"symptom": "s2", "cause": %q}]}`, s.Symptom, s.Cause)
			}
			return nil
		},
	}, &out
}

func gone(t *testing.T, s Stage) bool {
	t.Helper()
	_, err := s.Client.CoreV1().Namespaces().Get(t.Context(), Namespace, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// All scenes are shown and explained, then the page, and nothing is left.
func TestPlay(t *testing.T) {
	s, out := stage(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace, Labels: mark}})
	s.Web = true
	if err := s.Play(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		if !strings.Contains(out.String(), "$ kubectl why pod/"+name) {
			t.Errorf("%s was not asked about", name)
		}
	}
	if n := strings.Count(out.String(), "→ "); n != 5 {
		t.Errorf("%d scenes are explained", n)
	}
	if !strings.Contains(out.String(), "pod/hungry -n whylet-demo --web") {
		t.Errorf("no page:\n%s", out)
	}
	if !gone(t, s) {
		t.Error("the namespace is left")
	}
}

// A node that is short of disk is told at once, before anything is shown and while it is.
func TestPlayRefused(t *testing.T) {
	for name, whenAsked := range map[string]bool{"before": false, "while it plays": true} {
		t.Run(name, func(t *testing.T) {
			s, out := stage(t, nil)
			taint := func() {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.Node}}
				node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule}}
				_, _ = s.Client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
			}
			if !whenAsked {
				taint()
			}
			s.Ask = func(_ context.Context, w io.Writer, _ ...string) error {
				taint()
				fmt.Fprintln(w, "{}")
				return nil
			}
			if err := s.Play(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "disk-pressure") {
				t.Errorf("error %v", err)
			}
			if strings.Contains(out.String(), "kubectl why") || strings.Contains(out.String(), "2/5") {
				t.Errorf("it went on:\n%s", out)
			}
			if !gone(t, s) {
				t.Error("the namespace is left")
			}
		})
	}
}

// A node that has just become ready has the taint of before for some seconds.
func TestJustReady(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]error{corev1.ConditionTrue: nil, corev1.ConditionFalse: ErrRefused} {
		s, _ := stage(t, nil)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.Node}}
		node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		if _, err := s.Client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := s.refused(t.Context()); !errors.Is(err, want) {
			t.Errorf("Ready is %s: %v", status, err)
		}
	}
}

// Ctrl-C ends it wherever it is, and what was made goes.
func TestPlayInterrupted(t *testing.T) {
	s, _ := stage(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s.Ask = func(context.Context, io.Writer, ...string) error {
		cancel()
		return errors.New("interrupted")
	}
	if err := s.Play(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if !gone(t, s) {
		t.Error("the namespace is left")
	}
}

// A namespace of somebody else is left alone.
func TestPlayForeignNamespace(t *testing.T) {
	s, _ := stage(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}})
	if err := s.Play(t.Context()); !errors.Is(err, ErrForeign) {
		t.Errorf("error %v", err)
	}
	if gone(t, s) {
		t.Error("it was removed")
	}
}
