package front

import (
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// wire is a connection from an address, and listens for others.
type wire struct {
	net.Conn
	from   string
	closed bool
}

func (w *wire) RemoteAddr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", w.from)
	return a
}
func (w *wire) Close() error { w.closed = true; return nil }

// wires is a listener to which some come.
type wires struct {
	net.Listener
	come []*wire
}

func (w *wires) Accept() (net.Conn, error) {
	if len(w.come) == 0 {
		return nil, net.ErrClosed
	}
	c := w.come[0]
	w.come = w.come[1:]
	return c, nil
}

// knock has so many come from an address, and gives those that were let in.
func knock(g *Guard, from string, n, first int) (in []net.Conn) {
	l := g.Listener.(*wires)
	for i := range n {
		l.come = append(l.come, &wire{from: net.JoinHostPort(from, strconv.Itoa(first+i))})
	}
	for {
		c, err := g.Accept()
		if err != nil {
			return in
		}
		in = append(in, c)
	}
}

// Whoever does not say who it is has some connections and no more, for a while, and leaves the
// others theirs.
func TestStrangersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuard(&wires{})
		greedy := knock(g, "10.0.0.1", 3*mostStrangers, 20000)
		if len(greedy) != mostStrangers || len(knock(g, "10.0.0.2", 1, 20000)) != 1 {
			t.Fatalf("%d of one address", len(greedy))
		}
		if n := len(knock(g, "2001:db8::1", 40, 20000)) + len(knock(g, "2001:db8::2", 40, 20000)); n != mostStrangers {
			t.Errorf("%d of one network", n)
		}
		g.Known(greedy[0].RemoteAddr().String())
		g.Known(greedy[0].RemoteAddr().String())
		_ = greedy[1].Close()
		if n := len(knock(g, "10.0.0.1", 5, 30000)); n != 2 {
			t.Errorf("%d came in place of one that is known and one that went", n)
		}
		time.Sleep(strangerFor + time.Second)
		synctest.Wait()
		if greedy[0].(*stranger).Conn.(*wire).closed || !greedy[2].(*stranger).Conn.(*wire).closed {
			t.Error("who is known was shut out, or who is not may stay")
		}
		g.mu.Lock()
		if len(g.of) != 0 || len(g.strangers) != 0 {
			t.Errorf("%v are counted still", g.of)
		}
		g.mu.Unlock()
		all := 0
		for i := range 2 * mostStrangersInAll / mostStrangers {
			all += len(knock(g, net.IPv4(10, 1, 0, byte(i)).String(), mostStrangers, 20000))
		}
		if all != mostStrangersInAll {
			t.Errorf("%d of all addresses", all)
		}
		time.Sleep(strangerFor + time.Second)
	})
}
