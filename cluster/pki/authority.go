package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// LeafLife is how long an issued certificate is valid. It is renewed when less
// than RenewBefore is left.
const (
	LeafLife    = 365 * 24 * time.Hour
	RenewBefore = LeafLife / 4
)

// backdate is how far in the past a certificate starts to be valid, so that a
// clock that is set back a little after the first start does not void them all.
const backdate = time.Hour

// Authority signs certificates. It is safe for concurrent use.
type Authority struct {
	// CertFile is the authority's certificate, PEM, readable by all.
	CertFile string
	// KeyFile is its private key, PEM, mode 0600.
	KeyFile string

	cert *x509.Certificate
	key  crypto.Signer
}

// EnsureAuthority loads the authority NAME.crt/NAME.key from dir, or makes it. A
// key without a certificate (a first start that was killed between the two) gets
// its certificate made again: what the same key signed under the same name stays
// valid. A certificate without its key is an error, since a new authority would
// void every kubeconfig handed out.
func EnsureAuthority(dir, name, commonName string) (*Authority, error) {
	a := &Authority{
		CertFile: filepath.Join(dir, name+".crt"),
		KeyFile:  filepath.Join(dir, name+".key"),
	}
	haveCert, haveKey, err := present(a.CertFile, a.KeyFile)
	switch {
	case err != nil:
	case haveCert && haveKey:
		err = a.load()
	case haveCert:
		err = fmt.Errorf("authority %s: %s is missing; restore it from a backup, or remove %s to start with new certificates", name, a.KeyFile, dir)
	default:
		err = a.create(commonName, haveKey)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Cert returns the authority's certificate.
func (a *Authority) Cert() *x509.Certificate { return a.cert }

func (a *Authority) load() error {
	certs, err := cert.CertsFromFile(a.CertFile)
	if err != nil {
		return fmt.Errorf("read authority certificate: %w", err)
	}
	key, err := loadSigner(a.KeyFile)
	if err != nil {
		return err
	}
	a.cert, a.key = certs[0], key
	if !samePublicKey(a.cert, a.key) {
		return fmt.Errorf("authority key %s does not belong to certificate %s; restore both from one backup", a.KeyFile, a.CertFile)
	}
	return nil
}

// create makes the certificate, and before it the key unless haveKey.
func (a *Authority) create(commonName string, haveKey bool) error {
	var err error
	if haveKey {
		a.key, err = loadSigner(a.KeyFile)
	} else {
		var keyPEM []byte
		if a.key, keyPEM, err = newKey(); err == nil {
			err = writeFile(a.KeyFile, keyPEM, 0o600)
		}
	}
	if err != nil {
		return err
	}
	a.cert, err = cert.NewSelfSignedCACert(cert.Config{
		CommonName: commonName,
		NotBefore:  time.Now().Add(-backdate),
	}, a.key)
	if err != nil {
		return fmt.Errorf("create authority %s: %w", commonName, err)
	}
	certPEM, err := cert.EncodeCertificates(a.cert)
	if err != nil {
		return fmt.Errorf("encode authority %s: %w", commonName, err)
	}
	return writeFile(a.CertFile, certPEM, 0o644)
}

// sign issues a certificate for key.
func (a *Authority) sign(cfg cert.Config, key crypto.Signer, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(math.MaxInt64-1))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	notAfter := now.Add(LeafLife)
	if notAfter.After(a.cert.NotAfter) {
		notAfter = a.cert.NotAfter
	}
	template := x509.Certificate{
		SerialNumber:          serial.Add(serial, big.NewInt(1)),
		Subject:               pkix.Name{CommonName: cfg.CommonName, Organization: cfg.Organization},
		DNSNames:              cfg.AltNames.DNSNames,
		IPAddresses:           cfg.AltNames.IPs,
		NotBefore:             now.Add(-backdate).UTC(),
		NotAfter:              notAfter.UTC(),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           cfg.Usages,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate %s: %w", cfg.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

func newKey() (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make private key: %w", err)
	}
	pem, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode private key: %w", err)
	}
	return key, pem, nil
}

func loadSigner(file string) (crypto.Signer, error) {
	key, err := keyutil.PrivateKeyFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("read private key %s: %w", file, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("private key %s cannot sign (%T)", file, key)
	}
	return signer, nil
}

func samePublicKey(c *x509.Certificate, key crypto.Signer) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}

func present(certFile, keyFile string) (haveCert, haveKey bool, err error) {
	if haveCert, err = exists(certFile); err != nil {
		return false, false, err
	}
	haveKey, err = exists(keyFile)
	return haveCert, haveKey, err
}

func exists(file string) (bool, error) {
	_, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
