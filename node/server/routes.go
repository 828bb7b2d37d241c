package server

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apiserver/pkg/server/healthz"
)

// NewRegistry is a registry with the metrics of the process and of Go's runtime
// in it, for the node to add its own.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(),
	)
	return registry
}

// api has the handlers, with what they need.
type api struct {
	host    Host
	runtime Runtime
	stats   Stats
	configz func() map[string]any
	log     *slog.Logger
}

// routes says which path is answered by whom. A path that is not here is
// answered with 404, after the guard let its asker through.
func routes(c Config) http.Handler {
	a := &api{host: c.Host, runtime: c.Runtime, stats: c.Stats, configz: c.Configz, log: c.Log}
	mux := http.NewServeMux()
	get := func(path string, h http.HandlerFunc) {
		mux.HandleFunc("GET "+path, h)
		mux.HandleFunc("GET "+path+"/{$}", h)
	}
	get("/pods", a.pods)
	get("/runningpods", a.runningPods)
	get("/configz", a.showConfig)
	get("/containerLogs/{namespace}/{pod}/{container}", a.containerLogs)
	for _, method := range []string{"GET", "POST"} {
		if c.Stats != nil {
			mux.HandleFunc(method+" /stats/summary", a.summary)
		}
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{container}", a.exec)
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{uid}/{container}", a.exec)
		mux.HandleFunc(method+" /attach/{namespace}/{pod}/{container}", a.attach)
		mux.HandleFunc(method+" /attach/{namespace}/{pod}/{uid}/{container}", a.attach)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}", a.portForward)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}/{uid}", a.portForward)
	}
	mux.HandleFunc("POST /run/{namespace}/{pod}/{container}", a.run)
	mux.HandleFunc("POST /run/{namespace}/{pod}/{uid}/{container}", a.run)
	healthz.InstallHandler(mux, healthz.PingHealthz,
		healthz.NamedCheck("syncloop", func(*http.Request) error { return a.host.Healthy() }))
	metrics(mux, c)
	debug(mux, c.LogsDir)
	for path, h := range c.Extra {
		path = strings.TrimSuffix(path, "/")
		mux.Handle(path, h)
		mux.Handle(path+"/", h)
	}
	return mux
}

// metrics mounts the registries. One collector that fails does not hide the others.
func metrics(mux *http.ServeMux, c Config) {
	for path, gatherer := range map[string]prometheus.Gatherer{
		"/metrics": c.Metrics, "/metrics/resource": c.Resources, "/metrics/probes": c.Probes, "/metrics/cadvisor": c.Containers,
	} {
		if gatherer == nil {
			continue
		}
		mux.Handle("GET "+path, promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{
			ErrorLog:      slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn),
			ErrorHandling: promhttp.ContinueOnError,
		}))
	}
}

// debug mounts what an administrator looks at: the machine's logs, and profiles.
func debug(mux *http.ServeMux, logsDir string) {
	if logsDir != "" {
		mux.Handle("GET /logs/", http.StripPrefix("/logs/", http.FileServer(http.Dir(logsDir))))
	}
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}
