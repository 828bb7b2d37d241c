package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/paint"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// How often the live view looks at the pods, and how often it asks why again while they
// look the same: what asks costs a little on each node.
const (
	lookEvery = 2 * time.Second
	askAgain  = 10 * time.Second
)

// live is what whylet up in a terminal shows below its own lines while the node runs.
type live struct {
	out  io.Writer
	node string
	// width is how many columns the terminal has now.
	width func() int
	// look and ask learn what there is to show.
	look func(context.Context) (podCounts, error)
	ask  func(context.Context) (*answer.Answer, error)

	drawn int // lines that stand there
}

// podCounts are the node's pods as the API server has them.
type podCounts struct{ pods, notReady, restarts int }

// liveState is all that is shown at a moment.
type liveState struct {
	podCounts
	since time.Time // when the node became Ready
	// worst is the answer that needs a person first; nil: none does.
	worst *answer.Answer
	// err is why nothing newer is known; nil: it is.
	err error
}

// startLive shows the view until the function that it returns is called, which leaves
// its last state standing. It shows nothing where the API cannot be asked.
func startLive(s streams, i instance) (stop func()) {
	config, err := clientcmd.BuildConfigFromFlags("", i.Kubeconfig)
	if err != nil {
		return func() {}
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return func() {}
	}
	l := &live{
		out: s.err, node: i.Settings.NodeName, width: func() int { return columns(s.err) },
		look: func(ctx context.Context) (podCounts, error) { return countPods(ctx, client) },
		ask:  func(ctx context.Context) (*answer.Answer, error) { return worstOf(ctx, s, i.Kubeconfig) },
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx, *i.ReadyAt) })
	return func() {
		cancel()
		running.Wait()
	}
}

// run draws anew as often as it looks.
func (l *live) run(ctx context.Context, ready time.Time) {
	state := liveState{since: ready}
	var asked time.Time
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		counts, err := l.look(ctx)
		changed := counts != state.podCounts
		if state.err = err; err == nil {
			state.podCounts = counts
		}
		if err == nil && (changed || state.worst != nil && time.Since(asked) > askAgain) {
			state.worst, state.err = l.ask(ctx)
			asked = time.Now()
		}
		if ctx.Err() != nil {
			return
		}
		l.draw(state.lines(l.node, time.Now(), l.width()))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// draw puts lines in the place of those before: up to where they began, and clear from
// there to the end of the screen (ECMA-48, CUU and ED).
func (l *live) draw(lines []string) {
	if l.drawn > 0 {
		fmt.Fprintf(l.out, "\x1b[%dA\r\x1b[J", l.drawn)
	}
	fmt.Fprintln(l.out, strings.Join(lines, "\n"))
	l.drawn = len(lines)
}

// lines are what is shown, none longer than the terminal is wide: a line that wraps
// would not be taken away whole.
func (s liveState) lines(node string, now time.Time, width int) []string {
	state := "all Ready"
	if s.notReady > 0 {
		state = fmt.Sprintf("%d not Ready", s.notReady)
	}
	lines := []string{fmt.Sprintf("node %s is Ready for %s · %s, %s · %s", node, prose.Span(now.Sub(s.since)),
		prose.Plural(s.pods, "pod"), state, prose.Plural(s.restarts, "restart"))}
	switch {
	case s.err != nil:
		lines = append(lines, "not known now: "+s.err.Error())
	case s.worst != nil:
		subject, v := s.worst.Subject, s.worst.Verdicts[0]
		lines = append(
			lines, fmt.Sprintf("worst: %s/%s · %s · %s", subject.Namespace, subject.Name, s.worst.Symptoms[0].Kind, v.Cause),
			"  "+v.Text, fmt.Sprintf("  kubectl why pod/%s -n %s", subject.Name, subject.Namespace),
		)
	}
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		lines[i] = line[:indent] + prose.Brief(strings.ReplaceAll(text, "\n", " "), max(width-1, 20)-indent)
	}
	return lines
}

// columns is how wide the terminal of w is; 80 where it does not say.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// countPods counts what the API server has in its cache.
func countPods(ctx context.Context, client kubernetes.Interface) (podCounts, error) {
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return podCounts{}, err
	}
	var c podCounts
	for _, p := range list.Items {
		if p.Status.Phase == corev1.PodSucceeded {
			continue // its work is done
		}
		c.pods++
		ready := false
		for _, condition := range p.Status.Conditions {
			ready = ready || condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
		}
		if !ready {
			c.notReady++
		}
		for _, container := range p.Status.ContainerStatuses {
			c.restarts += int(container.RestartCount)
		}
	}
	return c, nil
}

// worstOf is the answer that needs a person first; nil: none does.
func worstOf(ctx context.Context, s streams, kubeconfig string) (*answer.Answer, error) {
	var out bytes.Buffer
	asked := whyOf(s, kubeconfig)(ctx, &out, "--all", "-A", "-o", "json")
	var list struct {
		Items []answer.Answer `json:"items"`
	}
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		if asked != nil {
			err = asked
		}
		return nil, err
	}
	if len(list.Items) == 0 || len(list.Items[0].Verdicts) == 0 || len(list.Items[0].Symptoms) == 0 {
		return nil, nil
	}
	return &list.Items[0], nil
}

// showsLive says whether a person looks at what is written to w, on a terminal that can move
// its cursor.
func showsLive(w io.Writer) bool { return paint.Terminal(w) && os.Getenv("TERM") != "dumb" }
