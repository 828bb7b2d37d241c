package probe

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"whylet.dev/whylet/fact"
)

// grpcCheck asks the health service of gRPC (grpc.health.v1) over a connection
// of its own, with kubelet's words (pkg/probe/grpc/grpc.go). A refused
// connection is tried again until the timeout, as gRPC's clients do; the message
// then speaks of the timeout only, and the evidence of the refusal.
func (p *Prober) grpcCheck(pl *plan) outcome {
	ctx, cancel := context.WithTimeout(p.ctx, pl.timeout)
	defer cancel()
	ev := pl.newEvidence()
	watch := &dialWatch{evidence: ev}
	defer watch.stop()
	transport := insecure.NewCredentials()
	if pl.tls {
		transport = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	conn, err := grpc.NewClient("passthrough:///"+pl.address,
		grpc.WithUserAgent(userAgent),
		grpc.WithTransportCredentials(transport),
		grpc.WithContextDialer(watch.dial))
	if err != nil {
		return failed(ev, err, fmt.Sprintf("error: failed to connect service at %q: %+v", pl.address, err))
	}
	defer func() { _ = conn.Close() }()
	if !connected(ctx, conn) {
		watch.stop()
		ev.Timeout = true
		return outcome{
			verdict: fact.Failure, evidence: ev,
			message: fmt.Sprintf("timeout: failed to connect service %q within %v: %+v", pl.address, pl.timeout, ctx.Err()),
		}
	}
	asked := time.Now()
	reply, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: pl.service})
	watch.stop()
	if err != nil {
		return failed(ev, err, checkFailed(err, pl.timeout))
	}
	ev.FirstByte = time.Since(asked)
	ev.Output = reply.GetStatus().String()
	if reply.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return outcome{
			verdict: fact.Failure, evidence: ev,
			message: fmt.Sprintf("service unhealthy (responded with %q)", reply.GetStatus().String()),
		}
	}
	return outcome{verdict: fact.Success, evidence: ev}
}

func failed(ev *fact.Evidence, err error, message string) outcome {
	noteError(ev, err)
	ev.Timeout = ev.Timeout || status.Code(err) == codes.DeadlineExceeded
	return outcome{verdict: fact.Failure, message: message, evidence: ev}
}

func checkFailed(err error, timeout time.Duration) string {
	switch s := status.Convert(err); s.Code() {
	case codes.Unimplemented:
		return fmt.Sprintf("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): %s", s.Message())
	case codes.DeadlineExceeded:
		return fmt.Sprintf("timeout: health rpc did not complete within %v", timeout)
	}
	return fmt.Sprintf("error: health rpc probe failed: %+v", err)
}

// connected waits for the connection to be ready; false means that ctx ended.
func connected(ctx context.Context, conn *grpc.ClientConn) bool {
	for {
		state := conn.GetState()
		if state == connectivity.Idle {
			conn.Connect()
		}
		if state == connectivity.Ready {
			return true
		}
		if !conn.WaitForStateChange(ctx, state) {
			return false
		}
	}
}

// dialWatch notes in the evidence how connecting went. gRPC dials on goroutines
// of its own, so notes end with stop.
type dialWatch struct {
	mu       sync.Mutex
	stopped  bool
	evidence *fact.Evidence
}

func (w *dialWatch) dial(ctx context.Context, address string) (net.Conn, error) {
	began := time.Now()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stopped:
	case err != nil && ctx.Err() == nil:
		noteError(w.evidence, err)
	case err == nil:
		w.evidence.Connect = time.Since(began)
		w.evidence.Local, w.evidence.Remote = conn.LocalAddr().String(), conn.RemoteAddr().String()
	}
	return conn, err
}

func (w *dialWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
}
