package api

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

const (
	// answersWithin bounds one call, mostBytes one answer and all pods of the first stream, mostPods their number.
	answersWithin = 5 * time.Second
	mostBytes     = 16 << 20
	mostPods      = 4096
)

// kubeletPods are the pods of a node by its kubelet's own API (KEP-4188), which costs the API server
// nothing. It is a watch.Interface of what changes after the first pods.
type kubeletPods struct {
	node   string
	ctx    context.Context
	cancel context.CancelFunc
	client v1alpha1.PodsClient
	stream grpc.ServerStreamingClient[v1alpha1.WatchPodsEvent]
	events chan watch.Event
	// first are the pods at the beginning.
	first []v1.Pod
	// known are the pods that were told of, ended those whose objects go: kubelet knows them for a while.
	known map[types.UID]*v1.Pod
	ended map[types.UID]bool
	// compared are the pods of the last comparison, by the sums of what was sent.
	compared map[uint64]types.UID
	seed     maphash.Seed
}

// openKubelet reads the pods that a kubelet has. It fails if that serves no such API, is beginning, or is
// not known to be the node's: it has none of its pods, or those of another.
func openKubelet(ctx context.Context, dial func(context.Context) (net.Conn, error), node string) (k *kubeletPods, err error) {
	dialer := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) })
	conn, err := grpc.NewClient("passthrough:///kubelet", dialer, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostBytes)))
	if err != nil {
		return nil, err
	}
	k = &kubeletPods{node: node, client: v1alpha1.NewPodsClient(conn), events: make(chan watch.Event), known: map[types.UID]*v1.Pod{}, ended: map[types.UID]bool{}, seed: maphash.MakeSeed()}
	k.ctx, k.cancel = context.WithCancel(ctx)
	context.AfterFunc(k.ctx, func() { _ = conn.Close() }) // nothing is left to send
	tooLate := time.AfterFunc(answersWithin, k.cancel)
	defer func() {
		if !tooLate.Stop() || err != nil {
			k.Stop()
			k, err = nil, errors.Join(errors.New("kubelet's pods API"), err)
		}
	}()
	if k.stream, err = k.client.WatchPods(k.ctx, &v1alpha1.WatchPodsRequest{}); err != nil {
		return k, err
	}
	for size := 0; ; {
		event, err := k.stream.Recv()
		if err != nil {
			return k, err
		}
		if event.Type == v1alpha1.EventType_INITIAL_SYNC_COMPLETE {
			if len(k.first) == 0 {
				return k, errors.New("it has no pods")
			}
			return k, nil
		}
		pod, err := k.decode(event.Pod)
		if err != nil {
			return k, err
		}
		if size += len(event.Pod); size > mostBytes || len(k.known)+len(k.ended) == mostPods {
			return k, fmt.Errorf("it has more than %d pods, or %d bytes of them", mostPods, mostBytes)
		}
		if k.known[pod.UID] != nil || k.ended[pod.UID] {
			return k, fmt.Errorf("two pods have the UID %q", pod.UID)
		}
		k.begin(pod)
	}
}

// begin takes one of the first pods. Of two with the same name it keeps the later one.
func (k *kubeletPods) begin(pod *v1.Pod) {
	i := slices.IndexFunc(k.first, func(p v1.Pod) bool { return p.Namespace == pod.Namespace && p.Name == pod.Name })
	switch {
	case i < 0:
		k.first = append(k.first, *pod.DeepCopy())
	case pod.CreationTimestamp.Before(&k.first[i].CreationTimestamp):
		k.ended[pod.UID] = true
		return
	default:
		delete(k.known, k.first[i].UID)
		k.ended[k.first[i].UID] = true
		k.first[i] = *pod.DeepCopy()
	}
	k.known[pod.UID] = pod
}

// decode reads a pod of the node. Until a kubelet that has just begun has seen a Ready pod itself, it calls it not
// ready: nothing happened to the pod.
func (k *kubeletPods) decode(raw []byte) (*v1.Pod, error) {
	pod := &v1.Pod{}
	if err := pod.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("a pod of kubelet's: %w", err)
	}
	if pod.Spec.NodeName != k.node {
		return nil, fmt.Errorf("pod %s/%s is of node %q", pod.Namespace, pod.Name, pod.Spec.NodeName)
	}
	if pod.UID == "" {
		return nil, fmt.Errorf("pod %s/%s has no UID", pod.Namespace, pod.Name)
	}
	for i, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady && c.Message == "Kubelet is initializing pod containers" {
			pod.Status.Conditions[i].Status, pod.Status.Conditions[i].Reason, pod.Status.Conditions[i].Message = v1.ConditionTrue, "", ""
		}
	}
	return slim(pod), nil
}

// run tells of changes until Stop, or until kubelet ends.
func (k *kubeletPods) run(every time.Duration, log *slog.Logger) {
	defer close(k.events)
	defer k.Stop()
	received := make(chan *v1alpha1.WatchPodsEvent)
	go func() {
		defer close(received)
		for {
			event, err := k.stream.Recv()
			if err != nil {
				return // it ended, or was ended
			}
			select {
			case received <- event:
			case <-k.ctx.Done():
				return
			}
		}
	}()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case event, ok := <-received:
			if !ok || k.hear(event) != nil {
				return
			}
		case <-ticker.C:
			if err := k.compare(); err != nil && !passes(err) {
				log.Warn("pods are listed anew, as kubelet's list cannot be read", "error", err)
				return
			}
		}
	}
}

// passes reports whether the next comparison may succeed: kubelet was busy, or has ended,
// which ends the stream as well.
func passes(err error) bool {
	code := status.Code(err)
	return code == codes.DeadlineExceeded || code == codes.Unavailable || code == codes.Canceled
}

// hear takes one event. DELETED means that a pod has ended on the node: only the object of one that was
// deleted goes with that.
func (k *kubeletPods) hear(event *v1alpha1.WatchPodsEvent) error {
	if event.Type == v1alpha1.EventType_DELETED {
		var ended v1.Pod
		if err := ended.Unmarshal(event.Pod); err != nil {
			return err
		}
		if was := k.known[ended.UID]; was != nil && was.DeletionTimestamp != nil && len(was.Finalizers) == 0 {
			k.gone(ended.UID)
		}
		return nil
	}
	pod, err := k.decode(event.Pod)
	if err == nil {
		k.tell(pod)
	}
	return err
}

// compare reads all pods, and tells of what differs. What was sent the same before is not decoded.
func (k *kubeletPods) compare() error {
	ctx, cancel := context.WithTimeout(k.ctx, answersWithin)
	defer cancel()
	all, err := k.client.ListPods(ctx, &v1alpha1.ListPodsRequest{})
	if err != nil {
		return err
	}
	now, has := map[uint64]types.UID{}, map[types.UID]bool{}
	for _, raw := range all.Pods {
		sum := maphash.Bytes(k.seed, raw)
		uid, same := k.compared[sum]
		var pod *v1.Pod
		if !same {
			if pod, err = k.decode(raw); err != nil {
				return err
			}
			uid = pod.UID
		}
		if has[uid] {
			return fmt.Errorf("two pods have the UID %q", uid)
		}
		if !same {
			k.tell(pod)
		}
		now[sum], has[uid] = uid, true
	}
	k.compared = now
	for uid := range k.known {
		if !has[uid] {
			k.gone(uid)
		}
	}
	for uid := range k.ended {
		if !has[uid] {
			delete(k.ended, uid)
		}
	}
	return nil
}

func (k *kubeletPods) tell(pod *v1.Pod) {
	was := k.known[pod.UID]
	switch {
	case k.ended[pod.UID]:
	case was == nil:
		k.replace(pod)
		k.known[pod.UID] = pod
		k.send(watch.Added, pod)
	case !equal(was, pod):
		k.known[pod.UID] = pod
		k.send(watch.Modified, pod)
	}
}

// replace sends that an earlier pod of the same name is gone: an informer knows pods by
// name, and would drop the new one when the old one is deleted after it.
func (k *kubeletPods) replace(pod *v1.Pod) {
	for uid, was := range k.known {
		if was.Namespace == pod.Namespace && was.Name == pod.Name {
			k.gone(uid)
		}
	}
}

func (k *kubeletPods) gone(uid types.UID) {
	was := k.known[uid]
	delete(k.known, uid)
	k.ended[uid] = true
	k.send(watch.Deleted, was)
}

// send hands over a copy: who takes it may change it.
func (k *kubeletPods) send(of watch.EventType, pod *v1.Pod) {
	select {
	case k.events <- watch.Event{Type: of, Object: pod.DeepCopy()}:
	case <-k.ctx.Done():
	}
}

func equal(a, b *v1.Pod) bool {
	one, err := a.Marshal()
	other, err2 := b.Marshal()
	return err == nil && err2 == nil && slices.Equal(one, other)
}

// ResultChan is what changes.
func (k *kubeletPods) ResultChan() <-chan watch.Event { return k.events }

// Stop ends it.
func (k *kubeletPods) Stop() {
	k.cancel()
}
