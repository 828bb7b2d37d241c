package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const frontName = "whylet-fronts.x.svc"

// files writes a certificate with its key, and gives what is needed to serve by it.
func files(t *testing.T, dir string, template x509.Certificate) (*serving, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore = big.NewInt(1), time.Now().Add(-2*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s := &serving{cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key"), names: []string{frontName}, lifetime: time.Hour}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, text := range map[string][]byte{s.cert: cert, s.key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return s, pool
}

func authority(ends time.Time) x509.Certificate {
	return x509.Certificate{
		NotAfter: ends, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomains: []string{frontName}, PermittedDNSDomainsCritical: true,
	}
}

// listen serves TLS until the test ends.
func listen(t *testing.T, s *serving) net.Addr {
	t.Helper()
	config, err := s.config()
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).HandshakeContext(t.Context())
			_ = c.Close()
		}
	}()
	return l.Addr()
}

// shown is the certificate that somebody sees who knows the authority.
func shown(t *testing.T, at net.Addr, pool *x509.CertPool) *x509.Certificate {
	t.Helper()
	c, err := tls.Dial("tcp", at.String(), &tls.Config{RootCAs: pool, ServerName: frontName, MinVersion: tls.VersionTLS13})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0]
}

// Two replicas with one authority issue certificates of their own, and renew them by
// themselves long before they end: who knows the authority is never left out.
func TestCertificatesRenewThemselves(t *testing.T) {
	dir := t.TempDir()
	one, pool := files(t, dir, authority(time.Now().Add(time.Hour)))
	one.lifetime = 3 * time.Second
	two := &serving{cert: one.cert, key: one.key, names: one.names, lifetime: one.lifetime}
	first, second := listen(t, one), listen(t, two)
	began := time.Now()
	seen := [2]*x509.Certificate{shown(t, first, pool), shown(t, second, pool)}
	if bytes.Equal(seen[0].Raw, seen[1].Raw) {
		t.Error("the replicas share a certificate, and so a key")
	}
	for renewed := 0; renewed < 4; {
		for i, at := range []net.Addr{first, second} {
			if now := shown(t, at, pool); !bytes.Equal(now.Raw, seen[i].Raw) {
				if left := time.Until(seen[i].NotAfter); left <= 0 {
					t.Errorf("replica %d was renewed %v after its end", i, -left)
				}
				seen[i] = now
				renewed++
			}
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%d renewals in a minute", renewed)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if left := time.Until(one.end()); left < 50*time.Minute || left > time.Hour {
		t.Errorf("somebody has to do something in %v", left)
	}
}

// What is issued ends no later than its authority, and one whose authority is over is not.
func TestAnAuthorityThatEnds(t *testing.T) {
	ends := time.Now().Add(time.Minute).Truncate(time.Second)
	s, pool := files(t, t.TempDir(), authority(ends))
	if got := shown(t, listen(t, s), pool); !got.NotAfter.Equal(ends.UTC()) || got.IsCA {
		t.Errorf("it is good until %v, its authority until %v", got.NotAfter, ends)
	}
	over, _ := files(t, t.TempDir(), authority(time.Now().Add(-time.Minute)))
	if _, err := over.config(); err == nil {
		t.Error("an authority that is over vouches for a front")
	}
}

// A certificate that somebody else issues is served as it is, and read again.
func TestACertificateOfSomebodyElse(t *testing.T) {
	dir := t.TempDir()
	own := x509.Certificate{NotAfter: time.Now().Add(time.Hour), DNSNames: []string{frontName}}
	s, pool := files(t, dir, own)
	at := listen(t, s)
	if got := shown(t, at, pool); !got.NotAfter.Equal(s.end()) {
		t.Errorf("%v is shown, and %v told", got.NotAfter, s.end())
	}
	_, pool = files(t, dir, own)
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(s.cert, later, later); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.looked = time.Time{}
	s.mu.Unlock()
	shown(t, at, pool)
	if err := os.Remove(s.key); err != nil {
		t.Fatal(err)
	}
	shown(t, at, pool) // the one that there is
}
