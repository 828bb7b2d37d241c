package node

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
)

func TestMetricsSayWhyContainersEnd(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry, func() probe.Stats { return probe.Stats{Probes: 4, Late: 1} }, func() int { return 2 })
	if err != nil {
		t.Fatal(err)
	}
	m.count(of("c", 0, fact.Exited{ExitCode: 137}), fact.KillLiveness)
	m.count(of("c", 1, fact.Exited{ExitCode: 137, MainOOMKilled: true}), "")
	m.count(of("c", 2, fact.Started{}), "")
	m.count(of("c", 2, fact.Exited{ExitCode: 1}), "")
	m.count(of("c", 2, fact.OOMKilled{PID: 9}), "")
	m.count(of("c", 2, fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Took: time.Second}), "")
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
	m.forget(pods.KeyOf(testPod))
	if n, err := testutil.GatherAndCount(registry, "whylet_container_ends_total"); err != nil || n != 0 {
		t.Errorf("%d series are left of a pod that is gone: %v", n, err)
	}
}
