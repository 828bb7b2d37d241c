package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"whylet.dev/whylet/fact"
)

// Hello finds out what is spoken at the port of a probe whose own protocol is not: it
// connects once for each protocol that servers are often asked for in vain, says how that
// one begins, and takes the first that is answered in kind; "" where none is. A certificate
// proves nothing to it, and nothing is asked that the probe does not ask. Each hello may
// take as long as is given.
func (p *Prober) Hello(ctx context.Context, t Target, each time.Duration) fact.Protocol {
	pl := compile(t)
	if pl.err != nil || !pl.own {
		return "" // another's port is none of ours
	}
	hellos := []hello{{fact.TLS, helloTLS}}
	switch {
	case pl.handler == fact.GRPC && pl.tls:
		hellos = []hello{{fact.HTTP2, helloHTTP2}, {fact.HTTP1, helloHTTP}}
	case pl.handler == fact.GRPC, pl.handler == fact.HTTPGet && pl.get.http2:
		hellos = append(hellos, hello{fact.HTTP1, helloHTTP})
	case pl.handler == fact.HTTPGet && pl.get.wire != nil:
		hellos = append(hellos, hello{fact.HTTP2, helloHTTP2}, hello{fact.FastCGI, helloFastCGI}, hello{fact.Proxied, func(_ context.Context, c net.Conn) bool { return helloProxied(c, pl.get.wire) }})
	default:
		return ""
	}
	for _, h := range hellos {
		if p.answers(ctx, pl.address, each, h.say) {
			return h.protocol
		}
	}
	return ""
}

// hello is how a protocol begins, and whether that is answered in kind.
type hello struct {
	protocol fact.Protocol
	say      func(context.Context, net.Conn) bool
}

func (p *Prober) answers(ctx context.Context, address string, within time.Duration, say func(context.Context, net.Conn) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }() // nothing was sent that could be lost
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	return say(ctx, conn)
}

// helloTLS is answered by a handshake, or by an alert: it may be our certificate that is
// missing, or our version that is too new.
func helloTLS(ctx context.Context, conn net.Conn) bool {
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}).HandshakeContext(ctx)
	var remote *net.OpError
	return err == nil || errors.As(err, &remote) && remote.Op == "remote error"
}

// helloHTTP2 is the preface of a client that knows beforehand that HTTP/2 is spoken, as
// gRPC's do, and an empty frame SETTINGS; a server answers with its own (RFC 9113, 3.4).
func helloHTTP2(_ context.Context, conn net.Conn) bool {
	const settings = 4
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
		return false
	}
	var head [9]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return false
	}
	length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	return head[3] == settings && binary.BigEndian.Uint32(head[5:]) == 0 && length%6 == 0 && length <= 1<<14
}

// helloFastCGI asks for the values that each application of FastCGI knows, which it answers by itself
// (FastCGI Specification 1.0, 4.1: FCGI_GET_VALUES).
func helloFastCGI(_ context.Context, conn net.Conn) bool {
	const version, getValues, result = 1, 9, 10
	const name = "FCGI_MAX_CONNS"
	body := append([]byte{byte(len(name)), 0}, name...)
	if _, err := conn.Write(append([]byte{version, getValues, 0, 0, 0, byte(len(body)), 0, 0}, body...)); err != nil {
		return false
	}
	var head [8]byte
	_, err := io.ReadFull(conn, head[:])
	return err == nil && head[0] == version && head[1] == result && head[2] == 0 && head[3] == 0
}

// helloProxied is the request after the line that a load balancer puts before it (the
// PROXY protocol, version 1), of our own addresses.
func helloProxied(conn net.Conn, request []byte) bool {
	from, to := addrPortOf(conn.LocalAddr()), addrPortOf(conn.RemoteAddr())
	family := "TCP4"
	if from.Addr().Is6() {
		family = "TCP6"
	}
	line := fmt.Sprintf("PROXY %s %s %s %d %d\r\n", family, from.Addr(), to.Addr(), from.Port(), to.Port())
	if _, err := conn.Write(append([]byte(line), request...)); err != nil {
		return false
	}
	return answersHTTP(conn)
}

// helloHTTP is the plainest of requests.
func helloHTTP(_ context.Context, conn net.Conn) bool {
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: " + conn.RemoteAddr().String() + "\r\nUser-Agent: " + userAgent + "\r\nConnection: close\r\n\r\n")); err != nil {
		return false
	}
	return answersHTTP(conn)
}

// answersHTTP reads the beginning of a status line. 400 is what servers answer whatever
// they do not understand with.
func answersHTTP(conn net.Conn) bool {
	var line [len("HTTP/1.1 200")]byte
	if _, err := io.ReadFull(conn, line[:]); err != nil {
		return false
	}
	return bytes.HasPrefix(line[:], []byte("HTTP/1.")) && !bytes.HasSuffix(line[:], []byte(" 400"))
}

func addrPortOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		at := t.AddrPort()
		return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
	return netip.AddrPort{}
}
