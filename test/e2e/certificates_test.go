package e2e

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testCA is a certificate authority of the test's own.
type testCA struct {
	t    *testing.T
	cert *x509.Certificate
	key  crypto.Signer
	// pem is its certificate.
	pem string
}

func newTestCA(t *testing.T, name string) testCA {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := testCA{t: t, key: key, cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(48 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}}
	a.pem = a.sign(a.cert, key.Public())
	block, _ := pem.Decode([]byte(a.pem))
	if a.cert, err = x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a testCA) sign(template *x509.Certificate, public crypto.PublicKey) string {
	a.t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// issue answers a request as a signer does, through the real kubectl.
func (a testCA) issue(s *space, r certificatesv1.PodCertificateRequest) {
	a.t.Helper()
	asked, err := x509.ParseCertificateRequest(r.Spec.StubPKCS10Request)
	if err != nil {
		a.t.Fatal(err)
	}
	from := time.Now().UTC().Truncate(time.Second)
	until := from.Add(2 * time.Hour)
	chain := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: r.Spec.PodName}, NotBefore: from, NotAfter: until}, asked.PublicKey)
	at := func(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }
	patch, err := json.Marshal(map[string]any{"status": certificatesv1.PodCertificateRequestStatus{
		CertificateChain: chain, NotBefore: at(from), NotAfter: at(until), BeginRefreshAt: at(from.Add(time.Hour)),
		Conditions: []metav1.Condition{{
			Type: certificatesv1.PodCertificateRequestConditionTypeIssued, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: *at(from),
		}},
	}})
	if err != nil {
		a.t.Fatal(err)
	}
	s.mustKubectl("patch", "podcertificaterequest", r.Name, "--subresource=status", "--type=merge", "-p", string(patch))
}

// requests lists the namespace's requests for certificates.
func (s *space) requests() ([]certificatesv1.PodCertificateRequest, error) {
	out, err := s.kubectl("get", "podcertificaterequests", "-o", "json")
	if err != nil {
		return nil, err
	}
	var list certificatesv1.PodCertificateRequestList
	return list.Items, json.Unmarshal([]byte(out), &list)
}

// A pod waits for the trust bundle that it mounts, and sees it change while it runs. The
// API server's own is there from the start.
func TestTrustBundle(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	name := s.name + "-corp"
	t.Cleanup(func() {
		if out, err := s.kubectlIn(context.Background(), "", "delete", "clustertrustbundle", name, "--ignore-not-found"); err != nil {
			t.Logf("%v: %s", err, out)
		}
	})
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    volumeMounts: [{name: trust, mountPath: /trust}]
  volumes:
  - name: trust
    projected:
      sources:
      - clusterTrustBundle: {signerName: kubernetes.io/kube-apiserver-serving, labelSelector: {}, path: api.pem}
      - clusterTrustBundle: {name: %s, path: corp.pem}
`, name))
	s.eventually(30*time.Second, "an event says which bundle is missing", func() error {
		out, err := s.kubectl("get", "events", "--field-selector", "reason=FailedMount")
		if err == nil && !strings.Contains(out, fmt.Sprintf("clustertrustbundle.certificates.k8s.io %q not found", name)) {
			err = fmt.Errorf("it says:\n%s", out)
		}
		return err
	})
	bundle := func(a testCA) string {
		return fmt.Sprintf("apiVersion: certificates.k8s.io/v1\nkind: ClusterTrustBundle\nmetadata: {name: %s}\nspec: {trustBundle: %q}\n", name, a.pem)
	}
	first, second := newTestCA(t, "first"), newTestCA(t, "second")
	s.apply(bundle(first))
	s.waitReady("p")
	read := func(file string) string {
		out, err := s.exec("p", "cat", file)
		if err != nil {
			return err.Error()
		}
		return out
	}
	if got := read("/trust/corp.pem"); got != first.pem {
		t.Errorf("the pod trusts %q", got)
	}
	if api, own := read("/trust/api.pem"), read("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"); !strings.Contains(own, strings.TrimSpace(api)) || len(api) < 100 {
		t.Errorf("the API server's bundle is %q, its authority %q", api, own)
	}
	s.apply(bundle(second))
	s.eventually(time.Minute, "the changed bundle in the pod", func() error {
		if got := read("/trust/corp.pem"); got != second.pem {
			return fmt.Errorf("it reads %q", got)
		}
		return nil
	})
}

// A pod gets the certificate that its signer issues, and one whose request is denied is
// told so.
func TestPodCertificate(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    volumeMounts: [{name: id, mountPath: /id}]
  volumes:
  - name: id
    projected:
      sources:
      - podCertificate: {signerName: example.com/e2e, keyType: ED25519, credentialBundlePath: bundle.pem}
`
	s.apply(fmt.Sprintf(pod, "known") + "---" + fmt.Sprintf(pod, "stranger"))
	s.eventually(time.Minute, "two requests", func() error {
		all, err := s.requests()
		if err == nil && len(all) != 2 {
			err = fmt.Errorf("%d requests", len(all))
		}
		return err
	})
	all, err := s.requests()
	if err != nil {
		t.Fatal(err)
	}
	ca := newTestCA(t, "signer")
	for _, r := range all {
		if r.Spec.PodName == "known" {
			ca.issue(s, r)
			continue
		}
		s.mustKubectl("patch", "podcertificaterequest", r.Name, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
			`{"status":{"conditions":[{"type":"Denied","status":"True","reason":"Unknown","message":"never seen","lastTransitionTime":%q}]}}`,
			time.Now().UTC().Format(time.RFC3339)))
	}
	s.waitReady("known")
	out, err := s.exec("known", "cat", "/id/bundle.pem")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair([]byte(out), []byte(out))
	if err != nil {
		t.Fatalf("the bundle is no key with its certificate: %v", err)
	}
	if _, ok := pair.PrivateKey.(ed25519.PrivateKey); !ok || pair.Leaf.Subject.CommonName != "known" || pair.Leaf.CheckSignatureFrom(ca.cert) != nil {
		t.Errorf("a %T for %s", pair.PrivateKey, pair.Leaf.Subject)
	}
	s.eventually(time.Minute, "an event about the denial", func() error {
		out, err := s.kubectl("get", "events", "--field-selector", "involvedObject.name=stranger,reason=FailedMount")
		if err == nil && !strings.Contains(out, `permanently denied: reason="Unknown" message="never seen"`) {
			err = fmt.Errorf("it says:\n%s", out)
		}
		return err
	})
	if p, err := s.pod("stranger"); err != nil || p.Status.Phase != v1.PodPending {
		t.Errorf("the other pod: %v, %v", p.Status.Phase, err)
	}
}
