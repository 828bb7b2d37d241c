package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/test/bench/compare"
	"whylet.dev/whylet/test/peer"
)

const namespace = "bench"

// bench is a stack with what was measured on it.
type bench struct {
	*peer.Stack
	results compare.Results
	verbose bool
}

// addTimes adds the median and the 99th percentile of a part's rounds.
func (b *bench) addTimes(what string, rounds []time.Duration) {
	b.results.AddTimes(what, rounds)
	if !b.verbose {
		return
	}
	for _, took := range rounds {
		fmt.Fprintf(os.Stderr, "%s: %s: %.1f ms\n", b.Kind, what, compare.Milliseconds(took))
	}
}

// create makes a pod of a spec in YAML, with a grace period of a second.
func (b *bench) create(ctx context.Context, name, spec string) error {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"app": name}}}
	if err := yaml.UnmarshalStrict([]byte(spec), &pod.Spec); err != nil {
		return fmt.Errorf("%w in %s", err, spec)
	}
	second, no := int64(1), false
	pod.Spec.TerminationGracePeriodSeconds, pod.Spec.AutomountServiceAccountToken = &second, &no
	_, err := b.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// remove deletes all pods and waits until they are gone.
func (b *bench) remove(ctx context.Context) error {
	pods := b.Client.CoreV1().Pods(namespace)
	w, err := b.watchPods(ctx)
	if err != nil {
		return err
	}
	defer w.Stop()
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for _, pod := range list.Items {
		left[pod.Name] = true
	}
	if len(left) == 0 {
		return nil
	}
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return follow(ctx, w, 2*time.Minute, func(e watch.Event) bool {
		if pod, ok := e.Object.(*v1.Pod); ok && e.Type == watch.Deleted {
			delete(left, pod.Name)
		}
		return len(left) == 0
	})
}

// allReady watches until n pods are Ready.
func (b *bench) allReady(ctx context.Context, n int) (wait func() error, err error) {
	w, err := b.watchPods(ctx)
	if err != nil {
		return nil, err
	}
	return func() error {
		defer w.Stop()
		ready := map[string]bool{}
		return follow(ctx, w, 3*time.Minute, func(e watch.Event) bool {
			if pod, ok := e.Object.(*v1.Pod); ok && isReady(pod) {
				ready[pod.Name] = true
			}
			return len(ready) >= n
		})
	}, nil
}

func (b *bench) watchPods(ctx context.Context) (watch.Interface, error) {
	return watchAll(ctx, b.Client.CoreV1().RESTClient(), "pods", &v1.Pod{})
}

// watchAll tells of what is there and of what happens to it from now on. Where the
// API server ends the request, as it may at any time, it lists and goes on.
func watchAll(ctx context.Context, client cache.Getter, resource string, object k8sruntime.Object) (watch.Interface, error) {
	list := cache.NewListWatchFromClient(client, resource, namespace, fields.Everything())
	_, informer, w, _ := watchtools.NewIndexerInformerWatcherWithLogger(klog.FromContext(ctx), list, object)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		w.Stop()
		return nil, ctx.Err()
	}
	return w, nil
}

// follow hands events to done until it agrees.
func follow(ctx context.Context, w watch.Interface, within time.Duration, done func(watch.Event) bool) error {
	timeout := time.After(within)
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return fmt.Errorf("the watch ended")
			}
			if done(e) {
				return nil
			}
		case <-timeout:
			return fmt.Errorf("not within %v", within)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func isReady(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
	})
}
