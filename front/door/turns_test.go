package door_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/front"
	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/serve"
)

// slow is a front whose nodes take their time.
type slow struct {
	ask.Front
	by time.Duration
}

func (s slow) Get(ctx context.Context, node, path string, about serve.Question) ([]byte, error) {
	select {
	case <-time.After(s.by):
	case <-ctx.Done():
	}
	return s.Front.Get(ctx, node, path, about)
}

// makeOwn makes a node one of Whylet's own.
func makeOwn(t *testing.T, w *fronts.World, name string) {
	t.Helper()
	nodes := w.Kube.Client.CoreV1().Nodes()
	n, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
	if err == nil {
		n.Status.NodeInfo.KubeletVersion = "v1.36.3+whylet-1"
		_, err = nodes.UpdateStatus(t.Context(), n, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A replica that has just begun leaves questions to one to which all agents have come, though
// it is the quicker one.
func TestWhoHasJustBegunComesLast(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	pod := w.Pod("shop", "web-1", "node-a")
	w.Agent("node-a", w.Journal(pod, "oom-main"))
	w.Until("the agent tells of its pod", func() bool { return w.Ill("shop") == 1 })
	begun := front.New(front.Options{API: w.Kube.Client, Agent: fronts.AgentUser, Log: slog.New(slog.DiscardHandler)})
	answering(t, w, &door.Questions{Answerer: answerer(t, w, begun, "fresh"), Fresh: begun.Fresh},
		&door.Questions{Answerer: answerer(t, w, slow{w.Hub, 500 * time.Millisecond}, "who knows")})
	allow(t, w, "alice", "whylet-why-asker", "shop")
	told := func() error {
		alice := as(t, w, "alice", "shop")
		answers, err := alice.About(t.Context(), ask.Target{Kind: "pod", Name: "web-1"})
		if err != nil || len(answers) != 1 || answers[0].Verdicts[0].Cause != answer.MemoryLimit {
			return fmt.Errorf("%w %+v %s", err, answers, alice.told)
		}
		return nil
	}
	w.Until("both watch", func() bool { return told() == nil })
	for range 3 {
		if err := told(); err != nil {
			t.Error(err)
		}
	}
}

// Of two fronts that answer in a cluster, as an installed one and that of a node of Whylet's
// own do, the one that knows nobody on the pod's node leaves the question to the other,
// which is slower. Where there is no other, it answers with what there is.
func TestWhoKnowsMoreAnswers(t *testing.T) {
	w := fronts.New(t, nil)
	w.Node("node-a")
	w.Node("node-b")
	makeOwn(t, w, "node-a")
	makeOwn(t, w, "node-b")
	pod := w.Pod("shop", "web-1", "node-a")
	w.Pod("shop", "web-2", "node-b")
	w.Agent("node-a", w.Journal(pod, "oom-main"))
	w.Until("the agent tells of its pod", func() bool { return w.Ill("shop") == 1 })
	stranger := front.New(front.Options{API: w.Kube.Client, Agent: fronts.AgentUser, Log: slog.New(slog.DiscardHandler)})
	answering(t, w, &door.Questions{Answerer: answerer(t, w, stranger, "stranger")},
		&door.Questions{Answerer: answerer(t, w, slow{w.Hub, 700 * time.Millisecond}, "who knows")})
	allow(t, w, "alice", "whylet-why-asker", "shop")

	for range 3 {
		alice := as(t, w, "alice", "shop")
		answers, err := alice.About(t.Context(), ask.Target{Kind: "pod", Name: "web-1"})
		if err != nil || len(answers) != 1 || answers[0].Verdicts[0].Cause != answer.MemoryLimit {
			t.Errorf("%v %+v %s", err, answers, alice.told)
		}
	}
	alice := as(t, w, "alice", "shop")
	answers, err := alice.About(t.Context(), ask.Target{Kind: "pod", Name: "web-2"}) // whose node nobody knows
	if err != nil || len(answers) != 1 || len(answers[0].Journal.Gaps) == 0 {
		t.Errorf("%v %+v %s", err, answers, alice.told)
	}
}
