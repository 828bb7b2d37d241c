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

// Listen opens a TCP port in the stack's network namespace. A socket stays in the
// namespace in which it was made, whoever uses it.
func (s *Stack) Listen(address string) (net.Listener, error) {
	type result struct {
		listener net.Listener
		err      error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked, as above
		if err := enter(s.Netns); err != nil {
			done <- result{err: err}
			return
		}
		listener, err := net.Listen("tcp", address)
		done <- result{listener, err}
	}()
	r := <-done
	return r.listener, r.err
}

func (d dialer) dialHere(ctx context.Context, network, address string) (net.Conn, error) {
	if err := enter(d.netns); err != nil {
		return nil, err
	}
	// The address is literal and one family's, so net dials on this very thread.
	return (&net.Dialer{FallbackDelay: -1}).DialContext(ctx, network, address)
}

// enter takes the calling thread into a network namespace.
func enter(netns string) error {
	namespace, err := os.Open(netns)
	if err != nil {
		return err
	}
	defer namespace.Close()
	return os.NewSyscallError("setns", unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET))
}
