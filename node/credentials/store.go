package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/util/certificate"
)

// store keeps a certificate and its key in one PEM file, so that a reader never
// finds one without the other.
type store struct {
	file string
	// subject is the common name of a certificate from the cluster. Another one in
	// the file is none: it is asked for again.
	subject string
	log     *slog.Logger
}

// Current is the certificate from the cluster, or a *certificate.NoCertKeyError.
func (s *store) Current() (*tls.Certificate, error) {
	pair, err := read(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		none := certificate.NoCertKeyError("there is no certificate yet")
		return nil, &none
	case err != nil:
		// A damaged file must not keep the node from asking for another certificate.
		s.log.Warn("a certificate cannot be read and is asked for anew", "error", err)
		none := certificate.NoCertKeyError(err.Error())
		return nil, &none
	case pair.Leaf.Subject.CommonName != s.subject:
		none := certificate.NoCertKeyError(fmt.Sprintf("%s holds a certificate of %s", s.file, pair.Leaf.Subject.CommonName))
		return nil, &none
	}
	return pair, nil
}

// Update replaces the file, atomically and with mode 0600.
func (s *store) Update(cert, key []byte) (*tls.Certificate, error) {
	pair, err := parse(cert, key)
	if err != nil {
		return nil, err
	}
	if err := replace(s.file, slices.Concat(cert, []byte("\n"), key)); err != nil {
		return nil, fmt.Errorf("keeping a certificate: %w", err)
	}
	s.log.Info("a certificate was stored", "file", s.file, "of", pair.Leaf.Subject.CommonName, "by", pair.Leaf.Issuer.CommonName, "until", pair.Leaf.NotAfter)
	return pair, nil
}

// read reads a file that Update wrote.
func read(file string) (*tls.Certificate, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	pair, err := parse(raw, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return pair, nil
}

// parse reads a pair with its Leaf, which client-go looks at.
func parse(cert, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate and its key: %w", err)
	}
	if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	return &pair, nil
}

// replace writes a file beside the old one and puts it in its place.
func replace(file string, content []byte) (err error) {
	next, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".new-") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(next.Name()))
		}
	}()
	_, err = next.Write(content)
	if err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), file)
}
