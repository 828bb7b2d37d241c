package e2e

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// wornFor is how long a worn certificate still holds.
const wornFor = 30 * time.Minute

// renews puts a joined node into the last twentieth of its certificates' lives. It
// gets others while it runs: the one for the API server by itself, the one that it
// serves with when its request is approved. All the while it is Ready.
func (s *space) renews(first, second *node) {
	t := s.t
	t.Helper()
	if out, code := second.whylet(t, "down", "--data-dir", second.data()); code != 0 {
		t.Fatalf("down: exit code %d: %s", code, out)
	}
	sign := authority(t, first)
	second.wearClient(t, sign)
	serving := filepath.Join(second.data(), "node", "pki", "serving.pem")
	old := wearFile(t, serving, sign)
	if out, code := second.whylet(t, "node", "--detach", "--data-dir", second.data()); code != 0 {
		t.Fatalf("node: exit code %d: %s\n%s", code, out, second.logTail())
	}
	pid := second.pid(t)
	s.eventually(2*time.Minute, "logs with the old certificate", func() error {
		_, err := s.kubectl("logs", "far")
		return err
	})

	s.eventually(3*time.Minute, "another client certificate", func() error {
		files, _ := filepath.Glob(filepath.Join(second.data(), "node", "pki", "client-*.pem"))
		if len(files) != 1 {
			return fmt.Errorf("there are %v", files)
		}
		leaf := leafOf(t, files[0])
		if time.Until(leaf.NotAfter) < 2*wornFor {
			return fmt.Errorf("%s holds until %s", files[0], leaf.NotAfter)
		}
		return nil
	})
	s.eventually(3*time.Minute, "another serving certificate", func() error {
		if err := s.approvePending(); err != nil {
			return err
		}
		leaf := leafOf(t, serving)
		if leaf.SerialNumber.Cmp(old.SerialNumber) == 0 || time.Until(leaf.NotAfter) < 2*wornFor {
			return fmt.Errorf("it is still %s, until %s", leaf.SerialNumber, leaf.NotAfter)
		}
		out, err := first.command(t.Context(), "sh", "-c",
			"openssl s_client -connect 10.99.0.2:10260 </dev/null 2>/dev/null | openssl x509 -noout -serial").CombinedOutput()
		if want := fmt.Sprintf("serial=%X", leaf.SerialNumber); err != nil || !strings.HasPrefix(strings.Replace(string(out), "=0", "=", 1), want) {
			return fmt.Errorf("it serves with %s (%v), the file has %s", out, err, want)
		}
		return nil
	})
	if out := s.mustKubectl("logs", "far"); out != "hello\n" {
		t.Errorf("its log is %q", out)
	}
	if now := second.pid(t); now != pid {
		t.Errorf("the node is process %d now, not %d", now, pid)
	}
	s.mustKubectl("wait", "node/second", "--for=condition=Ready", "--timeout=60s")
}

// approvePending approves all requests for serving certificates.
func (s *space) approvePending() error {
	pending, err := s.kubectl("get", "csr", "--field-selector", "spec.signerName=kubernetes.io/kubelet-serving", "-o", "name")
	if err != nil {
		return err
	}
	for _, request := range strings.Fields(pending) {
		if _, err := s.kubectl("certificate", "approve", request); err != nil {
			return err
		}
	}
	return nil
}

// signer signs a certificate anew, so that most of its life is over.
type signer func(cert []byte) []byte

// authority signs with that of a node's control plane.
func authority(t *testing.T, n *node) signer {
	t.Helper()
	ca, err := tls.LoadX509KeyPair(filepath.Join(n.data(), "pki", "ca.crt"), filepath.Join(n.data(), "pki", "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	return func(certPEM []byte) []byte {
		block, _ := pem.Decode(certPEM)
		if block == nil {
			t.Fatal("no certificate to sign anew")
		}
		worn, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		worn.SerialNumber = new(big.Int).Add(worn.SerialNumber, big.NewInt(1))
		worn.NotBefore, worn.NotAfter = time.Now().Add(-20*wornFor), time.Now().Add(wornFor)
		raw, err := x509.CreateCertificate(rand.Reader, worn, ca.Leaf, worn.PublicKey, ca.PrivateKey.(crypto.Signer))
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	}
}

// wearClient gives the kubeconfig of a joined node a worn certificate.
func (n *node) wearClient(t *testing.T, sign signer) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(n.data(), "whylet.json"))
	if err != nil {
		t.Fatal(err)
	}
	var instance struct {
		Settings struct {
			Kubeconfig string `json:"kubeconfig"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(raw, &instance); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(instance.Settings.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificateData = sign(user.ClientCertificateData)
	}
	if err := clientcmd.WriteToFile(*config, instance.Settings.Kubeconfig); err != nil {
		t.Fatal(err)
	}
}

// wearFile does so to the certificate in a file, which has its key behind it, and
// returns it.
func wearFile(t *testing.T, file string, sign signer) *x509.Certificate {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, key := pem.Decode(raw)
	if err := os.WriteFile(file, bytes.Join([][]byte{sign(raw), key}, []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return leafOf(t, file)
}

// leafOf is the certificate in a file.
func leafOf(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}
