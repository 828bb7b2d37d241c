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
	"maps"
	"math/big"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Front is the name of the front's parts.
const Front = "whylet-front"

// certified is how long the front's authority lives, as long as the chart's.
const certified = 1825 * 24 * time.Hour

// renewBefore is how long before its end an authority is replaced by the next installation.
const renewBefore = 365 * 24 * time.Hour

// endsAnnotation is where the chart, which cannot read certificates, finds an authority's end.
const endsAnnotation = "why.whylet.dev/authority-ends"

// IsDue reports whether the next installation has to replace the front's certificate: it ends
// within a year, cannot be read, or was made to live longer than authorities do now.
func IsDue(certificate []byte, now time.Time) bool {
	at, err := ends(certificate)
	return err != nil || at.Before(now.Add(renewBefore)) || at.After(now.Add(certified+24*time.Hour))
}

// ends is when the front's certificate ends.
func ends(certificate []byte) (time.Time, error) {
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

// before is the newest of some authorities, if it vouches for something still. Older ones go,
// so that two renewals are the end of a key that somebody took.
func before(authorities string, now time.Time) string {
	block, _ := pem.Decode([]byte(authorities))
	if block == nil {
		return ""
	}
	if c, err := x509.ParseCertificate(block.Bytes); err != nil || !c.NotAfter.After(now) {
		return ""
	}
	return string(pem.EncodeToMemory(block))
}

// Certificate makes the front's: a Secret with an authority and its key, by which each replica
// issues itself what it serves with, and a ConfigMap with the authority for agents. It vouches
// for the front's names and no others. It is made at the first installation and kept; a new
// one comes with the authority before, so that agents know whichever they meet.
func Certificate(namespace string, now time.Time, known string) ([]*unstructured.Unstructured, error) {
	authority := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: Front}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certified),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomains: []string{"whylet-front." + namespace + ".svc", "whylet-fronts." + namespace + ".svc"}, PermittedDNSDomainsCritical: true,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := x509.CreateCertificate(rand.Reader, &authority, &authority, &key.PublicKey, key)
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
	withEnd := maps.Clone(meta)
	withEnd["annotations"] = map[string]any{endsAnnotation: strconv.FormatInt(authority.NotAfter.Unix(), 10)}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": withEnd, "type": "kubernetes.io/tls", "data": map[string]any{
			"tls.crt": encoded(block("CERTIFICATE", ca)), "tls.key": encoded(block("PRIVATE KEY", private)),
		}}},
		{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": map[string]any{"ca.crt": block("CERTIFICATE", ca) + before(known, now)}}},
	}, nil
}
