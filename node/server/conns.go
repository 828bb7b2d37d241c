package server

import (
	"net"
	"sync"
)

// listener remembers the connections that are open. The HTTP server ends those
// that it has; a connection that a handler took over (exec, attach,
// port-forward) is nobody's, and this ends it.
type listener struct {
	net.Listener
	mu   sync.Mutex
	open map[*conn]struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, from: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*conn]struct{}{}
	}
	l.open[c] = struct{}{}
	return c, nil
}

// conns lists the open connections.
func (l *listener) conns() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*conn, 0, len(l.open))
	for c := range l.open {
		all = append(all, c)
	}
	return all
}

func (l *listener) closeConns() {
	for _, c := range l.conns() {
		_ = c.Close()
	}
}

// conn is forgotten when it is closed.
type conn struct {
	net.Conn
	from *listener
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}
