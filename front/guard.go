package front

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// mostStrangers bounds the connections of one address that have not said who they are,
	// mostStrangersInAll those of all addresses.
	mostStrangers, mostStrangersInAll = 64, 1024
	// strangerFor is how long a connection may stay without saying who it is.
	strangerFor = 30 * time.Second
)

// Guard is a listener that bounds the connections of which nobody knows yet who they are: by
// address, so that one pod cannot take the places of others, and in time. A server calls Known
// once it knows who is there.
type Guard struct {
	net.Listener

	mu        sync.Mutex
	strangers map[string]*stranger // by their address and port
	of        map[netip.Addr]int
}

// stranger is a connection before it is known.
type stranger struct {
	net.Conn
	guard *Guard
	key   string
	from  netip.Addr
	late  *time.Timer
}

// NewGuard makes a Guard of a listener.
func NewGuard(l net.Listener) *Guard {
	return &Guard{Listener: l, strangers: map[string]*stranger{}, of: map[netip.Addr]int{}}
}

// Accept gives the next connection; those beyond a bound are closed.
func (g *Guard) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if s := g.take(c); s != nil {
			return s, nil
		}
		_ = c.Close()
	}
}

// take counts a connection; nil: it is one too many.
func (g *Guard) take(c net.Conn) *stranger {
	s := &stranger{Conn: c, guard: g, key: c.RemoteAddr().String(), from: network(c.RemoteAddr())}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of[s.from] >= mostStrangers || len(g.strangers) >= mostStrangersInAll {
		return nil
	}
	g.of[s.from]++
	g.strangers[s.key] = s
	s.late = time.AfterFunc(strangerFor, func() {
		if g.forget(s) {
			_ = s.Conn.Close()
		}
	})
	return s
}

// Known says that it is known who is at the other end of a connection, by its address and port.
func (g *Guard) Known(remote string) {
	g.mu.Lock()
	s := g.strangers[remote]
	g.mu.Unlock()
	if s != nil {
		g.forget(s)
	}
}

// forget stops counting a connection; false: it was not counted any more.
func (g *Guard) forget(s *stranger) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.strangers[s.key] != s {
		return false
	}
	s.late.Stop()
	delete(g.strangers, s.key)
	if g.of[s.from]--; g.of[s.from] == 0 {
		delete(g.of, s.from)
	}
	return true
}

// Close closes the connection.
func (s *stranger) Close() error {
	s.guard.forget(s)
	return s.Conn.Close()
}

// network is the address that a connection is counted for; of IPv6 its /64, of which one machine
// may have any address.
func network(a net.Addr) netip.Addr {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	ip := at.Addr().Unmap()
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return ip
}
