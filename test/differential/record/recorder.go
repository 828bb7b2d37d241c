package record

import (
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// History is all that a watch brought of one pod, in order.
type History struct {
	Versions []*v1.Pod
	// Deleted says that the object is gone; the last version is its last.
	Deleted bool
}

// Latest is the newest version, nil if there is none or the pod is gone.
func (h History) Latest() *v1.Pod {
	if h.Deleted || len(h.Versions) == 0 {
		return nil
	}
	return h.Versions[len(h.Versions)-1]
}

// Recorder keeps the histories of a namespace's pods. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	pods    map[string]History
	changed chan struct{} // closed and replaced with each change
	err     error
}

// Watch records the pods of a namespace until the context ends.
func Watch(ctx context.Context, client kubernetes.Interface, namespace string) (*Recorder, error) {
	r := &Recorder{pods: map[string]History{}, changed: make(chan struct{})}
	w, err := client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	go func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			r.add(event)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = fmt.Errorf("the watch of %s ended", namespace)
		close(r.changed)
		r.changed = make(chan struct{})
	}()
	return r, nil
}

func (r *Recorder) add(event watch.Event) {
	pod, ok := event.Object.(*v1.Pod)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.pods[pod.Name]
	h.Versions = append(h.Versions, pod)
	h.Deleted = event.Type == watch.Deleted
	r.pods[pod.Name] = h
	close(r.changed)
	r.changed = make(chan struct{})
}

// Of is the history of a pod so far.
func (r *Recorder) Of(pod string) History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.pods[pod]
	h.Versions = slices.Clip(h.Versions)
	return h
}

// Wait returns the pod's history once it satisfies done. With an error it returns
// what there is.
func (r *Recorder) Wait(ctx context.Context, pod string, done func(History) bool) (History, error) {
	for {
		r.mu.Lock()
		h, changed, err := r.pods[pod], r.changed, r.err
		h.Versions = slices.Clip(h.Versions)
		r.mu.Unlock()
		if done(h) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return h, fmt.Errorf("%w; the pod had %d versions", ctx.Err(), len(h.Versions))
		}
	}
}
