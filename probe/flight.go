package probe

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
)

// flight is one attempt on the poller. Flights are used again and again; the
// generation tells their lives apart.
//
// An attempt moves from connecting to sent (the request is out) to its ending.
// Whoever wakes it (the starter, the poller, its timer) moves it on as far as it
// goes without waiting, under the lock.
type flight struct {
	poller *poller
	slot   int32

	mu         sync.Mutex
	generation int32
	active     bool
	abandoned  bool // the poller is closed
	plan       *plan
	done       doneFunc
	timer      *time.Timer
	fd         int // -1 when there is no socket
	local      netip.AddrPort
	sent       int    // bytes of the request that went out
	data       []byte // the answer so far, when it did not come in one piece
	headed     bool   // its head is complete

	// The ends of the phases; zero until reached.
	began, connected, wrote, firstByte time.Time
}

// ending is how a flight ends: with a result, or in net/http's hands.
type ending struct {
	probed fact.Probed
	over   *fallback
	done   doneFunc
	began  time.Time
}

func (f *flight) launch(pl *plan, done doneFunc) {
	f.mu.Lock()
	if f.abandoned {
		f.mu.Unlock()
		return
	}
	f.generation++
	f.active, f.plan, f.done = true, pl, done
	f.fd, f.sent, f.data, f.headed, f.local = -1, 0, f.data[:0], false, netip.AddrPort{}
	f.began = time.Now()
	f.connected, f.wrote, f.firstByte = time.Time{}, time.Time{}, time.Time{}
	end := f.open()
	if end == nil {
		f.arm(pl.timeout)
	}
	f.mu.Unlock()
	f.finish(end)
}

// wake is called by the poller when something happened on the socket.
func (f *flight) wake(generation int32, buf []byte) {
	f.mu.Lock()
	var end *ending
	if f.active && f.generation == generation {
		end = f.advance(buf)
	}
	f.mu.Unlock()
	f.finish(end)
}

// expire is called by the timer. A timer that rings late, in the flight's next
// life, finds that time has not come.
func (f *flight) expire() {
	f.mu.Lock()
	var end *ending
	if f.active && time.Since(f.began) >= f.plan.timeout {
		end = f.timedOut()
	}
	f.mu.Unlock()
	f.finish(end)
}

// abandon ends the flight unreported.
func (f *flight) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.abandoned = true
	if f.active {
		f.active = false
		f.closeSocket()
	}
	if f.timer != nil {
		f.timer.Stop()
	}
}

// finish reports an ending, outside of the lock.
func (f *flight) finish(end *ending) {
	if end == nil {
		return
	}
	f.poller.release(f)
	if end.over != nil {
		f.poller.land(end.over)
		return
	}
	end.done(end.began, end.probed)
}

// open makes the socket and begins to connect. Where the target is on this
// machine the handshake is over when connect(2) returns, so the request goes out
// at once, and the socket is watched for the answer alone.
func (f *flight) open() *ending {
	fd, err := unix.Socket(f.plan.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return f.dialFailed("socket", err)
	}
	f.fd = fd
	err = connect(fd, f.plan.sockaddr)
	if err != nil && !underWay(err) {
		return f.dialFailed("connect", err)
	}
	if end := f.send(); end != nil {
		return end
	}
	events := uint32(unix.EPOLLIN)
	if f.wrote.IsZero() {
		events |= unix.EPOLLOUT
	}
	if err := f.poller.watch(fd, f.slot, f.generation, events); err != nil {
		return f.dialFailed("epoll_ctl", err)
	}
	return nil
}

func underWay(err error) bool {
	return err == unix.EINPROGRESS || err == unix.EALREADY || err == unix.EINTR
}

func (f *flight) advance(buf []byte) *ending {
	if f.wrote.IsZero() {
		if end := f.send(); end != nil || f.wrote.IsZero() {
			return end
		}
	}
	return f.receive(buf)
}

// send goes from connecting to sent, if the connection is there.
func (f *flight) send() *ending {
	if f.plan.handler == fact.TCPSocket {
		return f.connectedTCP()
	}
	before := time.Now()
	n, err := write(f.fd, f.plan.get.wire)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil // not connected yet: a fresh socket has room for the request
	case err != nil && (err == unix.ECONNRESET || err == unix.EPIPE):
		f.isConnected(before)
		return f.broken("write", err)
	case err != nil:
		return f.dialFailed("connect", err)
	}
	f.sent = n
	if self := f.isConnected(before); self || n < len(f.plan.get.wire) {
		return f.handOver(self)
	}
	f.wrote = time.Now()
	return nil
}

// connectedTCP ends a tcpSocket attempt once connected: connecting again tells.
func (f *flight) connectedTCP() *ending {
	err := connect(f.fd, f.plan.sockaddr)
	switch {
	case err != nil && underWay(err):
		return nil
	case err != nil && err != unix.EISCONN:
		return f.dialFailed("connect", err)
	}
	if f.isConnected(time.Now()) {
		return f.handOver(true)
	}
	return f.end(fact.Success, "", f.evidence())
}

// isConnected notes the connection. True means that the kernel connected the
// socket with itself, as it can when the port is closed and happens to be the
// next free one; net.Dialer knows to try again then.
func (f *flight) isConnected(at time.Time) (self bool) {
	f.connected = at
	name, err := unix.Getsockname(f.fd)
	if err != nil {
		return false // the evidence lacks the local address
	}
	f.local = addrPort(name)
	return f.local == f.plan.addr
}

// receive reads what is there, and parses it.
func (f *flight) receive(buf []byte) *ending {
	for {
		n, err := read(f.fd, buf)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err == unix.EINTR:
			continue
		case err != nil:
			return f.broken("read", err)
		}
		if f.firstByte.IsZero() && n > 0 {
			f.firstByte = time.Now()
		}
		data := buf[:n]
		if len(f.data) > 0 {
			f.data = append(f.data, data...)
			data = f.data
		}
		r, p := parse(data, n == 0)
		switch {
		case p == complete:
			return f.answered(r)
		case n == 0:
			return f.over(nil)
		}
		if len(f.data) == 0 {
			f.data = append(f.data, data...)
		}
		f.headed = p == headed
		if p == odd || len(f.data) > maxBuffered {
			return f.handOver(false)
		}
	}
}

func (f *flight) answered(r response) *ending {
	verdict, message := judge(r.status, r.body)
	ev := f.evidence()
	ev.Status, ev.Proto, ev.Header = r.status, r.proto, r.header
	ev.Body = time.Since(f.firstByte)
	if f.plan.own {
		ev.Output = excerpt(r.body)
	}
	return f.end(verdict, message, ev)
}

// timedOut words the timeout. One that hits the body is no failure to kubelet:
// the try erred, and is made again by net/http.
func (f *flight) timedOut() *ending {
	ev := f.evidence()
	switch {
	case f.plan.handler == fact.TCPSocket:
		return f.fail(ev, f.dialError(os.ErrDeadlineExceeded))
	case f.headed:
		f.closeSocket()
		end := f.fallback(nil, nil)
		end.over.bodyLate = true
		return end
	}
	o := headTimeout(f.plan, ev)
	return f.end(o.verdict, o.message, o.evidence)
}

// dialFailed ends an attempt that got no connection, in the words of net.Dialer.
func (f *flight) dialFailed(call string, errno error) *ending {
	err := f.dialError(os.NewSyscallError(call, errno))
	if f.plan.handler == fact.HTTPGet {
		err = &url.Error{Op: "Get", URL: f.plan.get.url, Err: err}
	}
	return f.fail(f.evidence(), err)
}

func (f *flight) dialError(err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(f.plan.addr), Err: err}
}

func (f *flight) fail(ev *fact.Evidence, err error) *ending {
	noteError(ev, err)
	return f.end(fact.Failure, err.Error(), ev)
}

// end closes the flight with a result.
func (f *flight) end(verdict fact.Verdict, message string, ev *fact.Evidence) *ending {
	f.closeSocket()
	probed := fact.Probed{
		Probe: f.plan.kind, Verdict: verdict, Message: message,
		Took: time.Since(f.began), Evidence: ev,
	}
	return f.leave(&ending{probed: probed, done: f.done, began: f.began})
}

// leave makes the flight free for its next life.
func (f *flight) leave(end *ending) *ending {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.active, f.plan, f.done = false, nil, nil
	if cap(f.data) > maxBuffered/2 {
		f.data = nil
	}
	return end
}

// broken gives an error of the connection to net/http, which words it.
func (f *flight) broken(call string, errno error) *ending {
	return f.over(&net.OpError{
		Op: call, Net: "tcp", Source: net.TCPAddrFromAddrPort(f.local),
		Addr: net.TCPAddrFromAddrPort(f.plan.addr), Err: os.NewSyscallError(call, errno),
	})
}

// over gives an ended connection to net/http; err nil is its orderly end.
func (f *flight) over(err error) *ending {
	f.closeSocket()
	dead := deadConn{local: net.TCPAddrFromAddrPort(f.local), remote: net.TCPAddrFromAddrPort(f.plan.addr)}
	if err == nil {
		return f.fallback(dead, io.EOF)
	}
	return f.fallback(dead, err)
}

// handOver gives the open connection to net/http, or, with anew set, has it
// begin from the beginning.
func (f *flight) handOver(anew bool) *ending {
	if anew {
		f.closeSocket()
		return f.fallback(nil, nil)
	}
	f.poller.unwatch(f.fd)
	file := os.NewFile(uintptr(f.fd), "probe")
	f.fd = -1
	conn, err := net.FileConn(file) // a duplicate
	_ = file.Close()
	if err != nil {
		var errno syscall.Errno
		if !errors.As(err, &errno) {
			errno = unix.ECONNRESET
		}
		return f.broken("read", errno)
	}
	return f.fallback(conn, nil)
}

func (f *flight) fallback(conn net.Conn, err error) *ending {
	over := &fallback{plan: f.plan, done: f.done, began: f.began, evidence: f.evidence()}
	if conn != nil {
		over.conn = newResumed(conn, f.sent, bytes.Clone(f.data), err)
	}
	return f.leave(&ending{over: over})
}

func (f *flight) evidence() *fact.Evidence {
	ev := f.plan.newEvidence()
	if f.connected.IsZero() {
		return ev
	}
	ev.Remote = f.plan.address
	if f.local.IsValid() {
		ev.Local = f.local.String()
	}
	ev.Connect = f.connected.Sub(f.began)
	if !f.wrote.IsZero() {
		ev.Sent = f.wrote.Sub(f.connected)
	}
	if !f.firstByte.IsZero() {
		ev.FirstByte = f.firstByte.Sub(f.wrote)
	}
	return ev
}

func (f *flight) closeSocket() {
	if f.fd >= 0 {
		closeFD(f.fd) // it leaves the epoll set by that
		f.fd = -1
	}
}

func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
	}
	return netip.AddrPort{}
}
