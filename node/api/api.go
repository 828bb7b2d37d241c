package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	utilclock "k8s.io/utils/clock"

	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/otlp"
	"whylet.dev/whylet/node/cgroup"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/server"
	"whylet.dev/whylet/node/stats"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/why/serve"
)

// Config is what the API answers from.
type Config struct {
	// Config says where and to whom the API is served; the rest of it is added by Listen.
	server.Config
	// Metrics are the node's own.
	Metrics *prometheus.Registry
	Known   pods.Registry
	Runtime *cri.Client
	// BusySince is when the loop's turn under way began; zero between turns.
	BusySince func() time.Time
	Cgroups   *cgroup.Manager
	Volumes   *volumes.Manager
	// Layer is what a container has written outside its volumes, in bytes and inodes.
	Layer func(ctx context.Context, id string) (used, inodes uint64, ok bool)
	// DataDir is the node's directory, PodLogsDir that of the pods' logs; Memory is how
	// much the node says it has, 0: all the machine has.
	DataDir, PodLogsDir string
	Memory              int64

	Journal  *journal.Journal
	Exporter *otlp.Exporter // nil: none
	// Look looks into a pod because somebody asks.
	Look serve.Look
}

// Listen takes the port; what the server then serves is all there. What is asked of the
// runtime goes on until ctx ends.
func Listen(ctx context.Context, c Config) (*server.Server, error) {
	h := &host{known: c.Known, runtime: c.Runtime, busySince: c.BusySince}
	collector := c.collector(ctx, h)
	resources, containers := prometheus.NewRegistry(), prometheus.NewRegistry()
	if c.Exporter != nil {
		if err := registerExport(c.Metrics, c.Exporter); err != nil {
			return nil, fmt.Errorf("register the export's metrics: %w", err)
		}
	}
	if err := resources.Register(stats.NewResources(collector)); err != nil {
		return nil, fmt.Errorf("register the resource metrics: %w", err)
	}
	if err := containers.Register(stats.NewCAdvisor(collector)); err != nil {
		return nil, fmt.Errorf("register the containers' metrics: %w", err)
	}
	s := c.Config
	s.Host, s.Runtime, s.Stats = h, c.Runtime.Runtime(), collector
	s.Metrics, s.Resources, s.Containers = c.Metrics, resources, containers
	s.Extra = Answers(c.Journal, c.Look)
	s.LogsDir = "/var/log"
	return server.Listen(s)
}

// Answers are the handlers of what a node is asked, by their paths.
func Answers(j *journal.Journal, look serve.Look) map[string]http.Handler {
	return map[string]http.Handler{"/why": serve.Handler(j, health.Policy{}, look), "/why/facts": serve.FactsHandler(j)}
}

func (c Config) collector(ctx context.Context, h *host) *stats.Collector {
	return stats.New(stats.Config{
		NodeName: c.NodeName, Pods: h.Pods, Group: c.Cgroups.Path, All: c.Cgroups.Node(), NetworkPID: func(uid types.UID) int {
			p, _ := c.Known.Get(uid)
			return p.NetworkPID()
		},
		Volumes: func(uid types.UID) (ephemeral, persistent []statsapi.VolumeStats) {
			usage := c.Volumes.Usage(uid, time.Minute)
			return usage.Ephemeral, usage.Persistent
		},
		Layer:   func(id string) (used, inodes uint64, ok bool) { return c.Layer(ctx, id) },
		LogsDir: c.PodLogsDir, NodeDir: c.DataDir, ImageDir: c.DataDir, Memory: c.Memory,
		Proc: "/proc", Clock: utilclock.RealClock{}, Log: c.Log,
	})
}

// registerExport counts what a collector was sent and what it never will be.
func registerExport(registry prometheus.Registerer, e *otlp.Exporter) error {
	for _, c := range []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "whylet_facts_exported_total", Help: "Facts that the OpenTelemetry collector has taken.",
		}, func() float64 { return float64(e.Sent()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "whylet_facts_export_dropped_total", Help: "Facts that the OpenTelemetry collector was not sent or refused; the journal has them.",
		}, func() float64 { return float64(e.Dropped()) }),
	} {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}
