package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxMessage is kubelet's limit for CRI answers (pkg/kubelet/cri/remote).
const maxMessage = 16 << 20

// dial makes a connection to a CRI endpoint. Only unix sockets are CRI endpoints
// on Linux. Nothing is sent yet.
func dial(endpoint string) (*grpc.ClientConn, error) {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok || !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("%w: runtime endpoint %q is not of the form unix:///path/to/socket", ErrConfig, endpoint)
	}
	conn, err := grpc.NewClient("unix://"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.2, MaxDelay: 100 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", endpoint, err)
	}
	return conn, nil
}

// answers returns nil when the runtime behind conn says that it is ready.
func answers(ctx context.Context, conn *grpc.ClientConn) error {
	status, err := cri.NewRuntimeServiceClient(conn).Status(ctx, &cri.StatusRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	for _, condition := range status.GetStatus().GetConditions() {
		if condition.Type == cri.RuntimeReady && !condition.Status {
			return fmt.Errorf("runtime is not ready: %s: %s", condition.Reason, condition.Message)
		}
	}
	return nil
}

// ErrNoAnswer: nothing listens at the runtime's endpoint.
var ErrNoAnswer = errors.New("the container runtime does not answer")

// reach returns ErrNoAnswer, with the endpoint, when nothing listens behind conn.
// What else is wrong the call itself will say.
func reach(ctx context.Context, conn *grpc.ClientConn, endpoint string) error {
	_, err := cri.NewRuntimeServiceClient(conn).Version(ctx, &cri.VersionRequest{})
	if status.Code(err) == codes.Unavailable {
		return fmt.Errorf("%w at %s", ErrNoAnswer, endpoint)
	}
	return nil
}

// waitReady waits until the runtime answers, or until gone is closed or the
// timeout is over.
func waitReady(ctx context.Context, endpoint string, gone <-chan struct{}, timeout time.Duration) error {
	conn, err := dial(endpoint)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	go func() {
		select {
		case <-gone:
			cancel() // a call may be waiting
		case <-ctx.Done():
		}
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := answers(ctx, conn)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			select {
			case <-gone:
				return errors.New("it ended while starting")
			default:
			}
			return fmt.Errorf("no answer at %s after %s: %w", endpoint, timeout, err)
		case <-tick.C:
		}
	}
}

// Version asks a CRI runtime for its name and version, as in "containerd 2.3.7".
func Version(ctx context.Context, endpoint string) (string, error) {
	conn, err := dial(endpoint)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	answer, err := cri.NewRuntimeServiceClient(conn).Version(ctx, &cri.VersionRequest{})
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", endpoint, err)
	}
	return answer.RuntimeName + " " + answer.RuntimeVersion, nil
}
