package credentials

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	core "k8s.io/client-go/testing"
	"k8s.io/client-go/util/keyutil"
)

// authority signs as a cluster's signer does.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// serial of the last certificate.
	serial int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// sign makes a certificate for a public key, as PEM.
func (a *authority) sign(template x509.Certificate, public any) []byte {
	a.serial++
	template.SerialNumber = big.NewInt(100 + a.serial)
	der, err := x509.CreateCertificate(rand.Reader, &template, a.cert, public, a.key)
	if err != nil {
		a.t.Error(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue makes a client certificate of a user, valid from and until then.
func (a *authority) issue(user string, from, until time.Time) (cert, key []byte) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		a.t.Fatal(err)
	}
	subject := pkix.Name{CommonName: user, Organization: []string{group}}
	return a.sign(x509.Certificate{Subject: subject, NotBefore: from, NotAfter: until}, private.Public()), key
}

// cluster answers requests for certificates. approve says which; they are signed
// at once then.
func cluster(t *testing.T, a *authority, approve func(certificates.CertificateSigningRequestSpec) bool) (*fake.Clientset, chan certificates.CertificateSigningRequestSpec) {
	client := fake.NewClientset()
	seen := make(chan certificates.CertificateSigningRequestSpec, 100)
	var made int
	client.PrependReactor("create", "certificatesigningrequests", func(action core.Action) (bool, runtime.Object, error) {
		r := action.(core.CreateAction).GetObject().(*certificates.CertificateSigningRequest)
		made++
		r.Name, r.UID = fmt.Sprintf("%s%d", r.GenerateName, made), types.UID(fmt.Sprint(made))
		if approve(r.Spec) {
			block, _ := pem.Decode(r.Spec.Request)
			asked, err := x509.ParseCertificateRequest(block.Bytes)
			if err != nil {
				t.Error(err)
				return true, nil, err
			}
			r.Status.Certificate = a.sign(x509.Certificate{
				Subject: asked.Subject, DNSNames: asked.DNSNames, IPAddresses: asked.IPAddresses,
				NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(24 * time.Hour),
			}, asked.PublicKey)
			r.Status.Conditions = []certificates.CertificateSigningRequestCondition{{Type: certificates.CertificateApproved, Status: v1.ConditionTrue}}
		}
		seen <- r.Spec
		return false, nil, nil
	})
	return client, seen
}

// run runs a credential until the test ends, and waits for its end.
func run(t *testing.T, c *Credential, client *fake.Clientset) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, client) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// until waits for something that comes by itself.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within two minutes: " + what)
		}
	}
}

func testConfig(t *testing.T) Config {
	// Not t.TempDir: a renewal under way may still write when the test has ended.
	dir, err := os.MkdirTemp("", "credentials-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Config{NodeName: "edge", Dir: dir, Log: slog.New(slog.DiscardHandler)}
}

func always(certificates.CertificateSigningRequestSpec) bool { return true }

func never(certificates.CertificateSigningRequestSpec) bool { return false }

func leaf(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	pair, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func selfSigned(t *testing.T, file string) bool {
	t.Helper()
	self, err := SelfSigned(file, "edge")
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// The node serves with its own certificate until the cluster has given it one.
func TestServing(t *testing.T) {
	a, c := newAuthority(t), testConfig(t)
	serving, err := Serving(c, "192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	if !selfSigned(t, serving.File) {
		t.Error("there is a certificate of the cluster before anybody asked for it")
	}
	client, seen := cluster(t, a, always)
	run(t, serving, client)
	until(t, "a certificate from the cluster", func() bool { return !selfSigned(t, serving.File) })

	asked := <-seen
	if asked.SignerName != "kubernetes.io/kubelet-serving" {
		t.Errorf("%s was asked", asked.SignerName)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	got := leaf(t, serving.File)
	for _, name := range []string{"edge", "192.0.2.7"} {
		if _, err := got.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("as %s: %v", name, err)
		}
	}
	if got.Subject.CommonName != "system:node:edge" || fmt.Sprint(got.Subject.Organization) != "[system:nodes]" {
		t.Errorf("it is of %s", got.Subject)
	}
	info, err := os.Stat(serving.File)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	// The next start goes on with it.
	if serving, err = Serving(c, "192.0.2.7"); err != nil || !leaf(t, serving.File).Equal(got) {
		t.Errorf("after a start there is another one, or %v", err)
	}
}

// Nobody approves: the node goes on with its own, which has the present address
// after each start.
func TestServingIsNotApproved(t *testing.T) {
	c := testConfig(t)
	serving, err := Serving(c, "192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	client, seen := cluster(t, newAuthority(t), never)
	run(t, serving, client)
	<-seen
	if serving, err = Serving(c, "192.0.2.8"); err != nil {
		t.Fatal(err)
	}
	if !selfSigned(t, serving.File) {
		t.Error("a certificate of the cluster came from nowhere")
	}
	if err := leaf(t, serving.File).VerifyHostname("192.0.2.8"); err != nil {
		t.Error(err)
	}
}

// A damaged file is replaced, and so is a certificate that has expired.
func TestServingAfterDamage(t *testing.T) {
	c := testConfig(t)
	file := filepath.Join(c.Dir, ServingFile)
	old, key := newAuthority(t).issue("system:node:edge", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	for name, content := range map[string][]byte{"damaged": []byte("-----BEGIN"), "expired": append(old, key...)} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Serving(c, "192.0.2.7"); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !selfSigned(t, file) {
			t.Errorf("%s: it was kept", name)
		}
	}
}

// The client certificate of the kubeconfig is renewed when most of its life is
// over, and the next start with the same kubeconfig takes the renewed one.
func TestClientIsRenewed(t *testing.T) {
	a, c := newAuthority(t), testConfig(t)
	api := &rest.Config{}
	api.CertData, api.KeyData = a.issue("system:node:edge", time.Now().Add(-10*time.Hour), time.Now().Add(time.Hour))
	credential, err := Client(c, api)
	if err != nil {
		t.Fatal(err)
	}
	given := leaf(t, credential.File)
	client, seen := cluster(t, a, always)
	run(t, credential, client)
	until(t, "a renewed certificate", func() bool { return !leaf(t, credential.File).Equal(given) })
	if asked := <-seen; asked.SignerName != "kubernetes.io/kube-apiserver-client-kubelet" {
		t.Errorf("%s was asked", asked.SignerName)
	}
	renewed := leaf(t, credential.File)
	if again, err := Client(c, api); err != nil || !leaf(t, again.File).Equal(renewed) {
		t.Errorf("after a start there is another one, or %v", err)
	}

	// Another kubeconfig counts, and nothing of the old one is left.
	api.CertData, api.KeyData = a.issue("system:node:edge", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	next, err := Client(c, api)
	if err != nil {
		t.Fatal(err)
	}
	if leaf(t, next.File).Equal(renewed) {
		t.Error("a new kubeconfig is not used")
	}
	if _, err := os.Stat(credential.File); !os.IsNotExist(err) {
		t.Errorf("the old certificate is still there: %v", err)
	}
}

// What is not the node's own certificate is left as it is.
func TestClientOfSomebodyElse(t *testing.T) {
	c := testConfig(t)
	api := &rest.Config{BearerToken: "token"}
	if credential, err := Client(c, api); credential != nil || err != nil {
		t.Errorf("of a token: %v, %v", credential, err)
	}
	api.CertData, api.KeyData = newAuthority(t).issue("admin", time.Now(), time.Now().Add(time.Hour))
	if credential, err := Client(c, api); credential != nil || err != nil {
		t.Errorf("of the administrator: %v, %v", credential, err)
	}
	api.KeyData = []byte("none")
	if _, err := Client(c, api); err == nil {
		t.Error("a broken key is not said")
	}
}

// A file that is read while it is replaced is always whole.
func TestStoreIsAtomic(t *testing.T) {
	a, c := newAuthority(t), testConfig(t)
	s := &store{file: filepath.Join(c.Dir, "x.pem"), subject: "system:node:edge", log: c.Log}
	cert, key := a.issue("system:node:edge", time.Now(), time.Now().Add(time.Hour))
	if _, err := s.Update(cert, key); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			if _, err := s.Update(cert, key); err != nil {
				t.Error(err)
			}
		}
	}()
	for reading := true; reading; {
		if _, err := s.Current(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			reading = false
		default:
		}
	}
	if _, err := s.Update(cert, []byte("another key")); err == nil {
		t.Error("a pair that does not belong together was stored")
	}
	if files, _ := os.ReadDir(c.Dir); len(files) != 1 {
		t.Errorf("it leaves %v", files)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"), []byte(""))
	f.Fuzz(func(t *testing.T, cert, key []byte) {
		var pair *tls.Certificate
		if pair, _ = parse(cert, key); pair != nil && pair.Leaf == nil {
			t.Error("a certificate without a leaf")
		}
	})
}
