package sidecar

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/mesh/identity"
)

const (
	handshakeLimit = 10 * time.Second
	dialLimit      = 30 * time.Second
)

// proxy carries the pod's connections. What comes in has to be of the mesh; what
// goes out to members of it becomes so, and all else passes through.
type proxy struct {
	member *identity.Member
	log    *slog.Logger
	// carry connects a redirected connection with where it wanted to go.
	carry func(ctx context.Context, from net.Conn, to netip.AddrPort) error
}

func inbound(m *identity.Member, log *slog.Logger) *proxy {
	p := &proxy{member: m, log: log}
	p.carry = p.carryIn
	return p
}

func outbound(m *identity.Member, log *slog.Logger) *proxy {
	p := &proxy{member: m, log: log}
	p.carry = p.carryOut
	return p
}

// serve takes connections until ctx ends, and waits for those it took to be closed.
func (p *proxy) serve(ctx context.Context, l net.Listener) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
		wg.Go(func() {
			defer func() { _ = conn.Close() }()
			ending := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer ending()
			to, err := originalDestination(conn)
			if err == nil && to.String() == conn.LocalAddr().String() {
				err = errors.New("it was made to the sidecar itself, and not redirected")
			}
			if err == nil {
				err = p.carry(ctx, conn, to)
			}
			if err != nil {
				p.log.Info("a connection was not carried", "from", conn.RemoteAddr().String(), "to", to.String(), "error", err)
			}
		})
	}
}

// carryIn demands mutual TLS, and speaks with the application as the other end
// did before its sidecar encrypted it.
func (p *proxy) carryIn(ctx context.Context, from net.Conn, to netip.AddrPort) error {
	secure := tls.Server(from, p.member.ServerTLS())
	if err := handshake(ctx, secure); err != nil {
		return fmt.Errorf("it is not of the mesh: %w", err)
	}
	application, err := dial(ctx, to)
	if err != nil {
		return err
	}
	splice(secure, application)
	return nil
}

func (p *proxy) carryOut(ctx context.Context, from net.Conn, to netip.AddrPort) error {
	target, err := dial(ctx, to)
	if err != nil {
		return err
	}
	if !p.member.IsPeer(to.Addr().String()) {
		splice(from, target)
		return nil
	}
	config, err := p.member.ClientTLS()
	if err != nil {
		_ = target.Close()
		return err
	}
	secure := tls.Client(target, config)
	if err := handshake(ctx, secure); err != nil {
		_ = target.Close()
		return fmt.Errorf("the other end is not of the mesh: %w", err)
	}
	splice(from, secure)
	return nil
}

func handshake(ctx context.Context, c *tls.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	return c.HandshakeContext(ctx)
}

func dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialLimit}
	return dialer.DialContext(ctx, "tcp", to.String())
}

// originalDestination asks the kernel where a redirected connection was going.
func originalDestination(conn net.Conn) (netip.AddrPort, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%T is not a TCP connection", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	var to netip.AddrPort
	var lookErr error
	is4 := tcp.LocalAddr().(*net.TCPAddr).IP.To4() != nil
	err = raw.Control(func(fd uintptr) {
		if is4 {
			to, lookErr = originalDestination4(int(fd))
		} else {
			to, lookErr = originalDestination6(int(fd))
		}
	})
	return to, errors.Join(err, lookErr)
}

// The kernel writes a sockaddr; x/sys reads it with the nearest structure of the
// same size that it has a call for.
func originalDestination4(fd int) (netip.AddrPort, error) {
	mreq, err := unix.GetsockoptIPv6Mreq(fd, unix.IPPROTO_IP, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, os.NewSyscallError("getsockopt SO_ORIGINAL_DST", err)
	}
	b := mreq.Multiaddr // sockaddr_in: family, port, address
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), uint16(b[2])<<8|uint16(b[3])), nil
}

func originalDestination6(fd int) (netip.AddrPort, error) {
	info, err := unix.GetsockoptIPv6MTUInfo(fd, unix.IPPROTO_IPV6, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, os.NewSyscallError("getsockopt IP6T_SO_ORIGINAL_DST", err)
	}
	port := info.Addr.Port // as the network has it
	return netip.AddrPortFrom(netip.AddrFrom16(info.Addr.Addr), port<<8|port>>8), nil
}
