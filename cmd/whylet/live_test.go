package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"whylet.dev/whylet/test/pty"
	"whylet.dev/whylet/why/answer"
)

func worstAnswer() *answer.Answer {
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: "shop", Name: "web-1"}, time.Time{}, answer.Coverage{})
	a.Put(answer.Symptom{Kind: answer.Restarted}, answer.Verdict{Cause: answer.MemoryLimit, Text: "Container c hit its memory limit of 15Mi, and the kernel killed its main process."})
	return &a
}

func TestLiveLines(t *testing.T) {
	began := time.Unix(1000, 0)
	for _, c := range []struct {
		name  string
		state liveState
		want  []string
	}{
		{"well", liveState{podCounts: podCounts{pods: 1}}, []string{"node n is Ready for 65 s · 1 pod, all Ready · 0 restarts"}},
		{"sick", liveState{podCounts: podCounts{3, 1, 4}, worst: worstAnswer()}, []string{
			"node n is Ready for 65 s · 3 pods, 1 not Ready · 4 restarts",
			"worst: shop/web-1 · Restarted · container-memory-limit",
			"  Container c hit its memory limit of 15Mi, and the kernel",
			"  kubectl why pod/web-1 -n shop",
		}},
		{"deaf", liveState{err: errors.New("connection refused")}, []string{"node n is Ready", "not known now: connection refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.state.since = began
			got := c.state.lines("n", began.Add(65*time.Second), 72)
			if len(got) != len(c.want) {
				t.Fatalf("%d lines: %q", len(got), got)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) || len([]rune(got[i])) > 71 {
					t.Errorf("line %d is %q, want %q…", i, got[i], c.want[i])
				}
			}
		})
	}
}

// On a terminal each view takes the place of the one before, and the last one stays.
func TestLiveOnTerminal(t *testing.T) {
	terminal := pty.Open(t, 60)
	if !showsLive(terminal.Program) || showsLive(&bytes.Buffer{}) {
		t.Fatal("only a terminal has the view")
	}
	if width := columns(terminal.Program); width != 60 {
		t.Errorf("it is %d wide", width)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := &live{
		out: terminal.Program, node: "n", width: func() int { return columns(terminal.Program) },
		look: func(context.Context) (podCounts, error) { return podCounts{pods: 2, notReady: 1}, nil },
		ask:  func(context.Context) (*answer.Answer, error) { return worstAnswer(), nil },
	}
	l.draw([]string{"before", "and before"})
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(ctx, time.Now())
	}()
	deadline := time.Now().Add(10 * time.Second)
	for !strings.Contains(terminal.Shown(), "kubectl why pod/web-1 -n shop") {
		if time.Now().After(deadline) {
			t.Fatalf("shown: %q", terminal.Shown())
		}
		<-time.After(5 * time.Millisecond)
	}
	cancel()
	<-done
	if shown := terminal.Shown(); !strings.HasPrefix(shown, "before\r\nand before\r\n\x1b[2A\r\x1b[Jnode n is Ready") {
		t.Errorf("shown: %q", shown)
	}
}

func TestCountPods(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase, ready corev1.ConditionStatus, restarts int32) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name}, Status: corev1.PodStatus{
			Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
			ContainerStatuses: []corev1.ContainerStatus{{RestartCount: restarts}},
		}}
	}
	client := fake.NewClientset(pod("a", corev1.PodRunning, corev1.ConditionTrue, 1), pod("b", corev1.PodPending, corev1.ConditionFalse, 2), pod("c", corev1.PodSucceeded, corev1.ConditionFalse, 7))
	got, err := countPods(t.Context(), client)
	if err != nil || got != (podCounts{2, 1, 3}) {
		t.Errorf("%+v, %v", got, err)
	}
}
