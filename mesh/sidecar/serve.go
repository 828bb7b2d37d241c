package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/identity"
	"whylet.dev/whylet/probe"
)

// Options says what a sidecar serves.
type Options struct {
	Config mesh.SidecarConfig
	// Listen opens a port of the pod; nil means on all its addresses.
	Listen func(port int32) (net.Listener, error)
	// Probes and Healthcheck say which of the servers to run.
	Probes, Healthcheck bool
	// Member is the pod's place in the mesh. With it the pod's connections are
	// carried; without it only probes are answered.
	Member *identity.Member
	Log    *slog.Logger
}

// shutdownLimit bounds how long answers may take that are under way at the end.
const shutdownLimit = 2 * time.Second

// Serve answers probes, and carries connections, until ctx ends. The error says
// which port could not be opened, or which server broke.
func Serve(ctx context.Context, o Options) error {
	if o.Listen == nil {
		o.Listen = func(port int32) (net.Listener, error) {
			return net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(int(port))))
		}
	}
	prober, err := probe.NewProber(nil, o.Log)
	if err != nil {
		return err
	}
	defer prober.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	if err := start(ctx, group, o, prober); err != nil {
		cancel()
		return errors.Join(err, group.Wait())
	}
	return group.Wait()
}

// start opens the ports and starts what serves them.
func start(ctx context.Context, group *errgroup.Group, o Options, prober *probe.Prober) error {
	if o.Probes {
		for _, kind := range mesh.Kinds {
			l, err := o.Listen(mesh.Port(kind))
			if err != nil {
				return fmt.Errorf("open the port of %s probes: %w", kind, err)
			}
			if port := httpsPort(o.Config, kind); port != "" {
				l = sortTLS(l, port, o.Log)
			}
			handler := newProbes(kind, o.Config, prober, o.Log)
			group.Go(func() error { return serve(ctx, l, handler) })
		}
	}
	if o.Healthcheck {
		l, err := o.Listen(mesh.HealthcheckPort)
		if err != nil {
			return fmt.Errorf("open the port of the health-check server: %w", err)
		}
		mux := http.NewServeMux()
		mux.HandleFunc(mesh.HealthcheckPath, healthcheck)
		group.Go(func() error { return serve(ctx, l, mux) })
	}
	if o.Member == nil {
		return nil
	}
	for port, p := range map[int32]*proxy{
		mesh.InboundPort: inbound(o.Member, o.Log), mesh.OutboundPort: outbound(o.Member, o.Log),
	} {
		l, err := o.Listen(port)
		if err != nil {
			return fmt.Errorf("open the port of the redirect: %w", err)
		}
		group.Go(func() error { return p.serve(ctx, l) })
	}
	group.Go(func() error {
		o.Member.Run(ctx)
		return nil
	})
	return nil
}

// httpsPort is where TLS connections for probes of a kind belong: to the last
// container that has an HTTPS probe of it, in osm-edge's form.
func httpsPort(c mesh.SidecarConfig, kind fact.ProbeKind) string {
	port := ""
	for _, r := range c.Routes {
		if get := r.Probe.HTTPGet; c.Form == mesh.OSMEdge && r.Kind == kind && get != nil && get.Scheme == v1.URISchemeHTTPS {
			port = get.Port.String()
		}
	}
	return port
}

func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: firstByteLimit}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// The parent has ended already; the answers under way get their own limit.
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
		defer cancel()
		_ = server.Shutdown(ending)
		_ = server.Close()
	})
	err := server.Serve(l)
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", l.Addr(), err)
}
