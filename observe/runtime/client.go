package runtime

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// reader are the calls that are made. The generated client has those that change
// things as well; nothing here can reach them.
type reader interface {
	Version(context.Context, *runtimeapi.VersionRequest, ...grpc.CallOption) (*runtimeapi.VersionResponse, error)
	ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error)
	ContainerStatus(context.Context, *runtimeapi.ContainerStatusRequest, ...grpc.CallOption) (*runtimeapi.ContainerStatusResponse, error)
	ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error)
}

// Client is a connection to a runtime. Safe for concurrent use; it reconnects by
// itself.
type Client struct {
	conn  *grpc.ClientConn
	cri   reader
	calls atomic.Int64
	logs  atomic.Pointer[string]

	// Name and Version are the runtime's own words for itself.
	Name, Version string
	// Root is where the paths that it names begin: /proc/PID/root of one that lives in a
	// mount namespace of its own; empty: here.
	Root string
}

// callTimeout bounds each call.
const callTimeout = 10 * time.Second

// usual are the sockets at which runtimes are found.
var usual = []string{
	"/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/var/snap/microk8s/common/run/containerd.sock", "/run/k0s/containerd.sock", "/run/crio/crio.sock",
}

// Find gives the endpoint of a runtime at one of the usual places below root (empty:
// the machine's own); empty where there is none.
func Find(root string) string {
	for _, path := range usual {
		if info, err := os.Stat(root + path); err == nil && info.Mode()&os.ModeSocket != 0 {
			return "unix://" + root + path
		}
	}
	return ""
}

// Dial connects to an endpoint (unix:///…) and asks who answers.
func Dial(ctx context.Context, endpoint string) (*Client, error) {
	if !strings.HasPrefix(endpoint, "unix://") {
		endpoint = "unix://" + endpoint
	}
	c := &Client{}
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUnaryInterceptor(c.count),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		return nil, fmt.Errorf("container runtime endpoint %s: %w", endpoint, err)
	}
	c.conn, c.cri = conn, runtimeapi.NewRuntimeServiceClient(conn)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	v, err := c.cri.Version(ctx, &runtimeapi.VersionRequest{Version: "v1"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("container runtime at %s does not answer: %w", endpoint, err), conn.Close())
	}
	c.Name, c.Version, c.Root = v.RuntimeName, v.RuntimeVersion, rootOf(strings.TrimPrefix(endpoint, "unix://"))
	return c, nil
}

// rootOf is where the paths of the process begin that listens at a socket.
func rootOf(socket string) string {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return ""
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return ""
	}
	var peer *unix.Ucred
	if err := raw.Control(func(fd uintptr) { peer, _ = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || peer == nil || peer.Pid == 0 {
		return ""
	}
	own, err := os.Readlink("/proc/self/ns/mnt")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", peer.Pid))
	if err != nil || err2 != nil || own == theirs {
		return ""
	}
	return fmt.Sprintf("/proc/%d/root", peer.Pid)
}

func (c *Client) count(ctx context.Context, method string, q, r any, cc *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	c.calls.Add(1)
	return call(ctx, method, q, r, cc, opts...)
}

// Calls is how many calls were made so far.
func (c *Client) Calls() int64 { return c.calls.Load() }

// Logs is the folder of all pods' logs as the runtime was told it, in its paths; empty before
// it told of one.
func (c *Client) Logs() string {
	if dir := c.logs.Load(); dir != nil {
		return *dir
	}
	return ""
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

func notFound(err error) bool { return status.Code(err) == codes.NotFound }
