package metricsapi

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/metrics/pkg/apis/metrics"
)

// window is over how long a node averages CPU use: kubelet's housekeeping
// interval (cadvisor's housekeeping_interval, 10 s). The stats API does not say.
const window = 10 * time.Second

// usage turns one CPU and one memory reading into a resource list. It reports
// false when either is missing: half a reading would look like an idle container.
func usage(cpu *stats.CPUStats, memory *stats.MemoryStats) (corev1.ResourceList, metav1.Time, bool) {
	if cpu == nil || cpu.UsageNanoCores == nil || memory == nil || memory.WorkingSetBytes == nil {
		return nil, metav1.Time{}, false
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewScaledQuantity(int64(*cpu.UsageNanoCores), resource.Nano),
		corev1.ResourceMemory: *resource.NewQuantity(int64(*memory.WorkingSetBytes), resource.BinarySI),
	}, cpu.Time, true
}

func nodeMetrics(node *corev1.Node, summary *stats.Summary) (*metrics.NodeMetrics, bool) {
	if summary == nil {
		return nil, false
	}
	used, at, ok := usage(summary.Node.CPU, summary.Node.Memory)
	if !ok {
		return nil, false
	}
	return &metrics.NodeMetrics{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: metav1.Now()},
		Timestamp:  at,
		Window:     metav1.Duration{Duration: window},
		Usage:      used,
	}, true
}

func podMetrics(pod *corev1.Pod, reading stats.PodStats) (*metrics.PodMetrics, bool) {
	out := &metrics.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels, CreationTimestamp: metav1.Now(),
		},
		Window: metav1.Duration{Duration: window},
	}
	for _, container := range reading.Containers {
		used, at, ok := usage(container.CPU, container.Memory)
		if !ok {
			return nil, false
		}
		if out.Timestamp.IsZero() || at.Before(&out.Timestamp) {
			out.Timestamp = at
		}
		out.Containers = append(out.Containers, metrics.ContainerMetrics{Name: container.Name, Usage: used})
	}
	return out, len(out.Containers) > 0
}
