package front_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front"
	"whylet.dev/whylet/front/archive"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/test/fronts"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
)

func openArchive(t *testing.T, path string) *archive.Archive {
	t.Helper()
	a := archive.New(archive.Options{Place: path, Log: slog.New(slog.DiscardHandler)})
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// end has the API server and the journal lose a pod.
func end(t *testing.T, w *fronts.World, j *journal.Journal, p *v1.Pod) {
	t.Helper()
	remove(t, w, p)
	gone(t, j, p)
}

func remove(t *testing.T, w *fronts.World, p *v1.Pod) {
	t.Helper()
	zero := int64(0)
	if err := w.Kube.Client.CoreV1().Pods(p.Namespace).Delete(t.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
}

// gone has the node see that a pod is.
func gone(t *testing.T, j *journal.Journal, p *v1.Pod) {
	t.Helper()
	now := time.Now().UTC()
	all := []fact.Body{fact.DeletionSeen{Gone: true}, fact.ObjectGone{}}
	first := j.Next(len(all))
	for i, b := range all {
		if err := j.Append(fact.Fact{ID: first + fact.ID(i), Pod: keyOf(p), At: now, Seen: now, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
}

// A pod that is gone is explained while its node is there, and after that is gone too.
func TestAClosingAnswerOutlivesPodAndNode(t *testing.T) {
	a := openArchive(t, filepath.Join(t.TempDir(), "a.db"))
	w := fronts.New(t, a)
	w.Node("node-a")
	pod := w.Pod("shop", "web-1", "node-a")
	j := w.Journal(pod, "oom-main")
	stop := w.Agent("node-a", j)
	w.Until("the agent tells of its pod", func() bool { return w.Ill("shop") == 1 })
	end(t, w, j, pod)
	w.Until("its closing answer is kept", func() bool { c, _, _ := w.Hub.Count(); return c.Kept == 1 })
	stop()
	w.Stop()
	w.Front(a) // another life, which knows of nobody
	answers, err := w.Asker("shop").About(t.Context(), ask.Target{Kind: "pod", Name: "web-1"})
	if err != nil || len(answers) != 1 || answers[0].Subject.UID != pod.UID || len(answers[0].Verdicts) == 0 {
		t.Fatalf("%v %+v", err, answers)
	}
	found := false
	for _, v := range answers[0].Verdicts {
		found = found || v.Cause == answer.MemoryLimit
	}
	if !found || len(answers[0].Journal.Gaps) > 0 && answers[0].Journal.Gaps[0].Reason == "" {
		t.Errorf("%+v", answers[0])
	}
	if got, err := w.Asker("other").About(t.Context(), ask.Target{Kind: "pod", Name: "web-1"}); err == nil {
		t.Errorf("other is told %+v", got)
	}
}

// faulty is an archive that fails now and then, also after it has kept what it was given.
type faulty struct {
	*archive.Archive
	failing atomic.Bool
	acked   sync.Map
}

var errFaulty = errors.New("the disk is full")

func (f *faulty) Keep(ctx context.Context, node string, ends []front.Closing) error {
	if f.failing.Load() && rand.N(2) == 0 {
		return errFaulty
	}
	if err := f.Archive.Keep(ctx, node, ends); err != nil {
		return err
	}
	for _, c := range ends {
		f.acked.Store(c.Pod.UID, c.Pod)
	}
	if f.failing.Load() {
		return errFaulty
	}
	return nil
}

func (f *faulty) Kept(ctx context.Context, node string) (m link.Mark, err error) {
	if f.failing.Load() {
		return m, errFaulty
	}
	return f.Archive.Kept(ctx, node)
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// nodesWithEnds makes nodes with pods that ended, and what each node remembers of its own.
func nodesWithEnds(w *fronts.World, nodes, ends int) (journals []*journal.Journal, pods []*v1.Pod) {
	for i := range nodes {
		w.Node(nodeName(i))
		var j *journal.Journal
		for n := range ends {
			p := w.Pod("shop", fmt.Sprintf("web-%d-%d", i, n), nodeName(i))
			if j == nil {
				j = w.Journal(p, "oom-main")
			} else {
				w.Record(j, p, "wrong-port")
			}
			pods = append(pods, p)
		}
		journals = append(journals, j)
	}
	return journals, pods
}

// Fronts, agents and the archive go and come back at random, and every pod that ended is
// explained in the end, under its own name.
func TestNoClosingAnswerIsLost(t *testing.T) {
	f := &faulty{Archive: openArchive(t, filepath.Join(t.TempDir(), "a.db"))}
	w := fronts.New(t, f)
	const nodes, ends = 3, 8
	random := rand.New(rand.NewPCG(1, 2))
	journals, pods := nodesWithEnds(w, nodes, ends)
	stops := make([]func(), nodes)
	for i, j := range journals {
		stops[i] = w.Agent(nodeName(i), j)
	}
	order := random.Perm(len(pods))
	for step, n := range order {
		end(t, w, journals[n/ends], pods[n])
		switch i := n / ends; step % 6 {
		case 1:
			stops[i]()
		case 2:
			w.Stop()
			w.Front(f)
		case 3:
			f.failing.Store(true)
		case 4:
			stops[i]()
			stops[i] = w.Agent(nodeName(i), journals[i])
		case 5:
			f.failing.Store(false)
		}
	}
	f.failing.Store(false)
	for i := range nodes {
		stops[i]()
		stops[i] = w.Agent(nodeName(i), journals[i])
	}
	kept := func(p *v1.Pod) bool {
		c, ok, err := f.Newest(t.Context(), p.Namespace, p.Name, "")
		return err == nil && ok && c.Pod.UID == p.UID && c.Node == p.Spec.NodeName
	}
	for _, p := range pods {
		w.Until("the closing answer of "+p.Name, func() bool { return kept(p) })
	}
	f.acked.Range(func(uid, pod any) bool {
		if _, ok, err := f.Newest(t.Context(), pod.(fact.Pod).Namespace, pod.(fact.Pod).Name, uid.(types.UID)); err != nil || !ok {
			t.Errorf("%v was acknowledged, and is lost: %v", pod, err)
		}
		return true
	})
}

// Two replicas, each with an archive of its own, and the API server are killed in turn while
// pods end; in the end each archive has each closing answer, under the pod's own name.
func TestReplicasAndTheAPIServerAreKilled(t *testing.T) {
	hosts := []string{"127.0.0.1", "127.0.0.2"}
	var kept [2]*faulty
	for i := range kept {
		kept[i] = &faulty{Archive: openArchive(t, filepath.Join(t.TempDir(), "a.db"))}
	}
	w := fronts.New(t, kept[0])
	var stops [2]func()
	stops[0] = w.Stop
	_, stops[1] = w.Replica(hosts[1], kept[1])
	const nodes, ends = 3, 8
	journals, pods := nodesWithEnds(w, nodes, ends)
	for i, j := range journals {
		w.Agent(nodeName(i), j)
	}
	w.Until("the agents tell of their pods", func() bool { return w.Ill("shop") == len(pods) })
	away := false
	for step, n := range rand.New(rand.NewPCG(3, 4)).Perm(len(pods)) {
		gone(t, journals[n/ends], pods[n])
		if away {
			w.Kube.Run(t)
			away = false
		}
		remove(t, w, pods[n])
		switch r := step / 4 % 2; step % 4 {
		case 0:
			stops[r]()
		case 2:
			_, stops[r] = w.Replica(hosts[r], kept[r])
		case 3:
			if step == 15 {
				w.Kube.Kill()
				away = true
			}
		}
	}
	if away {
		w.Kube.Run(t)
	}
	for i, a := range kept {
		for _, p := range pods {
			w.Until(fmt.Sprintf("replica %d keeps the closing answer of %s", i, p.Name), func() bool {
				c, ok, err := a.Newest(t.Context(), p.Namespace, p.Name, p.UID)
				return err == nil && ok && c.Pod.UID == p.UID && c.Node == p.Spec.NodeName
			})
		}
	}
}
