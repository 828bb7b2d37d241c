package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"os"
	"sync"
	"time"
)

const (
	// lookAgain is how often the certificate's file is looked at.
	lookAgain = time.Minute
	// skew is how far clocks may be apart.
	skew = time.Hour
)

// serving is a server's certificate, of files that may change while it runs. Where they are
// an authority's, it is issued here, for the names, and anew when two thirds of its lifetime
// are over: each replica has its own, and whoever knows the authority knows all of them. So a
// front needs no right at the API server to renew it, nor does anybody have to be told.
type serving struct {
	cert, key string
	names     []string
	lifetime  time.Duration

	mu     sync.Mutex
	held   *tls.Certificate
	renew  time.Time // of an issued one
	ends   time.Time // of the one in the file
	made   time.Time // of the file
	looked time.Time
}

// config is a server's. The error is that of the first reading; later ones leave the
// certificate that there is.
func (s *serving) config() (*tls.Config, error) {
	if _, err := s.get(nil); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: s.get, MinVersion: tls.VersionTLS13}, nil
}

// end is when somebody has to make the files anew.
func (s *serving) end() time.Time {
	_, _ = s.get(nil) // what is held stays
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends
}

func (s *serving) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	due := !s.renew.IsZero() && now.After(s.renew)
	if s.held != nil && !due && now.Sub(s.looked) < lookAgain {
		return s.held, nil
	}
	s.looked = now
	if err := s.read(now, due); err != nil && s.held == nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return s.held, nil
}

// read takes what the files have, if they changed or it is time to.
func (s *serving) read(now time.Time, due bool) error {
	info, err := os.Stat(s.cert)
	if err != nil || s.held != nil && !due && info.ModTime().Equal(s.made) {
		return err
	}
	pair, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return err
	}
	ends, renew := pair.Leaf.NotAfter, time.Time{}
	if pair.Leaf.IsCA && len(s.names) > 0 {
		if pair, err = issue(pair, s.names, now, s.lifetime); err != nil {
			return err
		}
		renew = now.Add(pair.Leaf.NotAfter.Sub(now) * 2 / 3)
	}
	s.held, s.renew, s.ends, s.made = &pair, renew, ends, info.ModTime()
	return nil
}

// issue makes a certificate for some names in an authority's name.
func issue(by tls.Certificate, names []string, now time.Time, lifetime time.Duration) (tls.Certificate, error) {
	var made tls.Certificate
	if !by.Leaf.NotAfter.After(now) {
		return made, errors.New("the authority is over")
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return made, err
	}
	until := now.Add(lifetime)
	if by.Leaf.NotAfter.Before(until) {
		until = by.Leaf.NotAfter
	}
	template := x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "whylet-front"}, NotBefore: now.Add(-skew), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: names,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return made, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, by.Leaf, &key.PublicKey, by.PrivateKey)
	if err != nil {
		return made, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}
