// Package identity is the mesh's certificate authority, and what its members do
// with it. A member is known by its service account, in the manner of SPIFFE:
//
//	spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/SERVICE-ACCOUNT
//
// The authority's key is kept by the control plane. Members' keys never leave
// their pods: they send a signing request with a token of their service account,
// and get a certificate for an hour.
//
// Files:
//
//	ca.go     the authority: made, rotated, signing
//	serving.go certificates of the control plane's own servers
//	member.go a member's certificate, renewed in time, and its TLS configurations
//	server.go the endpoint where members have their certificates signed
package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// TrustDomain is the mesh's name in its members' identities.
const TrustDomain = "mesh.whylet.dev"

const (
	caLife = 365 * 24 * time.Hour
	// certLife is how long members' and servers' certificates are good. They are
	// renewed after two thirds of it.
	certLife = time.Hour
	// skew allows for clocks that are behind the authority's.
	skew = 5 * time.Minute
)

// ID gives the identity of a service account.
func ID(namespace, serviceAccount string) *url.URL {
	return &url.URL{Scheme: "spiffe", Host: TrustDomain, Path: "/ns/" + namespace + "/sa/" + serviceAccount}
}

// CA is an authority at one time of its life: the key that signs, and the
// certificates that are believed, which include those that signed before it.
// It is immutable.
type CA struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	bundle []*x509.Certificate
	// cross is the same authority, vouched for by the one before it, for those who
	// know only that one. It goes along with whatever is signed. May be nil.
	cross *x509.Certificate
}

// NewCA makes an authority. If there was one before, members believe both, and
// those who do not know the new one yet believe it on the old one's word.
func NewCA(before *CA, now time.Time) (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the mesh's CA key: %w", err)
	}
	template, err := template(now, caLife)
	if err != nil {
		return nil, err
	}
	template.Subject = pkix.Name{CommonName: "Whylet mesh CA"}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLen = true, true, 1
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the mesh's CA certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make the mesh's CA certificate: %w", err)
	}
	ca := &CA{cert: cert, key: key, bundle: []*x509.Certificate{cert}}
	if before != nil {
		if ca.cross, err = before.vouch(template, key.Public()); err != nil {
			return nil, err
		}
		for _, old := range before.bundle {
			if old.NotAfter.After(now) {
				ca.bundle = append(ca.bundle, old)
			}
		}
	}
	return ca, nil
}

// vouch signs the authority that comes after this one.
func (ca *CA) vouch(next *x509.Certificate, public crypto.PublicKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, next, ca.cert, public, ca.key)
	if err != nil {
		return nil, fmt.Errorf("sign the next CA certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// Due says whether the authority should be followed by a new one: after two
// thirds of its life, so that everybody has the new one when it ends.
func (ca *CA) Due(now time.Time) bool { return renewAt(ca.cert).Before(now) }

func renewAt(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) * 2 / 3)
}

// Bundle gives the certificates that are believed, as PEM.
func (ca *CA) Bundle() []byte {
	var out []byte
	for _, c := range ca.bundle {
		out = append(out, encode("CERTIFICATE", c.Raw)...)
	}
	return out
}

// Cross gives the certificate by which the authority before vouches for this
// one, as PEM; nil for the first.
func (ca *CA) Cross() []byte {
	if ca.cross == nil {
		return nil
	}
	return encode("CERTIFICATE", ca.cross.Raw)
}

// Key gives the signing key as PEM, to be kept secret.
func (ca *CA) Key() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(ca.key)
	if err != nil {
		return nil, fmt.Errorf("encode the mesh's CA key: %w", err)
	}
	return encode("PRIVATE KEY", der), nil
}

// ParseCA reads what Bundle, Key and Cross wrote. The bundle's first certificate
// is the signing one; cross may be empty.
func ParseCA(bundle, key, cross []byte) (*CA, error) {
	certs, err := parseBundle(bundle)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("the mesh's CA key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the mesh's CA key: %w", err)
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !private.PublicKey.Equal(certs[0].PublicKey) {
		return nil, errors.New("the mesh's CA key does not belong to its certificate")
	}
	ca := &CA{cert: certs[0], key: private, bundle: certs}
	if len(cross) > 0 {
		vouched, err := parseBundle(cross)
		if err != nil {
			return nil, err
		}
		ca.cross = vouched[0]
	}
	return ca, nil
}

func parseBundle(data []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the mesh's CA bundle: %w", err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("the mesh's CA bundle has no certificate")
	}
	return certs, nil
}

// SignMember makes a chain of certificates for a member, for the public key of its request.
// Nothing else of the request counts: who it is was found out by the caller.
func (ca *CA) SignMember(request *x509.CertificateRequest, id *url.URL, now time.Time) ([]byte, error) {
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the signing request of %s: %w", id, err)
	}
	t, err := template(now, certLife)
	if err != nil {
		return nil, err
	}
	t.URIs = []*url.URL{id}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	return ca.sign(t, request.PublicKey)
}

func (ca *CA) sign(t *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	t.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, ca.cert, public, ca.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return append(encode("CERTIFICATE", der), ca.Cross()...), nil
}

func template(now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	return &x509.Certificate{SerialNumber: serial, NotBefore: now.Add(-skew), NotAfter: now.Add(life)}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
