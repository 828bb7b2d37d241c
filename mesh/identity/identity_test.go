package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func newCA(t *testing.T, before *CA, now time.Time) *CA {
	t.Helper()
	ca, err := NewCA(before, now)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// plane starts a control plane that knows the tokens "ns/account".
func plane(t *testing.T, ca func() *CA) string {
	t.Helper()
	s := &Server{
		CA: ca, Log: slog.New(slog.DiscardHandler),
		Members: func() []string { return []string{"10.0.0.1"} },
		Authenticate: func(_ context.Context, token string) (string, string, error) {
			namespace, account, ok := strings.Cut(token, "/")
			if !ok {
				return "", "", fmt.Errorf("%w: %q", ErrUnauthenticated, token)
			}
			return namespace, account, nil
		},
	}
	mux := http.NewServeMux()
	s.Register(mux)
	serving := &Serving{Hosts: []string{"127.0.0.1", "plane.example"}, CA: ca}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go func() { _ = server.Serve(tls.NewListener(l, &tls.Config{GetCertificate: serving.GetCertificate})) }()
	t.Cleanup(func() { _ = server.Close() })
	return "https://" + l.Addr().String()
}

func member(t *testing.T, url, token string, roots []byte) *Member {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return NewMember(url, file, roots, slog.New(slog.DiscardHandler))
}

func TestMembersKnowEachOther(t *testing.T) {
	ca := newCA(t, nil, time.Now())
	url := plane(t, func() *CA { return ca })
	a, b := member(t, url, "ns/a", ca.Bundle()), member(t, url, "ns/b", ca.Bundle())
	for _, m := range []*Member{a, b} {
		if err := m.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !a.Ready() || !a.IsPeer("10.0.0.1") || a.IsPeer("10.0.0.2") {
		t.Error("the member does not know what it was told")
	}
	id, err := handshake(t, a, b)
	if err != nil || id != "spiffe://mesh.whylet.dev/ns/ns/sa/b" {
		t.Errorf("a sees %q, %v", id, err)
	}
	if _, err := member(t, url, "nobody", ca.Bundle()).current(), member(t, url, "nobody", ca.Bundle()).refresh(t.Context()); err == nil {
		t.Error("a bad token got a certificate")
	}
}

// handshake connects client and server, and gives whom the server sees.
func handshake(t *testing.T, server, client *Member) (string, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	type seen struct {
		id  string
		err error
	}
	result := make(chan seen, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			result <- seen{err: err}
			return
		}
		defer func() { _ = conn.Close() }()
		secure := tls.Server(conn, server.ServerTLS())
		if err := secure.Handshake(); err != nil {
			result <- seen{err: err}
			return
		}
		id, err := PeerID(secure.ConnectionState())
		result <- seen{id, err}
	}()
	config, err := client.ClientTLS()
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	secure := tls.Client(conn, config)
	if err := secure.Handshake(); err != nil {
		return "", err
	}
	_, _ = io.ReadAll(secure)
	s := <-result
	return s.id, s.err
}

func TestStrangersAreRefused(t *testing.T) {
	ours, theirs := newCA(t, nil, time.Now()), newCA(t, nil, time.Now())
	a := member(t, plane(t, func() *CA { return ours }), "ns/a", ours.Bundle())
	b := member(t, plane(t, func() *CA { return theirs }), "ns/b", theirs.Bundle())
	for _, m := range []*Member{a, b} {
		if err := m.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if id, err := handshake(t, a, b); err == nil {
		t.Errorf("a member of another mesh is let in as %s", id)
	}
	if err := member(t, plane(t, func() *CA { return theirs }), "ns/a", ours.Bundle()).refresh(t.Context()); err == nil {
		t.Error("a stranger's control plane is believed")
	}
	if _, err := member(t, "https://127.0.0.1:1", "ns/a", nil).ClientTLS(); err == nil {
		t.Error("a member without a certificate shows one")
	}
}

// TestRotation: members of the old and of the new authority go on together.
func TestRotation(t *testing.T) {
	now := time.Now()
	old := newCA(t, nil, now.Add(-caLife*3/4))
	if !old.Due(now) {
		t.Fatal("the old authority is not due")
	}
	current := old
	url := plane(t, func() *CA { return current })
	a, b := member(t, url, "ns/a", old.Bundle()), member(t, url, "ns/b", old.Bundle())
	if err := a.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	current = newCA(t, old, now)
	if current.Due(now) {
		t.Error("the new authority is due at once")
	}
	key, err := current.Key()
	if err != nil {
		t.Fatal(err)
	}
	if current, err = ParseCA(current.Bundle(), key, current.Cross()); err != nil {
		t.Fatal(err)
	}
	b.roots = current.Bundle() // as a new pod has it; a knows the old one only
	if err := b.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]*Member{{a, b}, {b, a}} {
		if _, err := handshake(t, pair[0], pair[1]); err != nil {
			t.Errorf("members of two authorities: %v", err)
		}
	}
	if err := a.renew(t.Context()); err != nil {
		t.Errorf("a cannot renew with the new authority: %v", err)
	}
}

func TestParseCARefusesNonsense(t *testing.T) {
	a, b := newCA(t, nil, time.Now()), newCA(t, nil, time.Now())
	key, err := b.Key()
	if err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][2][]byte{
		"empty": {nil, nil}, "no key": {a.Bundle(), nil}, "another's key": {a.Bundle(), key}, "no bundle": {key, key},
	} {
		if _, err := ParseCA(parts[0], parts[1], nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSignedFor(t *testing.T) {
	ca := newCA(t, nil, time.Now())
	m := member(t, plane(t, func() *CA { return ca }), "ns/a", ca.Bundle())
	if err := m.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	leaf := m.current().Leaf
	if life := time.Until(leaf.NotAfter); life > certLife || life < certLife-time.Minute {
		t.Errorf("the certificate is good for %v", life)
	}
	if leaf.IsCA || leaf.KeyUsage&x509.KeyUsageCertSign != 0 {
		t.Error("a member can sign")
	}
}
