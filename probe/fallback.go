package probe

import (
	"io"
	"net"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
)

// fallback is an attempt that the poller began and net/http shall finish: the
// connection, and what went over it so far.
type fallback struct {
	plan     *plan
	done     doneFunc
	began    time.Time
	evidence *fact.Evidence
	// bodyLate says that the timeout passed while the body was read: to kubelet
	// that try erred, and counts as made.
	bodyLate bool

	mu   sync.Mutex
	conn net.Conn // nil when net/http has it, or shall dial anew
}

type fallbackKey struct{}

// take hands the connection over, once.
func (f *fallback) take() net.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	conn := f.conn
	f.conn = nil
	return conn
}

// close ends the connection if nobody took it.
func (f *fallback) close() {
	if f == nil {
		return
	}
	if conn := f.take(); conn != nil {
		_ = conn.Close()
	}
}

// resumed is a connection on which the request, or a part of it, was sent
// already, and a part of the answer was read. The answer is held back until
// net/http has "sent" the request, since it takes an earlier one for unsolicited.
type resumed struct {
	net.Conn
	sent int    // bytes of the request that went out
	read []byte // bytes of the answer that came in
	err  error  // what came after them, if the connection is over

	asked   chan struct{} // closed with the first write, or with the connection
	askOnce sync.Once
}

func newResumed(conn net.Conn, sent int, read []byte, err error) *resumed {
	return &resumed{Conn: conn, sent: sent, read: read, err: err, asked: make(chan struct{})}
}

func (r *resumed) ask() { r.askOnce.Do(func() { close(r.asked) }) }

func (r *resumed) Write(b []byte) (int, error) {
	defer r.ask()
	skipped := min(r.sent, len(b))
	r.sent -= skipped
	if skipped == len(b) {
		return len(b), nil
	}
	if r.err != nil {
		return skipped, r.err
	}
	n, err := r.Conn.Write(b[skipped:])
	return skipped + n, err
}

func (r *resumed) Read(b []byte) (int, error) {
	<-r.asked
	if len(r.read) > 0 {
		n := copy(b, r.read)
		r.read = r.read[n:]
		return n, nil
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.Conn.Read(b)
}

func (r *resumed) Close() error {
	r.ask()
	return r.Conn.Close()
}

// deadConn is a connection that is over; what is left of it are its addresses.
type deadConn struct {
	local, remote net.Addr
}

func (deadConn) Read([]byte) (int, error)         { return 0, io.EOF }
func (deadConn) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (deadConn) Close() error                     { return nil }
func (d deadConn) LocalAddr() net.Addr            { return d.local }
func (d deadConn) RemoteAddr() net.Addr           { return d.remote }
func (deadConn) SetDeadline(time.Time) error      { return nil }
func (deadConn) SetReadDeadline(time.Time) error  { return nil }
func (deadConn) SetWriteDeadline(time.Time) error { return nil }
