package pki

import (
	"crypto"
	"crypto/x509"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
)

// Pair names the files of a certificate and its private key.
type Pair struct {
	CertFile, KeyFile string
}

// spec says what one certificate must contain.
type spec struct {
	name      string
	authority *Authority
	config    cert.Config
}

// ensure returns the pair that s describes, making it when it is missing, near
// its end, or no longer what s says. It reports whether it made a new one.
func ensure(dir string, s spec, now time.Time) (Pair, bool, error) {
	p := Pair{
		CertFile: filepath.Join(dir, s.name+".crt"),
		KeyFile:  filepath.Join(dir, s.name+".key"),
	}
	if p.fits(s, now) {
		return p, false, nil
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return p, false, err
	}
	signed, err := s.authority.sign(s.config, key, now)
	if err != nil {
		return p, false, err
	}
	certPEM, err := cert.EncodeCertificates(signed)
	if err != nil {
		return p, false, fmt.Errorf("encode certificate %s: %w", s.name, err)
	}
	return p, true, writePair(p.CertFile, certPEM, p.KeyFile, keyPEM)
}

// fits reports whether the pair on disk can be used as it is. Whatever cannot be
// read or parsed does not fit: it is ours to replace.
func (p Pair) fits(s spec, now time.Time) bool {
	certs, err := cert.CertsFromFile(p.CertFile)
	if err != nil {
		return false
	}
	key, err := loadSigner(p.KeyFile)
	if err != nil {
		return false
	}
	c := certs[0]
	return samePublicKey(c, key) &&
		now.After(c.NotBefore) && now.Before(c.NotAfter.Add(-RenewBefore)) &&
		signedBy(c, s.authority) &&
		sameSubject(c, s.config) &&
		sameHosts(c, s.config.AltNames)
}

func signedBy(c *x509.Certificate, a *Authority) bool {
	return c.CheckSignatureFrom(a.cert) == nil
}

func sameSubject(c *x509.Certificate, cfg cert.Config) bool {
	return c.Subject.CommonName == cfg.CommonName && sameSet(c.Subject.Organization, cfg.Organization)
}

func sameHosts(c *x509.Certificate, want cert.AltNames) bool {
	return sameSet(c.DNSNames, want.DNSNames) && sameSet(ipStrings(c.IPAddresses), ipStrings(want.IPs))
}

func ipStrings(ips []net.IP) []string {
	out := make([]string, len(ips))
	for i, ip := range ips {
		out[i] = ip.String()
	}
	return out
}

// sameSet reports whether a and b hold the same strings in any order.
func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// ensureSigningKey keeps the key that signs service-account tokens: a private
// key and, beside it, the public one that verifies them. It is never renewed:
// that would void every token in every running pod.
func ensureSigningKey(dir string) (private, public string, err error) {
	private, public = filepath.Join(dir, "sa.key"), filepath.Join(dir, "sa.pub")
	var key crypto.Signer
	have, err := exists(private)
	if err != nil {
		return "", "", err
	}
	if have {
		key, err = loadSigner(private)
	} else {
		var pem []byte
		if key, pem, err = newKey(); err == nil {
			err = writeFile(private, pem, 0o600)
		}
	}
	if err != nil {
		return "", "", err
	}
	pem, err := publicPEM(key)
	if err != nil {
		return "", "", err
	}
	return private, public, writeFile(public, pem, 0o644)
}
