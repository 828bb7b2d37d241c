package report

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"
	utilpod "k8s.io/kubernetes/pkg/util/pod"

	"whylet.dev/whylet/fact"
)

// Publisher writes pod statuses to the API server: always the newest one of a
// pod, one request at a time a pod, again until it succeeds. A lost API server
// costs nothing but delay.
type Publisher struct {
	client kubernetes.Interface
	// uid is the UID that the API server knows a pod by; not ok: it has none yet.
	uid func(fact.Pod) (types.UID, bool)
	log *slog.Logger

	mu     sync.Mutex
	wanted map[fact.Pod]v1.PodStatus // not yet known to the API server
	known  map[fact.Pod]v1.PodStatus // as the API server last confirmed it
	// version is the resource version that the last write gave the object.
	version map[fact.Pod]string
	done    map[fact.Pod]chan struct{}
	queue   workqueue.TypedRateLimitingInterface[fact.Pod]
}

const publishWorkers = 8

// NewPublisher makes a publisher; Run must run for anything to be written.
func NewPublisher(client kubernetes.Interface, uid func(fact.Pod) (types.UID, bool), log *slog.Logger) *Publisher {
	return &Publisher{
		client: client, uid: uid, log: log,
		wanted: map[fact.Pod]v1.PodStatus{}, known: map[fact.Pod]v1.PodStatus{}, version: map[fact.Pod]string{}, done: map[fact.Pod]chan struct{}{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[fact.Pod](50*time.Millisecond, 10*time.Second)),
	}
}

// Publish asks for a status to be written. It does not wait.
func (p *Publisher) Publish(pod fact.Pod, status v1.PodStatus) {
	p.mu.Lock()
	p.wanted[pod] = status
	p.mu.Unlock()
	p.queue.Add(pod)
}

// Again asks for the newest status of a pod to be compared with what the API
// server has: its object was made anew.
func (p *Publisher) Again(pod fact.Pod, status v1.PodStatus) {
	p.forgetKnown(pod)
	p.Publish(pod, status)
}

// flush waits until what was published for a pod is known to the API server, or
// the pod is.
func (p *Publisher) flush(ctx context.Context, pod fact.Pod) error {
	p.mu.Lock()
	if _, pending := p.wanted[pod]; !pending {
		p.mu.Unlock()
		return nil
	}
	done, ok := p.done[pod]
	if !ok {
		done = make(chan struct{})
		p.done[pod] = done
	}
	p.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Forget drops what is remembered of a pod that is gone.
func (p *Publisher) Forget(pod fact.Pod) {
	p.mu.Lock()
	p.drop(pod)
	p.mu.Unlock()
	p.queue.Forget(pod)
}

// drop forgets a pod. The caller holds mu.
func (p *Publisher) drop(pod fact.Pod) {
	delete(p.wanted, pod)
	delete(p.known, pod)
	delete(p.version, pod)
	p.finish(pod)
}

// Seen tells what the API server has, so that a restart does not write it again.
func (p *Publisher) Seen(pod fact.Pod, status v1.PodStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.known[pod]; !ok {
		p.known[pod] = status
	}
}

// Overwritten says whether others have written, later than the node itself, into what
// is the node's to say of a pod. While a node is missed, the control plane calls its
// pods unready (kubelet: status/status_manager.go, needsReconcile).
func (p *Publisher) Overwritten(pod fact.Pod, own v1.PodStatus, object *v1.Pod) bool {
	return overwritten(own, object.Status) && p.news(pod, object.ResourceVersion)
}

// news says whether a version of a pod's object is later than the node's own last
// write, and not its echo.
func (p *Publisher) news(pod fact.Pod, version string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	own, ok := p.version[pod]
	if !ok {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(version, own)
	return err != nil || order > 0
}

// overwritten says whether a condition that is the node's to set reads otherwise.
func overwritten(own, seen v1.PodStatus) bool {
	for _, c := range own.Conditions {
		i := slices.IndexFunc(seen.Conditions, func(s v1.PodCondition) bool { return s.Type == c.Type })
		if kubelettypes.PodConditionByKubelet(c.Type) && i >= 0 && seen.Conditions[i].Status != c.Status {
			return true
		}
	}
	return false
}

// Run writes until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for range publishWorkers {
		wg.Go(func() {
			for p.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	p.queue.ShutDown()
	wg.Wait()
}

func (p *Publisher) next(ctx context.Context) bool {
	pod, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	defer p.queue.Done(pod)
	if err := p.write(ctx, pod); err != nil && ctx.Err() == nil {
		p.log.Warn("pod status not written, will be tried again", "pod", pod.String(), "error", err)
		p.queue.AddRateLimited(pod)
		return true
	}
	p.queue.Forget(pod)
	return true
}

// write patches the status subresource. Kubelet's own patch helper is used, with
// the same precondition on the UID.
func (p *Publisher) write(ctx context.Context, pod fact.Pod) error {
	p.mu.Lock()
	status, ok := p.wanted[pod]
	old, knows := p.known[pod]
	p.mu.Unlock()
	uid, exists := p.uid(pod)
	if !ok || !exists {
		return nil
	}
	if !knows {
		object, err := p.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		// The node authorizer hears of pods by a watch of its own, and may not have of a mirror that
		// was made just now.
		if apierrors.IsForbidden(err) && uid != types.UID(pod.UID) {
			return fmt.Errorf("read mirror pod %s: %w", pod, err)
		}
		// It answers Forbidden about a pod that is not there, too.
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || (err == nil && object.UID != uid) {
			p.gone(pod, uid)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read pod %s: %w", pod, err)
		}
		old = object.Status
	}
	merged := mergeForeign(old, status)
	object, _, _, err := utilpod.PatchPodStatus(ctx, p.client, pod.Namespace, pod.Name, uid, old, merged)
	if err != nil {
		p.forgetKnown(pod)
		if knows { // the helper hides what kind of error it was: reading the pod tells
			return p.write(ctx, pod)
		}
		return fmt.Errorf("patch status of pod %s: %w", pod, err)
	}
	p.confirmed(pod, uid, status, object)
	return nil
}

// gone drops what was to be written to an object that is no longer there. A
// static pod may have another one meanwhile, and its status is wanted there: the
// UID is compared under the lock that publish takes after it changed.
func (p *Publisher) gone(pod fact.Pod, uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.madeAnew(pod, uid) {
		return
	}
	p.drop(pod)
	p.queue.Forget(pod)
}

// madeAnew says whether a pod's object is another one by now than the one with the
// given UID. What is wanted is then still to be written, to the new one. The caller
// holds mu.
func (p *Publisher) madeAnew(pod fact.Pod, uid types.UID) bool {
	if now, ok := p.uid(pod); !ok || now == uid {
		return false
	}
	delete(p.known, pod)
	delete(p.version, pod)
	p.queue.Add(pod)
	return true
}

func (p *Publisher) forgetKnown(pod fact.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, pod)
}

// confirmed notes that a status is known to the API server, as the object with the
// given UID has it.
func (p *Publisher) confirmed(pod fact.Pod, uid types.UID, status v1.PodStatus, object *v1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.madeAnew(pod, uid) {
		return
	}
	if object != nil {
		p.known[pod], p.version[pod] = object.Status, object.ResourceVersion
	}
	if latest, ok := p.wanted[pod]; ok && apiequality.Semantic.DeepEqual(latest, status) {
		delete(p.wanted, pod)
		p.finish(pod)
		return
	}
	p.queue.Add(pod)
}

// finish wakes who waits in flush. The caller holds mu.
func (p *Publisher) finish(pod fact.Pod) {
	if done, ok := p.done[pod]; ok {
		close(done)
		delete(p.done, pod)
	}
}

// mergeForeign keeps what others own in a status: their conditions and the
// claim statuses (kubelet: status/status_manager.go, mergePodStatus).
func mergeForeign(old, status v1.PodStatus) v1.PodStatus {
	merged := *status.DeepCopy()
	var conditions []v1.PodCondition
	for _, c := range old.Conditions {
		if !kubelettypes.PodConditionByKubelet(c.Type) && !hasCondition(merged.Conditions, c.Type) {
			conditions = append(conditions, c)
		}
	}
	merged.Conditions = append(conditions, merged.Conditions...)
	merged.ResourceClaimStatuses = old.ResourceClaimStatuses
	merged.ExtendedResourceClaimStatus = old.ExtendedResourceClaimStatus
	merged.NodeAllocatableResourceClaimStatuses = old.NodeAllocatableResourceClaimStatuses
	merged.NominatedNodeName = old.NominatedNodeName
	return merged
}

func hasCondition(conditions []v1.PodCondition, kind v1.PodConditionType) bool {
	for i := range conditions {
		if conditions[i].Type == kind {
			return true
		}
	}
	return false
}

// Release asks the API server to drop the object, after its last status is
// known there (kubelet: status/status_manager.go, syncPod).
func (p *Publisher) Release(ctx context.Context, pod fact.Pod) error {
	if err := p.flush(ctx, pod); err != nil {
		return err
	}
	uid := types.UID(pod.UID)
	none := int64(0)
	err := p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &none, Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete pod %s: %w", pod, err)
	}
	p.Forget(pod)
	return nil
}
