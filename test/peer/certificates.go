package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is the real stack's: of its API server, of what that shows nodes, and of nodes
// that are users of their own.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// writeCertificates makes the authority and what the API server has of it.
func (r *real) writeCertificates() error {
	if r.joined != nil {
		return nil // it has what the first has
	}
	var err error
	if r.authority.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	r.authority.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "peer"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, r.authority.cert, r.authority.cert, r.authority.key.Public(), r.authority.key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.file("ca.crt"), block("CERTIFICATE", der), 0o600); err != nil {
		return err
	}
	for name, is := range map[string]*x509.Certificate{
		"kubelet-client": {Subject: pkix.Name{CommonName: "kube-apiserver", Organization: []string{"system:masters"}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		"apiserver": {
			Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			DNSNames: []string{"kubernetes.default.svc"}, IPAddresses: []net.IP{net.ParseIP(nodeAddress), net.ParseIP(apiService), net.IPv4(127, 0, 0, 1)},
		},
	} {
		crt, key, err := r.authority.issue(is)
		if err != nil {
			return err
		}
		for file, text := range map[string][]byte{name + ".crt": crt, name + ".key": key} {
			if err := os.WriteFile(r.file(file), text, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// issue makes a certificate with its key.
func (a *authority) issue(is *x509.Certificate) (crt, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	is.NotBefore, is.NotAfter, is.KeyUsage = a.cert.NotBefore, a.cert.NotAfter, x509.KeyUsageDigitalSignature
	is.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, is, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	return block("CERTIFICATE", der), block("PRIVATE KEY", raw), err
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// credentials writes the kubeconfig of a node that is a user of its own, as docs/operations.md
// has people make it.
func (r *real) credentials(path, node string) error {
	crt, key, err := r.authority.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	in := base64.StdEncoding.EncodeToString
	user := fmt.Sprintf("client-certificate-data: %s, client-key-data: %s", in(crt), in(key))
	return os.WriteFile(path, fmt.Appendf(nil, kubeconfig, nodeAddress, user), 0o600)
}

func (r *real) file(name string) string { return filepath.Join(r.Dir, name) }
