package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// listen opens a TCP port in the node's network namespace. A socket stays in the
// namespace in which it was made, whoever uses it.
func (n *node) listen(t *testing.T, address string) net.Listener {
	t.Helper()
	type result struct {
		listener net.Listener
		err      error
	}
	done := make(chan result)
	go func() {
		// The thread ends with the goroutine, because it is not unlocked.
		runtime.LockOSThread()
		l, err := n.listenHere(address)
		done <- result{l, err}
	}()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.listener
}

func (n *node) listenHere(address string) (net.Listener, error) {
	ns, err := os.Open(filepath.Join("/run/netns", n.netns))
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("enter %s: %w", n.netns, err)
	}
	return net.Listen("tcp", address)
}
