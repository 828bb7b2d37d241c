package report

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
)

func TestMetricsSayWhyContainersEnd(t *testing.T) {
	registry := prometheus.NewRegistry()
	known := pods.New()
	for _, f := range []fact.Fact{
		of("", 0, fact.SpecSeen{Object: testPod}),
		{Pod: fact.Pod{UID: "another"}, Body: fact.SpecSeen{}},
		of("c", 0, fact.Created{}),
		{ID: 9, Pod: pods.KeyOf(testPod), Container: "c", Body: fact.Kill{Reason: fact.KillLiveness}},
	} {
		known.Take(f)
	}
	m, err := NewMetrics(registry, func() probe.Stats { return probe.Stats{Probes: 4, Late: 1} }, known)
	if err != nil {
		t.Fatal(err)
	}
	m.Hear(of("c", 0, fact.Exited{ExitCode: 137}, 9))
	m.Hear(of("c", 1, fact.Exited{ExitCode: 137, MainOOMKilled: true}))
	m.Hear(of("c", 2, fact.Started{}))
	m.Hear(of("c", 2, fact.Exited{ExitCode: 1}))
	m.Hear(of("c", 2, fact.OOMKilled{PID: 9}))
	m.Hear(of("c", 2, fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Took: time.Second}))
	want := `
# HELP whylet_container_ends_total Ends of containers, by what ended them: a kill of the node by its reason, OOMKilled, Signalled, Exited or Vanished.
# TYPE whylet_container_ends_total counter
whylet_container_ends_total{cause="Exited",container="c",namespace="ns",pod="p"} 1
whylet_container_ends_total{cause="LivenessProbe",container="c",namespace="ns",pod="p"} 1
whylet_container_ends_total{cause="OOMKilled",container="c",namespace="ns",pod="p"} 1
# HELP whylet_container_restarts_total Starts of containers that had run before, by what had ended them: a kill of the node by its reason, OOMKilled, Signalled, Exited or Vanished.
# TYPE whylet_container_restarts_total counter
whylet_container_restarts_total{cause="OOMKilled",container="c",namespace="ns",pod="p"} 1
# HELP whylet_oom_kills_total OOM kills of the kernel in containers; victim is main or child.
# TYPE whylet_oom_kills_total counter
whylet_oom_kills_total{container="c",namespace="ns",pod="p",victim="child"} 1
# HELP whylet_pods Pods that the node knows.
# TYPE whylet_pods gauge
whylet_pods 2
`
	names := []string{"whylet_container_ends_total", "whylet_container_restarts_total", "whylet_oom_kills_total", "whylet_pods"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	m.Forget(pods.KeyOf(testPod))
	if n, err := testutil.GatherAndCount(registry, "whylet_container_ends_total"); err != nil || n != 0 {
		t.Errorf("%d series are left of a pod that is gone: %v", n, err)
	}
}

// The time of an end is a metric, with the reason that the pod's status gives, and goes with the
// pod. An end that nobody saw has none.
func TestMetricsTellWhenContainersEnded(t *testing.T) {
	registry, known := prometheus.NewRegistry(), pods.New()
	if _, err := NewMetrics(registry, func() probe.Stats { return probe.Stats{} }, known); err != nil {
		t.Fatal(err)
	}
	at := func(second int64, reason string) *v1.ContainerStateTerminated {
		return &v1.ContainerStateTerminated{Reason: reason, FinishedAt: metav1.Unix(second, 0)}
	}
	known.Take(of("", 0, fact.SpecSeen{Object: testPod}))
	known.SetStatus(testPod.UID, v1.PodStatus{
		InitContainerStatuses: []v1.ContainerStatus{{Name: "init", State: v1.ContainerState{Terminated: at(1700000000, "Completed")}}},
		ContainerStatuses: []v1.ContainerStatus{
			{Name: "c", LastTerminationState: v1.ContainerState{Terminated: at(1700000100, "OOMKilled")}},
			{Name: "runs", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
			{Name: "unseen", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Error"}}},
		},
	})
	want := `
# HELP whylet_container_last_end_timestamp_seconds When a container last ended, in Unix seconds, by the reason in its status; absent where nobody saw the end.
# TYPE whylet_container_last_end_timestamp_seconds gauge
whylet_container_last_end_timestamp_seconds{container="c",namespace="ns",pod="p",reason="OOMKilled",uid="u1"} 1.7000001e+09
whylet_container_last_end_timestamp_seconds{container="init",namespace="ns",pod="p",reason="Completed",uid="u1"} 1.7e+09
`
	const name = "whylet_container_last_end_timestamp_seconds"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
	known.Forget(testPod.UID)
	if n, err := testutil.GatherAndCount(registry, name); err != nil || n != 0 {
		t.Errorf("%d series are left of a pod that is gone: %v", n, err)
	}
}

var testPod = &v1.Pod{
	ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u1"},
	Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}},
}

func of(container string, attempt int32, body fact.Body, because ...fact.ID) fact.Fact {
	return fact.Fact{Pod: pods.KeyOf(testPod), Container: container, Attempt: attempt, Body: body, Because: because}
}
