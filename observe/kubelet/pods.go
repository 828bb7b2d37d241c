package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// DialPods connects to the socket of its pods API (pkg/kubelet/apis/pods). It returns an error
// if it runs in a pod, or if another process or another user than root listens there.
func (p Process) DialPods(ctx context.Context) (net.Conn, error) {
	dir := p.Dir()
	if p.InPod || !filepath.IsAbs(dir) || filepath.Clean(dir) != strings.TrimSuffix(dir, "/") {
		return nil, fmt.Errorf("process %d (in a pod: %t) with --root-dir %q is not trusted to have the node's pods", p.PID, p.InPod, dir)
	}
	root, err := unix.Open(p.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.Root, err)
	}
	defer unix.Close(root)
	socket, err := unix.Openat2(root, filepath.Join(dir, "pods-api", "pods-api.sock"),
		&unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return nil, fmt.Errorf("open kubelet's pods-api.sock: %w", err)
	}
	defer unix.Close(socket)
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", socket))
	if err != nil {
		return nil, err
	}
	if peer, err := peerOf(conn.(*net.UnixConn)); err != nil || peer.Uid != 0 || int(peer.Pid) != p.PID {
		return nil, errors.Join(fmt.Errorf("kubelet is process %d, but its pods API is served by %+v", p.PID, peer), err, conn.Close())
	}
	return conn, nil
}

// peerOf returns the process that listens at the other end.
func peerOf(conn *net.UnixConn) (peer unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, failed); err == nil {
		peer = *cred
	}
	return peer, err
}
