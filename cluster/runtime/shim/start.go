package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	bootapi "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/ttrpc"
	"golang.org/x/sys/unix"

	"whylet.dev/whylet/cluster/runtime/shim/group"
)

const (
	// joinTimeout bounds the question to a group's shim whether it will stay.
	joinTimeout = 5 * time.Second

	// apiVersion is the task API's version that shim and containerd speak, and
	// with which containerd lets the containers of a pod use its sandbox's shim.
	apiVersion = 3
)

// grouped is containerd's runc shim with another way to start.
type grouped struct{ shim.Shim }

// Start gives a sandbox the address of its group's shim, starting it when it is
// not there. It runs in a short-lived process in the sandbox's bundle, and only where
// command join was not let in.
func (g grouped) Start(ctx context.Context, p *bootapi.BootstrapParams) (*bootapi.BootstrapResult, error) {
	own := group.Of(p.GetInstanceID())
	address, err := shim.CreateSocketAddress(ctx, p.GetSocketDir(), p.GetContainerdGrpcAddress(), own, false)
	if err != nil {
		return nil, fmt.Errorf("the address of shim %s: %w", own, err)
	}
	// One start of a group at a time, so that a socket without a listener is one
	// whose shim has ended.
	unlock, err := lock(filepath.Join(p.GetSocketDir(), own+".lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	joined, err := join(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("joining shim %s: %w", own, err)
	}
	if !joined {
		if err := start(ctx, p, own, address); err != nil {
			return nil, fmt.Errorf("starting shim %s: %w", own, err)
		}
	}
	return result(address), nil
}

// lock takes the file's lock and returns what gives it back.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// join asks the shim at address to stay for a new sandbox. false: there is none,
// or it has just decided to end and is waited for. An error means that there is
// one and it does not answer: it still holds containers, so it is not replaced.
func join(ctx context.Context, address string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	for {
		conn, err := net.Dial("unix", strings.TrimPrefix(address, "unix://"))
		if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		client := ttrpc.NewClient(conn)
		_, err = taskapi.NewTTRPCTaskClient(client).Connect(ctx, &taskapi.ConnectRequest{ID: stayID})
		client.Close()
		if err == nil {
			return true, nil
		}
		// It refused, or ended in the middle of the question: look again.
		select {
		case <-ctx.Done():
			return false, err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// start starts the group's shim with a listening socket.
func start(ctx context.Context, p *bootapi.BootstrapParams, group, address string) error {
	if err := shim.RemoveSocket(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := shim.NewSocket(address)
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	defer listener.Close()
	socket, err := listener.File()
	if err != nil {
		return err
	}
	defer socket.Close()
	ns, err := namespaces.NamespaceRequired(ctx)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// Not the bundle of the first pod, which goes away with it.
	dir := filepath.Dir(p.GetSocketDir())
	log, err := os.OpenFile(filepath.Join(dir, "shims.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, "-namespace", ns, "-id", group, "-address", p.GetContainerdGrpcAddress())
	cmd.Dir = dir
	cmd.Stderr = log
	// Two threads of Go are plenty for what mostly waits.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2", addressVariable+"="+address)
	cmd.ExtraFiles = []*os.File{socket} // descriptor 3, where RunShim expects it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := shim.AdjustOOMScore(cmd.Process.Pid); err != nil {
		return errors.Join(err, cmd.Process.Kill())
	}
	return cmd.Process.Release()
}
