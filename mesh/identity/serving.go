package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"sync"
	"time"
)

// Serving gives the control plane's own servers certificates of the authority,
// made anew when they or the authority grow old. Safe for concurrent use.
type Serving struct {
	// Hosts are the names and addresses that clients use.
	Hosts []string
	// CA gives the current authority.
	CA func() *CA

	mu   sync.Mutex
	cert *tls.Certificate
	by   *CA
}

// GetCertificate is for tls.Config.
func (s *Serving) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ca, now := s.CA(), time.Now()
	if s.cert != nil && s.by == ca && renewAt(s.cert.Leaf).After(now) {
		return s.cert, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a serving key: %w", err)
	}
	t, err := template(now, certLife)
	if err != nil {
		return nil, err
	}
	t.Subject = pkix.Name{CommonName: "Whylet mesh"}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range s.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	cert, err := ca.sign(t, key.Public())
	if err != nil {
		return nil, err
	}
	certs, err := parseBundle(cert)
	if err != nil {
		return nil, err
	}
	s.cert = chain(certs, key)
	s.by = ca
	return s.cert, nil
}

func chain(certs []*x509.Certificate, key crypto.PrivateKey) *tls.Certificate {
	c := &tls.Certificate{PrivateKey: key, Leaf: certs[0]}
	for _, one := range certs {
		c.Certificate = append(c.Certificate, one.Raw)
	}
	return c
}
