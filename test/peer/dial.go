package peer

import (
	"context"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// dialer connects inside of a network namespace. A socket belongs to the
// namespace of the thread that made it, so a thread goes there, dials and ends.
type dialer struct{ netns string }

func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		// Never unlocked: the runtime ends the thread with the goroutine, and no
		// other code ever runs in the namespace.
		runtime.LockOSThread()
		conn, err := d.dialHere(ctx, network, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

func (d dialer) dialHere(ctx context.Context, network, address string) (net.Conn, error) {
	namespace, err := os.Open(d.netns)
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, os.NewSyscallError("setns", err)
	}
	// The address is literal and one family's, so net dials on this very thread.
	return (&net.Dialer{FallbackDelay: -1}).DialContext(ctx, network, address)
}
