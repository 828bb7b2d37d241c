package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
)

// How long a client may take to send its headers, and an idle connection stays
// open. There is no limit on the whole exchange, unlike kubelet's four hours:
// a log that is followed goes on for as long as its reader wants it.
const (
	headerTimeout = 32 * time.Second
	idleTimeout   = 90 * time.Second
	// endGrace is how long requests may go on after the server was told to end.
	endGrace = 2 * time.Second
)

// Config is what the server needs. Everything without "may be" is required.
type Config struct {
	// NodeName is the name that access is asked for (nodes/NodeName).
	NodeName string
	// Address and Port are where to listen; an empty address is all of them, and
	// port 0 any free one.
	Address string
	Port    int
	// ServingCert, ServingKey and ClientCA are PEM files. They are read again
	// when they change.
	ServingCert, ServingKey, ClientCA string
	// Client reviews bearer tokens and access.
	Client kubernetes.Interface

	Host    Host
	Runtime Runtime
	// Stats may be nil: there is no /stats/summary then.
	Stats Stats

	// Metrics, Resources, Probes and Containers are served at /metrics,
	// /metrics/resource, /metrics/probes and /metrics/cadvisor. Each may be nil: the
	// path is not there then.
	Metrics, Resources, Probes, Containers prometheus.Gatherer
	// Extra are further handlers by path ("/why"), each mounted at the path and
	// below it. They need access to nodes/proxy. May be nil.
	Extra map[string]http.Handler
	// Configz gives the content of /configz by component name. May be nil.
	Configz func() map[string]any
	// LogsDir is shown at /logs/, usually /var/log; may be empty: nothing is.
	LogsDir string

	Log *slog.Logger
}

// Server is the node's HTTPS API, listening but not yet serving.
type Server struct {
	listener *listener
	http     *http.Server
	// reloaders follow the certificate files until their context ends.
	reloaders []func(context.Context)
	log       *slog.Logger
}

// Listen takes the port and reads the certificates, so that whatever is wrong
// with either is known before the node says that it is there.
func Listen(c Config) (*Server, error) {
	certs, err := newCertificates(c)
	if err != nil {
		return nil, err
	}
	guard, err := newGuard(c, certs.clientCA)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(c.Address, strconv.Itoa(c.Port))
	tcp, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the node's API cannot listen on %s, another program does: stop it or choose another port: %w", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the node's API cannot listen on %s: %w", address, err)
	}
	s := &Server{listener: &listener{Listener: tcp}, reloaders: certs.reloaders, log: c.Log}
	s.http = &http.Server{
		Handler:           guard.protect(routes(c)),
		TLSConfig:         certs.config,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    1 << 20,
		ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Port is the port that is listened on.
func (s *Server) Port() int {
	if tcp, ok := s.listener.Addr().(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}

// Serve answers requests until ctx ends; then it ends those that are under way
// (logs that are followed at once, others after two seconds, exec sessions and
// forwarded ports too) and returns nil. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var reloading sync.WaitGroup
	for _, reload := range s.reloaders {
		reloading.Go(func() { reload(ctx) })
	}
	defer reloading.Wait()
	defer cancel()

	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	ended := make(chan error, 1)
	go func() { ended <- s.http.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("the node's API on %s: %w", s.listener.Addr(), err)
	case <-ctx.Done():
	}
	grace, end := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
	defer end()
	if err := s.http.Shutdown(grace); err != nil {
		s.log.Debug("requests were cut off", "error", err)
		_ = s.http.Close()
	}
	s.listener.closeConns()
	<-ended
	return nil
}
