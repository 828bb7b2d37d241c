package oracle_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	_ "whylet.dev/whylet/test/fixedseed"
)

// one is a pod on a node that is short of something.
type one struct {
	pod      *v1.Pod
	usage    int64
	measured bool
}

// machine is a node as kubelet's own eviction manager sees it.
type machine struct{ summary *statsapi.Summary }

func (m machine) Get(context.Context, bool) (*statsapi.Summary, error) { return m.summary, nil }
func (m machine) GetCPUAndMemoryStats(context.Context) (*statsapi.Summary, error) {
	return m.summary, nil
}
func (machine) HasDedicatedImageFs(context.Context) (bool, error)     { return false, nil }
func (machine) HasDedicatedContainerFs(context.Context) (bool, error) { return false, nil }
func (machine) DeleteUnusedImages(context.Context) error              { return nil }
func (machine) DeleteAllUnusedContainers(context.Context) error       { return nil }

// short is what a node lacks under each signal that is compared. Of these only memory
// and disk can be requested.
var short = map[evictionapi.Signal]v1.ResourceName{
	evictionapi.SignalMemoryAvailable:  v1.ResourceMemory,
	evictionapi.SignalNodeFsAvailable:  v1.ResourceEphemeralStorage,
	evictionapi.SignalNodeFsInodesFree: health.ResourceInodes,
	evictionapi.SignalPIDAvailable:     health.ResourcePIDs,
}

// capacity, left and least are of memory or disk in bytes, of inodes or of processes.
const (
	capacity = 1000 << 20
	left     = 50 << 20
	least    = 100 << 20
)

// kubelet lets kubelet's manager look once at such a node, and gives the order in
// which it would evict the pods, with what it says to the first of them. The
// manager sorts the slice that it is given, and then kills.
func kubelet(t rapid.TB, signal evictionapi.Signal, all []one) (order []string, message string) {
	m := machine{&statsapi.Summary{Node: statsapi.NodeStats{
		Memory: &statsapi.MemoryStats{AvailableBytes: ptr[uint64](left), WorkingSetBytes: ptr[uint64](capacity - left)},
		Rlimit: &statsapi.RlimitStats{MaxPID: ptr[int64](capacity), NumOfRunningProcesses: ptr[int64](capacity - left)},
		Fs:     &statsapi.FsStats{AvailableBytes: ptr[uint64](left), CapacityBytes: ptr[uint64](capacity), InodesFree: ptr[uint64](left), Inodes: ptr[uint64](capacity)},
	}}}
	var pods []*v1.Pod
	for _, o := range all {
		pods = append(pods, o.pod)
		if !o.measured {
			continue
		}
		memory := &statsapi.MemoryStats{WorkingSetBytes: ptr(uint64(o.usage))}
		layer := &statsapi.FsStats{UsedBytes: ptr(uint64(o.usage)), InodesUsed: ptr(uint64(o.usage))}
		logs := &statsapi.FsStats{UsedBytes: ptr[uint64](0), InodesUsed: ptr[uint64](0)}
		m.summary.Pods = append(m.summary.Pods, statsapi.PodStats{
			PodRef: statsapi.PodReference{Name: o.pod.Name, Namespace: o.pod.Namespace, UID: string(o.pod.UID)},
			Memory: memory, ProcessStats: &statsapi.ProcessStats{ProcessCount: ptr(uint64(o.usage))},
			Containers: []statsapi.ContainerStats{{Name: "c", Memory: memory, Rootfs: layer, Logs: logs}},
		})
	}
	type verdict struct {
		order   []string
		message string
	}
	heard := make(chan verdict, 1)
	kill := func(_ *v1.Pod, _ bool, _ *int64, fill func(*v1.PodStatus)) error {
		var v verdict
		for _, p := range pods {
			v.order = append(v.order, p.Name)
		}
		var status v1.PodStatus
		fill(&status)
		v.message = status.Message
		heard <- v
		runtime.Goexit() // the manager's loop has no other end
		return nil
	}
	manager, _ := eviction.NewManager(m, eviction.Config{Thresholds: []evictionapi.Threshold{{
		Signal: signal, Operator: evictionapi.OpLessThan, Value: evictionapi.ThresholdValue{Quantity: resource.NewQuantity(least, format(signal))},
	}}}, kill, m, m, &record.FakeRecorder{}, &v1.ObjectReference{}, testclock.NewFakeClock(time.Unix(1, 0)), false)
	manager.Start(context.Background(), m, func() []*v1.Pod { return pods }, func(*v1.Pod) bool { return true }, time.Hour)
	select {
	case v := <-heard:
		return v.order, v.message
	case <-time.After(5 * time.Minute):
		t.Fatal("kubelet's manager evicted nobody")
		return nil, ""
	}
}

func format(s evictionapi.Signal) resource.Format {
	if requestable(short[s]) {
		return resource.BinarySI
	}
	return resource.DecimalSI
}

// requestable says that a pod can ask for the resource, and is told how much it had.
func requestable(name v1.ResourceName) bool {
	return name == v1.ResourceMemory || name == v1.ResourceEphemeralStorage
}

func ptr[T any](v T) *T { return &v }

// draw makes pods of all QoS classes, priorities and uses, some of them not
// measured or critical. No two are equal in what the order goes by: kubelet leaves
// to chance who of them is first.
func draw(t *rapid.T, name v1.ResourceName) []one {
	amount := rapid.SampledFrom([]int64{0, 1 << 20, 7 << 20, 64 << 20, 200 << 20})
	distinct := map[string]bool{}
	var all []one
	for i := range rapid.IntRange(1, 9).Draw(t, "pods") {
		request, usage := amount.Draw(t, "request"), amount.Draw(t, "usage")+int64(i)<<12
		priority := rapid.SampledFrom([]int32{-5, 0, 0, 10, 1000000000, 2000001000}).Draw(t, "priority")
		o := one{usage: usage, measured: i > 0 || rapid.Bool().Draw(t, "measured"), pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("p%d", i), UID: types.UID(fmt.Sprint(i))},
			Spec:       v1.PodSpec{Priority: &priority, Containers: []v1.Container{{Name: "c"}}},
		}}
		if !requestable(name) {
			request = 0
		}
		if request > 0 {
			r := &o.pod.Spec.Containers[0].Resources
			r.Requests = v1.ResourceList{name: *resource.NewQuantity(request, resource.BinarySI)}
			if rapid.Bool().Draw(t, "guaranteed") {
				r.Limits = r.Requests
			}
		}
		over, use := fmt.Sprint("over ", usage-request), fmt.Sprint("use ", usage)
		if distinct[over] || distinct[use] {
			continue
		}
		distinct[over], distinct[use] = true, true
		all = append(all, o)
	}
	return all
}

// The order of eviction, and the words in which the first pod is told, are those
// of kubelet's own eviction manager.
func TestOrderIsKubelets(t *testing.T) {
	for signal, name := range short {
		t.Run(string(signal), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { sameOrder(t, signal, draw(t, name)) })
		})
	}
}

// Of pods without requests who uses more goes first, however little the other uses.
func TestWhoUsesLittleGoesLast(t *testing.T) {
	for signal := range short {
		t.Run(string(signal), func(t *testing.T) {
			priority := int32(-5)
			var all []one
			for i, usage := range []int64{1 << 20, 0} {
				all = append(all, one{usage: usage, measured: true, pod: &v1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("p%d", i), UID: types.UID(fmt.Sprint(i))},
					Spec:       v1.PodSpec{Priority: &priority, Containers: []v1.Container{{Name: "c"}}},
				}})
			}
			sameOrder(t, signal, all)
		})
	}
}

func sameOrder(t rapid.TB, signal evictionapi.Signal, all []one) {
	name := short[signal]
	var candidates []health.Candidate
	for _, o := range all {
		c := health.Candidate{
			Pod: fact.Pod{Namespace: "ns", Name: o.pod.Name, UID: o.pod.UID}, Priority: *o.pod.Spec.Priority,
			Measured: o.measured, Usage: o.usage, Critical: health.Critical(o.pod, false),
		}
		request := o.pod.Spec.Containers[0].Resources.Requests[name]
		c.Request = request.Value()
		candidates = append(candidates, c)
	}
	ranked := health.Rank(name, candidates)
	if len(ranked) == 0 {
		return // kubelet would try for ever
	}
	theirs, message := kubelet(t, signal, all)
	var ours []string
	for _, r := range ranked {
		ours = append(ours, r.Pod.Name)
	}
	theirs = slices.DeleteFunc(theirs, func(name string) bool { return !slices.Contains(ours, name) })
	if !slices.Equal(ours, theirs) {
		t.Fatalf("ours %v, kubelet's %v", ours, theirs)
	}
	first := all[slices.IndexFunc(all, func(o one) bool { return o.pod.Name == ours[0] })]
	if want := words(signal, first); message != want {
		t.Fatalf("ours    %q\nkubelet %q", want, message)
	}
}

// words is what we would say to the pod.
func words(signal evictionapi.Signal, o one) string {
	var each []health.ContainerUse
	name := short[signal]
	if o.measured && requestable(name) {
		each = append(each, health.ContainerUse{
			Name: "c", Usage: *resource.NewQuantity(o.usage, resource.BinarySI), Request: o.pod.Spec.Containers[0].Resources.Requests[name],
		})
	}
	return health.EvictionMessage(health.Shortage{
		Resource: name, Threshold: resource.NewQuantity(least, format(signal)), Available: resource.NewQuantity(left, format(signal)),
	}, o.pod, nil, each)
}
