package volumes

import (
	"context"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

const (
	// period is how often contents are written again without an event: kubelet's
	// sync frequency. A token is asked for anew at 80 % of its life, which may be
	// as short as ten minutes, so that this catches it in time.
	period = time.Minute
	// retryFirst and retryMost bound the wait after a failure, as in kubelet's
	// back-off of volume operations.
	retryFirst = 500 * time.Millisecond
	retryMost  = 2*time.Minute + 2*time.Second
	// refreshers is how many pods are refreshed at the same time: a slow API
	// server must not hold up the contents that are at hand.
	refreshers = 4
)

func (m *Manager) startRefresh(ctx context.Context) {
	m.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](retryFirst, retryMost))
	for range refreshers {
		m.workers.Go(func() {
			for {
				uid, shutdown := m.queue.Get()
				if shutdown {
					return
				}
				m.refresh(ctx, uid)
				m.queue.Done(uid)
			}
		})
	}
}

// configChanged is told whose ConfigMap or Secret changed.
func (m *Manager) configChanged(users []types.UID) {
	for _, uid := range users {
		m.queue.Add(uid)
	}
}

// Update takes over a pod that changed: labels and annotations that it can see
// through the downward API, resources, containers added to it. It returns at
// once; the contents follow. A pod that was not set up is left alone.
func (m *Manager) Update(pod *v1.Pod) {
	p, ok := m.lookup(pod.UID)
	if !ok {
		return
	}
	if m.register(p, pod) {
		m.queue.Add(pod.UID)
	}
}

// refresh writes the pod's contents again. A pod that is not ready yet is left to
// SetUp.
func (m *Manager) refresh(ctx context.Context, uid types.UID) {
	p, ok := m.lookup(uid)
	if !ok {
		m.queue.Forget(uid)
		return
	}
	p.work.Lock()
	defer p.work.Unlock()
	p.mu.Lock()
	pod, gone := p.pod, p.gone
	p.mu.Unlock()
	if gone || !p.ready {
		m.queue.Forget(uid)
		return
	}
	err := m.mountAll(ctx, p, pod)
	m.schedule(pod, err)
	if err != nil && ctx.Err() == nil {
		m.cfg.Log.Warn("contents of volumes could not be refreshed", "pod", pod.Namespace+"/"+pod.Name, "error", err)
		if m.cfg.Failed != nil {
			m.cfg.Failed(pod, err)
		}
	}
}

// schedule plans the next look at the pod's contents, if any of them can change.
// After a failure it is soon, and later each time.
func (m *Manager) schedule(pod *v1.Pod, err error) {
	if err != nil {
		m.queue.AddRateLimited(pod.UID)
		return
	}
	m.queue.Forget(pod.UID)
	if hasContents(pod) {
		m.queue.AddAfter(pod.UID, period+rand.N(period/2))
	}
}

// hasContents tells whether the pod has volumes that the agent writes.
func hasContents(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.ConfigMap != nil || v.Secret != nil || v.Projected != nil || v.DownwardAPI != nil {
			return true
		}
	}
	return false
}
