package credentials

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	certificates "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate"
	"k8s.io/klog/v2"
)

// Config says whose certificates they are.
type Config struct {
	NodeName string
	// Dir holds the files. It should be closed to others.
	Dir string
	Log *slog.Logger
}

// Credential is a certificate of the node with its key, in a file.
type Credential struct {
	// File is PEM, mode 0600: certificate, then key.
	File   string
	config certificate.Config
	log    *slog.Logger
}

// user is the node's name as a user of the API, and group that of all nodes (the
// Node authorizer's, k8s.io/apiserver/pkg/authentication/user).
func (c Config) user() string { return "system:node:" + c.NodeName }

const group = "system:nodes"

// ServingFile is where the serving certificate of a node is, below Dir.
const ServingFile = "serving.pem"

// Serving is the certificate of the node's HTTPS API. When it returns the file
// is there: from the cluster if there was one that is still valid, otherwise
// signed by the node itself until Run has got one. Somebody has to approve the
// request (signer kubernetes.io/kubelet-serving): no controller of Kubernetes does.
func Serving(c Config, ip string) (*Credential, error) {
	address := net.ParseIP(ip)
	if address == nil {
		return nil, fmt.Errorf("the node's address %q is none", ip)
	}
	s := &store{file: filepath.Join(c.Dir, ServingFile), subject: c.user(), log: c.Log}
	if current, err := s.Current(); err != nil || time.Now().After(current.Leaf.NotAfter) {
		// Signed anew at each start, as the address may have changed.
		cert, key, err := cert.GenerateSelfSignedCertKey(c.NodeName, []net.IP{address}, nil)
		if err != nil {
			return nil, fmt.Errorf("making the node's serving certificate: %w", err)
		}
		if _, err := s.Update(cert, key); err != nil {
			return nil, err
		}
		c.Log.Warn("the node's HTTPS API serves a certificate that it signed itself, until its request is approved",
			"look", "kubectl get csr --field-selector spec.signerName="+certificates.KubeletServingSignerName, "then", "kubectl certificate approve NAME")
	}
	return c.credential(s, certificate.Config{
		SignerName: certificates.KubeletServingSignerName,
		GetUsages:  certificate.DefaultKubeletServingGetUsages,
		Template:   &x509.CertificateRequest{DNSNames: []string{c.NodeName}, IPAddresses: []net.IP{address}},
	}), nil
}

// Client is the certificate with which the node talks to the API server: at first
// the one in api, later the renewed one. It is nil when api has none that says it
// is this node's, which then cannot be renewed. A renewed certificate belongs to
// the one that it was renewed from: when api comes with another, that one counts.
func Client(c Config, api *rest.Config) (*Credential, error) {
	api = rest.CopyConfig(api)
	if err := rest.LoadTLSFiles(api); err != nil {
		return nil, fmt.Errorf("reading the node's client certificate: %w", err)
	}
	if len(api.CertData) == 0 {
		return nil, nil
	}
	given, err := parse(api.CertData, api.KeyData)
	if err != nil {
		return nil, err
	}
	if given.Leaf.Subject.CommonName != c.user() {
		return nil, nil
	}
	s := &store{file: filepath.Join(c.Dir, fmt.Sprintf("client-%.6x.pem", sha256.Sum256(given.Leaf.Raw))), subject: c.user(), log: c.Log}
	if current, err := s.Current(); err != nil || current.Leaf.NotAfter.Before(given.Leaf.NotAfter) {
		if _, err := s.Update(api.CertData, api.KeyData); err != nil {
			return nil, err
		}
	}
	if err := removeOthers(filepath.Join(c.Dir, "client-*.pem"), s.file); err != nil {
		return nil, err
	}
	return c.credential(s, certificate.Config{
		SignerName: certificates.KubeAPIServerClientKubeletSignerName,
		GetUsages:  certificate.DefaultKubeletClientGetUsages,
		Template:   &x509.CertificateRequest{},
	}), nil
}

// removeOthers removes what a pattern matches, but for one file.
func removeOthers(pattern, but string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("looking for old certificates: %w", err)
	}
	for _, file := range files {
		if file == but {
			continue
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("removing an old certificate: %w", err)
		}
	}
	return nil
}

func (c Config) credential(s *store, config certificate.Config) *Credential {
	config.Template.Subject = pkix.Name{CommonName: c.user(), Organization: []string{group}}
	config.CertificateStore = s
	return &Credential{File: s.file, config: config, log: c.Log}
}

// Run asks for the certificate where there is none from the cluster, and renews
// it, until ctx ends. Requests that fail are made again.
func (c *Credential) Run(ctx context.Context, client kubernetes.Interface) error {
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(c.log.Handler()))
	config := c.config
	config.Ctx = &ctx
	config.ClientsetFn = func(*tls.Certificate) (kubernetes.Interface, error) { return client, nil }
	manager, err := certificate.NewManager(&config)
	if err != nil {
		return fmt.Errorf("renewal of %s: %w", c.File, err)
	}
	manager.Start()
	<-ctx.Done()
	manager.Stop()
	return nil
}

// SelfSigned says whether the file of a serving certificate holds one that the
// node had to sign itself, because the cluster's is not there yet.
func SelfSigned(file, nodeName string) (bool, error) {
	pair, err := read(file)
	if err != nil {
		return false, err
	}
	return pair.Leaf.Subject.CommonName != Config{NodeName: nodeName}.user(), nil
}
