package deploy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Front is the name of the front's parts.
const Front = "whylet-front"

// certified is how long the front's certificate is good: as long as the chart's.
const certified = 3650 * 24 * time.Hour

// Certificate makes the front's: a Secret with it and its key, and a ConfigMap with the
// authority that agents know it by. The authority's key is forgotten at once, so it can
// vouch for nothing else. It is made at the first installation and kept.
func Certificate(namespace string, now time.Time) ([]*unstructured.Unstructured, error) {
	authority := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: Front}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certified),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: Front}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"whylet-front." + namespace + ".svc", "whylet-fronts." + namespace + ".svc"},
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := x509.CreateCertificate(rand.Reader, &authority, &authority, &signer.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	crt, err := x509.CreateCertificate(rand.Reader, &server, &authority, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	meta := map[string]any{"name": Front, "namespace": namespace, "labels": map[string]any{
		"app.kubernetes.io/name": "whylet", "app.kubernetes.io/managed-by": ManagedBy,
	}}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "kubernetes.io/tls", "data": map[string]any{
			"tls.crt": encoded(block("CERTIFICATE", crt)), "tls.key": encoded(block("PRIVATE KEY", private)),
		}}},
		{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": map[string]any{"ca.crt": block("CERTIFICATE", ca)}}},
	}, nil
}
