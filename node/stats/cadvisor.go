package stats

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// cadvisor collects /metrics/cadvisor: of the series that cadvisor makes of a
// container those that its cgroup and its network namespace tell, by the same
// names and labels, so that dashboards and alerts made for kubelet find them
// (google/cadvisor, metrics/prometheus.go).
type cadvisor struct{ c *Collector }

// NewCAdvisor gives the collector for the registry behind /metrics/cadvisor.
func NewCAdvisor(c *Collector) prometheus.Collector { return cadvisor{c} }

var whose = []string{"container", "id", "image", "name", "namespace", "pod"}

// series is one number of a cgroup.
type series struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(cgroupfs.Sample) float64
	// label is what the series has beside [whose].
	label []string
}

func newSeries(name, help string, kind prometheus.ValueType, value func(cgroupfs.Sample) float64, label ...string) series {
	s := series{kind: kind, value: value}
	var names []string
	for i := 0; i < len(label); i += 2 {
		names = append(names, label[i])
		s.label = append(s.label, label[i+1])
	}
	s.desc = prometheus.NewDesc("container_"+name, help, append(whose[:len(whose):len(whose)], names...), nil)
	return s
}

var ofCgroup = []series{
	newSeries("cpu_usage_seconds_total", "Cumulative cpu time consumed in seconds.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return s.CPUUsage.Seconds() }, "cpu", "total"),
	newSeries("cpu_cfs_periods_total", "Number of elapsed enforcement period intervals.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return float64(s.Periods) }),
	newSeries("cpu_cfs_throttled_periods_total", "Number of throttled period intervals.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return float64(s.ThrottledPeriods) }),
	newSeries("cpu_cfs_throttled_seconds_total", "Total time duration the container has been throttled.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return s.ThrottledTime.Seconds() }),
	newSeries("memory_usage_bytes", "Current memory usage in bytes, including all memory regardless of when it was accessed", prometheus.GaugeValue,
		func(s cgroupfs.Sample) float64 { return float64(s.MemoryCurrent) }),
	newSeries("memory_max_usage_bytes", "Maximum memory usage recorded in bytes", prometheus.GaugeValue,
		func(s cgroupfs.Sample) float64 { return float64(s.MemoryPeak) }),
	newSeries("memory_working_set_bytes", "Current working set in bytes.", prometheus.GaugeValue,
		func(s cgroupfs.Sample) float64 { return float64(s.WorkingSet) }),
	newSeries("memory_rss", "Size of RSS in bytes.", prometheus.GaugeValue,
		func(s cgroupfs.Sample) float64 { return float64(s.MemoryAnon) }),
	newSeries("memory_cache", "Number of bytes of page cache memory.", prometheus.GaugeValue,
		func(s cgroupfs.Sample) float64 { return float64(s.MemoryFile) }),
	newSeries("memory_swap", "Container swap usage in bytes.", prometheus.GaugeValue,
		func(s cgroupfs.Sample) float64 { return float64(s.Swap) }),
	newSeries("memory_failcnt", "Number of memory usage hits limits", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return float64(s.LimitHits) }),
	newSeries("memory_failures_total", "Cumulative count of memory allocation failures.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return float64(s.PageFaults) }, "failure_type", "pgfault", "scope", "container"),
	newSeries("memory_failures_total", "Cumulative count of memory allocation failures.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return float64(s.MajorFaults) }, "failure_type", "pgmajfault", "scope", "container"),
	newSeries("oom_events_total", "Count of out of memory events observed for the container", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return float64(s.OOMKills) }),
	newSeries("spec_memory_limit_bytes", "Memory limit for the container.", prometheus.GaugeValue,
		func(s cgroupfs.Sample) float64 { return float64(s.MemoryLimit) }),
	newSeries("threads", "Number of threads running inside the container", prometheus.GaugeValue,
		func(s cgroupfs.Sample) float64 { return float64(s.PIDs) }),
}

// ofPressure are there where the kernel has PSI for cgroups.
var ofPressure = []series{
	newSeries("pressure_cpu_waiting_seconds_total", "Total time duration tasks in the container have waited due to CPU congestion.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return s.CPUPressure.Some.Total.Seconds() }),
	newSeries("pressure_cpu_stalled_seconds_total", "Total time duration no tasks in the container could make progress due to CPU congestion.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return s.CPUPressure.Full.Total.Seconds() }),
	newSeries("pressure_memory_waiting_seconds_total", "Total time duration tasks in the container have waited due to memory congestion.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return s.MemoryPressure.Some.Total.Seconds() }),
	newSeries("pressure_memory_stalled_seconds_total", "Total time duration no tasks in the container could make progress due to memory congestion.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return s.MemoryPressure.Full.Total.Seconds() }),
	newSeries("pressure_io_waiting_seconds_total", "Total time duration tasks in the container have waited due to IO congestion.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return s.IOPressure.Some.Total.Seconds() }),
	newSeries("pressure_io_stalled_seconds_total", "Total time duration no tasks in the container could make progress due to IO congestion.", prometheus.CounterValue,
		func(s cgroupfs.Sample) float64 { return s.IOPressure.Full.Total.Seconds() }),
}

var (
	byInterface = []string{"id", "image", "interface", "name", "namespace", "pod"}

	received       = prometheus.NewDesc("container_network_receive_bytes_total", "Cumulative count of bytes received", byInterface, nil)
	receivedErrors = prometheus.NewDesc("container_network_receive_errors_total", "Cumulative count of errors encountered while receiving", byInterface, nil)
	sent           = prometheus.NewDesc("container_network_transmit_bytes_total", "Cumulative count of bytes transmitted", byInterface, nil)
	sentErrors     = prometheus.NewDesc("container_network_transmit_errors_total", "Cumulative count of errors encountered while transmitting", byInterface, nil)
	layerBytes     = prometheus.NewDesc("container_fs_usage_bytes", "Number of bytes that are consumed by the container on this filesystem.", whose, nil)
	startTime      = prometheus.NewDesc("container_start_time_seconds", "Start time of the container since unix epoch in seconds.", whose, nil)
	lookError      = prometheus.NewDesc("container_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise", nil, nil)
)

// Describe implements prometheus.Collector. Series with the same name and help
// and other labels cannot be described apart, so nothing is, which makes the
// collector an unchecked one.
func (cadvisor) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (a cadvisor) Collect(metrics chan<- prometheus.Metric) {
	s, ok := a.c.scrape(metrics, lookError)
	if !ok {
		return
	}
	a.cgroup(metrics, s.node, []string{"", "/", "", "", "", ""})
	for _, p := range s.each {
		id := a.id(p.pod, "")
		pod := []string{"", id, "", "", p.pod.Namespace, p.pod.Name}
		a.cgroup(metrics, p.whole, pod)
		a.network(metrics, p, id)
		for _, c := range p.containers {
			_, name, _ := strings.Cut(c.id, "://")
			labels := []string{c.name, a.id(p.pod, c.id), image(p.pod, c.id), name, p.pod.Namespace, p.pod.Name}
			a.cgroup(metrics, c.reading, labels)
			began(metrics, startTime, c, labels...)
			if a.c.c.Layer == nil {
				continue
			}
			if used, _, ok := a.c.c.Layer(c.id); ok {
				metrics <- prometheus.MustNewConstMetric(layerBytes, prometheus.GaugeValue, float64(used), labels...)
			}
		}
	}
}

// cgroup gives the series of one cgroup.
func (a cadvisor) cgroup(metrics chan<- prometheus.Metric, of reading, labels []string) {
	all := ofCgroup
	if of.sample.PSI {
		all = append(all[:len(all):len(all)], ofPressure...)
	}
	for _, s := range all {
		with := append(labels[:len(labels):len(labels)], s.label...)
		metrics <- prometheus.NewMetricWithTimestamp(of.at, prometheus.MustNewConstMetric(s.desc, s.kind, s.value(of.sample), with...))
	}
}

// network gives the series of the pod's network, which all its containers share.
func (a cadvisor) network(metrics chan<- prometheus.Metric, p podReading, id string) {
	if a.c.c.NetworkPID == nil {
		return
	}
	pid := a.c.c.NetworkPID(p.pod.UID)
	if pid <= 0 {
		return
	}
	stats := a.c.network(strconv.Itoa(pid), metav1.Time{})
	if stats == nil {
		return
	}
	for _, i := range stats.Interfaces {
		for desc, value := range map[*prometheus.Desc]*uint64{received: i.RxBytes, receivedErrors: i.RxErrors, sent: i.TxBytes, sentErrors: i.TxErrors} {
			if value != nil {
				metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(*value), id, "", i.Name, "", p.pod.Namespace, p.pod.Name)
			}
		}
	}
}

// id is the cgroup's path from kubepods on, where kubelet's begin.
func (a cadvisor) id(pod *v1.Pod, container string) string {
	group, ok := a.c.c.Group(pod.UID, container)
	if !ok {
		return ""
	}
	dir := group.Main()
	if i := strings.Index(dir, "/kubepods"); i >= 0 {
		return dir[i:]
	}
	return dir
}

// image is the image of the pod's container with that id.
func image(pod *v1.Pod, id string) string {
	for _, statuses := range [][]v1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			if statuses[i].ContainerID == id {
				return statuses[i].Image
			}
		}
	}
	return ""
}
