package volumes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// authority returns a new certificate authority's certificate as PEM.
func authority(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func projecting(volume string, source v1.VolumeProjection) v1.Volume {
	return v1.Volume{Name: volume, VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
		DefaultMode: ptr(int32(0o644)), Sources: []v1.VolumeProjection{source},
	}}}
}

func bundle(name, version, signer, anchors string) *certificatesv1.ClusterTrustBundle {
	return &certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version},
		Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: anchors},
	}
}

// A pod that waits for a bundle is tried again when the bundle appears, and a bundle
// that changes reaches the running pod.
func TestTrustBundles(t *testing.T) {
	first, second := authority(t, "first"), authority(t, "second")
	n := newNode(t)
	pod := podWith(
		projecting("named", v1.VolumeProjection{ClusterTrustBundle: &v1.ClusterTrustBundleProjection{Name: ptr("corp"), Path: "ca.pem"}}),
		projecting("signed", v1.VolumeProjection{ClusterTrustBundle: &v1.ClusterTrustBundleProjection{
			SignerName: ptr("example.com/s"), LabelSelector: &metav1.LabelSelector{}, Path: "ca.pem", Optional: ptr(true),
		}}))
	wantError(t, n.SetUp(t.Context(), pod), `MountVolume.SetUp failed for volume "named" : while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "corp" not found`)
	if got := n.watches("clustertrustbundles"); got != 1 {
		t.Errorf("%d watches of trust bundles", got)
	}
	ctb := n.client.CertificatesV1().ClusterTrustBundles()
	if _, err := ctb.Create(t.Context(), bundle("corp", "1", "", first), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a mount", func() bool { return n.SetUp(t.Context(), pod) == nil })
	if got := n.read(pod, "named", "ca.pem"); got != first {
		t.Errorf("got %q", got)
	}
	if got := n.read(pod, "signed", "ca.pem"); got != "" {
		t.Errorf("an optional bundle that does not exist: %q", got)
	}
	if _, err := ctb.Update(t.Context(), bundle("corp", "2", "", second), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ctb.Create(t.Context(), bundle("example.com:s:a", "1", "example.com/s", first), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new anchors", func() bool { return n.read(pod, "named", "ca.pem") == second })
	both := first + second
	if second < first {
		both = second + first
	}
	if _, err := ctb.Create(t.Context(), bundle("example.com:s:b", "1", "example.com/s", second), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the signer's anchors", func() bool { return n.read(pod, "signed", "ca.pem") == both })
	n.tearDown(pod.UID)
}

// signer answers requests for pod certificates with its condition and chain, and gives
// them names.
type signer struct {
	condition metav1.Condition
	chain     string
	due       time.Time // when the certificate is to be renewed
}

func (n *node) signedBy(s *atomic.Pointer[signer]) {
	n.client.PrependReactor("create", "podcertificaterequests", func(action clienttesting.Action) (bool, runtime.Object, error) {
		request := action.(clienttesting.CreateAction).GetObject().(*certificatesv1.PodCertificateRequest)
		request.Name, request.CreationTimestamp = request.GenerateName+unique(), metav1.Now()
		request.Status = certificatesv1.PodCertificateRequestStatus{
			Conditions: []metav1.Condition{s.Load().condition}, CertificateChain: s.Load().chain,
			BeginRefreshAt: ptr(metav1.NewTime(s.Load().due)), NotAfter: ptr(metav1.NewTime(time.Now().Add(2 * time.Hour))),
		}
		return false, request, nil // the tracker keeps it
	})
}

func podCertificate() *v1.Pod {
	return podWith(projecting("id", v1.VolumeProjection{PodCertificate: &v1.PodCertificateProjection{
		SignerName: "example.com/s", KeyType: "ED25519", CredentialBundlePath: "bundle.pem",
	}}))
}

func TestPodCertificates(t *testing.T) {
	n := newNode(t, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1-uid"}},
		&v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default", UID: "sa-uid"}})
	chain := authority(t, "pod")
	var by atomic.Pointer[signer]
	by.Store(&signer{metav1.Condition{Type: certificatesv1.PodCertificateRequestConditionTypeIssued, Status: metav1.ConditionTrue}, chain, time.Now().Add(time.Hour)})
	n.signedBy(&by)
	pod := podCertificate()
	eventually(t, "a mount", func() bool { return n.SetUp(t.Context(), pod) == nil })
	if got := n.read(pod, "id", "bundle.pem"); !strings.HasPrefix(got, "-----BEGIN PRIVATE KEY-----") || !strings.HasSuffix(got, chain) {
		t.Errorf("got %q", got)
	}
	requests, err := n.client.CertificatesV1().PodCertificateRequests("default").List(context.Background(), metav1.ListOptions{})
	if err != nil || len(requests.Items) != 1 {
		t.Fatalf("%d requests: %v", len(requests.Items), err)
	}
	if s := requests.Items[0].Spec; s.PodUID != pod.UID || s.NodeUID != "n1-uid" || s.ServiceAccountUID != "sa-uid" {
		t.Errorf("asked with %+v", s)
	}

	// The next agent has no key; the one that is mounted stays until there is another.
	by.Store(&signer{metav1.Condition{Type: certificatesv1.PodCertificateRequestConditionTypeDenied, Reason: "No", Message: "not for you"}, "", time.Time{}})
	n.restart()
	eventually(t, "the denial", func() bool {
		err := n.SetUp(t.Context(), pod)
		return err != nil && strings.Contains(err.Error(), `PodCertificateRequest was permanently denied: reason="No" message="not for you"`)
	})
	if _, err := os.Stat(filepath.Join(n.path(pod, "id"), "bundle.pem")); err != nil {
		t.Errorf("the certificate went with the agent: %v", err)
	}
	n.tearDown(pod.UID)
}

// A certificate that is due is renewed, and its successor reaches the running pod.
func TestPodCertificateIsRenewed(t *testing.T) {
	n := newNode(t, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1-uid"}},
		&v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default", UID: "sa-uid"}})
	first, second := authority(t, "first"), authority(t, "second")
	var by atomic.Pointer[signer]
	issued := metav1.Condition{Type: certificatesv1.PodCertificateRequestConditionTypeIssued, Status: metav1.ConditionTrue}
	// Kubelet's manager adds up to five minutes to when the certificate is due.
	by.Store(&signer{issued, first, time.Now().Add(-10 * time.Minute)})
	n.signedBy(&by)
	pod := podCertificate()
	eventually(t, "a mount", func() bool { return n.SetUp(t.Context(), pod) == nil })
	if got := n.read(pod, "id", "bundle.pem"); !strings.HasSuffix(got, first) {
		t.Errorf("got %q", got)
	}
	by.Store(&signer{issued, second, time.Now().Add(time.Hour)})
	eventually(t, "the renewed certificate", func() bool {
		n.certificates.issuingManager(false).TrackPod(t.Context(), pod) // as it does every minute
		return strings.HasSuffix(n.read(pod, "id", "bundle.pem"), second)
	})
	n.tearDown(pod.UID)
}

// A relist may show that requests are gone of which the watch missed the removal.
func TestPodCertificatesSurviveARelist(t *testing.T) {
	old := &certificatesv1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"}}
	n := newNode(t, old, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1-uid"}},
		&v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default", UID: "sa-uid"}})
	first, opened := watch.NewFake(), make(chan struct{})
	var watches atomic.Int32
	n.client.PrependWatchReactor("podcertificaterequests", func(clienttesting.Action) (bool, watch.Interface, error) {
		if watches.Add(1) > 1 {
			return false, nil, nil
		}
		close(opened)
		return true, first, nil
	})
	var by atomic.Pointer[signer]
	by.Store(&signer{metav1.Condition{Type: certificatesv1.PodCertificateRequestConditionTypeIssued, Status: metav1.ConditionTrue}, authority(t, "pod"), time.Now().Add(time.Hour)})
	n.signedBy(&by)
	n.certificates.issuingManager(true)
	<-opened
	if err := n.client.CertificatesV1().PodCertificateRequests(old.Namespace).Delete(t.Context(), old.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	first.Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone})
	eventually(t, "the relist", func() bool { return watches.Load() > 1 })
	pod := podCertificate()
	eventually(t, "a mount", func() bool { return n.SetUp(t.Context(), pod) == nil })
	n.tearDown(pod.UID)
}
