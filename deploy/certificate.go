package deploy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Front is the name of the front's parts.
const Front = "whylet-front"

// certified is how long the front's certificate is good: as long as the chart's.
const certified = 3650 * 24 * time.Hour

// RenewBefore is how long before its end a certificate is made anew by who installs again.
const RenewBefore = 365 * 24 * time.Hour

// Ends is when the front's certificate ends.
func Ends(certificate []byte) (time.Time, error) {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return time.Time{}, errors.New("the front's Secret has no certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, fmt.Errorf("the front's certificate: %w", err)
	}
	return c.NotAfter, nil
}

// unexpired are those of some authorities that vouch for something still.
func unexpired(authorities string, now time.Time) string {
	var still strings.Builder
	for rest := []byte(authorities); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return still.String()
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && c.NotAfter.After(now) {
			still.Write(pem.EncodeToMemory(block))
		}
	}
}

// Certificate makes the front's: a Secret with it and its key, and a ConfigMap with the
// authority that agents know it by. The authority's key is forgotten at once, so it can
// vouch for nothing else. It is made at the first installation and kept; a new one comes
// with the authorities of the ones before, so that agents know whichever they meet.
func Certificate(namespace string, now time.Time, before string) ([]*unstructured.Unstructured, error) {
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
		{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": map[string]any{"ca.crt": block("CERTIFICATE", ca) + unexpired(before, now)}}},
	}, nil
}
