package sidecar

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 0x16

// firstByteLimit is how long a connection may be silent before it is closed.
const firstByteLimit = 10 * time.Second

// sorter is a listener for the HTTP connections among those of another one. TLS
// connections it passes on to a port of the application, byte by byte: osm-edge's
// HTTPS probes keep their path, and only change their port.
type sorter struct {
	net.Listener
	port string // of the application
	log  *slog.Logger

	http   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func sortTLS(l net.Listener, port string, log *slog.Logger) *sorter {
	s := &sorter{Listener: l, port: port, log: log, http: make(chan net.Conn), closed: make(chan struct{})}
	go s.run()
	return s
}

// Accept gives the next connection that speaks HTTP.
func (s *sorter) Accept() (net.Conn, error) {
	select {
	case conn := <-s.http:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *sorter) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Listener.Close()
}

func (s *sorter) run() {
	defer func() { _ = s.Close() }()
	for {
		conn, err := s.Listener.Accept()
		if err != nil {
			return
		}
		go s.sort(conn)
	}
}

func (s *sorter) sort(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(firstByteLimit))
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	whole := &unread{Conn: conn, first: first}
	if first[0] != tlsHandshake {
		select {
		case s.http <- whole:
		case <-s.closed:
			_ = conn.Close()
		}
		return
	}
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		_ = conn.Close()
		return
	}
	dialer := net.Dialer{Timeout: firstByteLimit}
	application, err := dialer.DialContext(context.Background(), "tcp", net.JoinHostPort(host, s.port))
	if err != nil {
		s.log.Info("an HTTPS probe cannot be passed on", "error", err)
		_ = conn.Close()
		return
	}
	splice(whole, application)
}

// unread gives back a byte that was read to see what a connection speaks.
type unread struct {
	net.Conn
	first []byte
}

func (u *unread) Read(b []byte) (int, error) {
	if len(u.first) > 0 {
		n := copy(b, u.first)
		u.first = u.first[n:]
		return n, nil
	}
	return u.Conn.Read(b)
}

// splice copies both ways until both ends are done, and closes them.
func splice(a, b net.Conn) {
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		wg.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			closeWrite(pair[0])
		})
	}
	wg.Wait()
	_, _ = a.Close(), b.Close()
}

// closeWrite tells the other side that no more will come.
func closeWrite(c net.Conn) {
	if u, ok := c.(*unread); ok {
		c = u.Conn
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}
