package metricsapi

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

func reading(nanoCores, bytes uint64, at time.Time) (*stats.CPUStats, *stats.MemoryStats) {
	return &stats.CPUStats{Time: metav1.NewTime(at), UsageNanoCores: &nanoCores},
		&stats.MemoryStats{Time: metav1.NewTime(at), WorkingSetBytes: &bytes}
}

func TestNodeMetrics(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"a": "b"}}}
	at := time.Unix(1000, 0)
	cpu, memory := reading(1_500_000_000, 2<<30, at)
	got, ok := nodeMetrics(node, &stats.Summary{Node: stats.NodeStats{CPU: cpu, Memory: memory}})
	if !ok {
		t.Fatal("left out")
	}
	if got.Usage.Cpu().MilliValue() != 1500 || got.Usage.Memory().Value() != 2<<30 {
		t.Errorf("usage is %v", got.Usage)
	}
	if !got.Timestamp.Time.Equal(at) || got.Labels["a"] != "b" || got.Name != "n1" {
		t.Errorf("got %+v", got)
	}
}

func TestWhatIsNotReportedIsLeftOut(t *testing.T) {
	cpu, memory := reading(1, 1, time.Unix(1, 0))
	node := &corev1.Node{}
	for name, summary := range map[string]*stats.Summary{
		"no answer":     nil,
		"no CPU":        {Node: stats.NodeStats{Memory: memory}},
		"no memory":     {Node: stats.NodeStats{CPU: cpu}},
		"no CPU rate":   {Node: stats.NodeStats{CPU: &stats.CPUStats{}, Memory: memory}},
		"no workingset": {Node: stats.NodeStats{CPU: cpu, Memory: &stats.MemoryStats{}}},
	} {
		if got, ok := nodeMetrics(node, summary); ok {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	pod := &corev1.Pod{}
	for name, reading := range map[string]stats.PodStats{
		"no containers":         {},
		"one container is mute": {Containers: []stats.ContainerStats{{Name: "a", CPU: cpu, Memory: memory}, {Name: "b"}}},
	} {
		if got, ok := podMetrics(pod, reading); ok {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestPodMetricsAreAsOldAsTheOldestReading(t *testing.T) {
	older, newer := time.Unix(100, 0), time.Unix(105, 0)
	cpuA, memoryA := reading(5_000_000, 1<<20, newer)
	cpuB, memoryB := reading(7_000_000, 2<<20, older)
	got, ok := podMetrics(
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}},
		stats.PodStats{Containers: []stats.ContainerStats{
			{Name: "a", CPU: cpuA, Memory: memoryA},
			{Name: "b", CPU: cpuB, Memory: memoryB},
		}})
	if !ok || len(got.Containers) != 2 || got.Containers[1].Usage.Cpu().MilliValue() != 7 {
		t.Fatalf("got %+v, %v", got, ok)
	}
	if !got.Timestamp.Time.Equal(older) {
		t.Errorf("timestamp is %v, want the older reading's", got.Timestamp)
	}
}
