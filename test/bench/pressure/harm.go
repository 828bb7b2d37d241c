package main

import (
	"context"
	"fmt"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/test/bench/compare"
)

// harm is what became of pods, in all rounds.
type harm struct {
	eaters, neighbours fates
	// gone is when the last eater of a round was seen evicted, after the first was made.
	gone []time.Duration
}

// fates counts what became of the pods of a kind.
type fates struct {
	pods, evicted, killed, restarts, unready int
}

// count looks at the pods at the end of a round that was under pressure since began.
func (b *bench) count(ctx context.Context, began time.Time) error {
	list, err := b.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	kinds := map[types.UID]*fates{}
	for i := range list.Items {
		pod := &list.Items[i]
		f := &b.harm.neighbours
		if isEater(pod) {
			f = &b.harm.eaters
		}
		kinds[pod.UID] = f
		f.pods++
		if isEvicted(pod) {
			f.evicted++
		}
		for _, c := range pod.Status.ContainerStatuses {
			f.restarts += int(c.RestartCount)
		}
		if wasUnready(pod, began) {
			f.unready++
		}
		if b.verbose {
			fmt.Fprintf(os.Stderr, "%s: %s is %s %s %s\n", b.Kind, pod.Name, pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
		}
	}
	for _, kill := range b.kernel.kills() {
		if f, ours := kinds[kill.pod]; ours {
			f.killed++
			if b.verbose {
				fmt.Fprintf(os.Stderr, "%s: the kernel killed %s of pod %s\n", b.Kind, kill.command, kill.pod)
			}
		}
	}
	return nil
}

// wasUnready says that a pod was Ready, and then not, since a time; to the second.
func wasUnready(pod *v1.Pod, since time.Time) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status != v1.ConditionTrue || c.LastTransitionTime.After(since)
		}
	}
	return true
}

// results are the rows of the table.
func (b *bench) results() compare.Results {
	var r compare.Results
	for _, part := range []struct {
		name string
		seen seen
	}{{"calm", b.calm}, {"pressure", b.pressed}} {
		for _, times := range []struct {
			what string
			all  []time.Duration
		}{
			{"list of pods", part.seen.list}, {"kubectl get pods", part.seen.kubectl}, {"liveness probe late", part.seen.late},
		} {
			what := part.name + ": " + times.what
			r.AddTimes(what, times.all)
			r.Add(what+", worst", "ms", compare.Milliseconds(compare.Quantile(times.all, 1)))
		}
		r.Add(part.name+": requests that failed", "", float64(part.seen.failed))
	}
	rounds := len(b.harm.gone)
	r.Add("rounds in which all eaters were evicted", "", float64(rounds))
	if rounds > 0 {
		r.Add("first eater made to last evicted, median", "s", compare.Median(b.harm.gone).Seconds())
	}
	for _, kind := range []struct {
		name  string
		fates fates
	}{{"eaters", b.harm.eaters}, {"neighbours", b.harm.neighbours}} {
		of := fmt.Sprintf("%s (of %d): ", kind.name, kind.fates.pods)
		r.Add(of+"evicted by the node", "", float64(kind.fates.evicted))
		if b.kernel.works() {
			r.Add(of+"processes killed by the kernel", "", float64(kind.fates.killed))
		}
		r.Add(of+"restarts", "", float64(kind.fates.restarts))
	}
	r.Add(fmt.Sprintf("neighbours (of %d): not Ready at times", b.harm.neighbours.pods), "", float64(b.harm.neighbours.unready))
	return r
}
