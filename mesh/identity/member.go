package identity

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Member holds a pod's certificate and keeps it fresh. Safe for concurrent use.
type Member struct {
	url       string // of the control plane
	tokenFile string
	roots     []byte // PEM, to know the control plane by
	log       *slog.Logger

	mu    sync.Mutex
	cert  *tls.Certificate
	pool  *x509.CertPool
	peers map[string]bool // addresses of other members
}

// NewMember makes a member that has no certificate yet.
func NewMember(url, tokenFile string, roots []byte, log *slog.Logger) *Member {
	return &Member{url: strings.TrimSuffix(url, "/"), tokenFile: tokenFile, roots: roots, log: log}
}

// retryAfter is how long a member waits after the control plane failed it, and
// peersAfter how old its knowledge of the others may be.
const (
	retryAfter = 2 * time.Second
	peersAfter = 5 * time.Second
)

// Run fetches the certificate and the list of members, again and again, until
// ctx ends. What it has stays in use while the control plane cannot be reached.
func (m *Member) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := peersAfter
		if err := m.refresh(ctx); err != nil && ctx.Err() == nil {
			m.log.Warn("the mesh's control plane cannot be used; going on with what is known", "url", m.url, "error", err)
			wait = retryAfter
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (m *Member) refresh(ctx context.Context) error {
	if cert := m.current(); cert == nil || renewAt(cert.Leaf).Before(time.Now()) {
		if err := m.renew(ctx); err != nil {
			return err
		}
	}
	var list Members
	if err := m.ask(ctx, http.MethodGet, MembersPath, nil, &list); err != nil {
		return err
	}
	peers := make(map[string]bool, len(list.Addresses))
	for _, a := range list.Addresses {
		peers[a] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peers = peers
	return nil
}

// renew makes a new key and has it signed.
func (m *Member) renew(ctx context.Context) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return fmt.Errorf("make a signing request: %w", err)
	}
	var signed Signed
	if err := m.ask(ctx, http.MethodPost, SignPath, encode("CERTIFICATE REQUEST", request), &signed); err != nil {
		return err
	}
	certs, err := parseBundle([]byte(signed.Certificate))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(signed.Bundle)) {
		return errors.New("the mesh's CA sent no certificates to believe")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cert = chain(certs, key)
	m.pool, m.roots = pool, []byte(signed.Bundle)
	return nil
}

// ask makes one request of the control plane, with the pod's token.
func (m *Member) ask(ctx context.Context, method, path string, body []byte, into any) error {
	token, err := os.ReadFile(m.tokenFile)
	if err != nil {
		return fmt.Errorf("read the token of the pod's service account: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, m.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	m.mu.Lock()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(m.roots)
	m.mu.Unlock()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}, DisableKeepAlives: true}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %.200s", method, m.url+path, res.Status, data)
	}
	return json.Unmarshal(data, into)
}

func (m *Member) current() *tls.Certificate {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cert
}

// Ready says whether the member has a certificate.
func (m *Member) Ready() bool { return m.current() != nil }

// IsPeer says whether an address belongs to the mesh.
func (m *Member) IsPeer(address string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peers[address]
}

var errNoCertificate = errors.New("the mesh's CA gave no certificate yet")

// ServerTLS demands a certificate of the mesh from whoever connects.
func (m *Member) ServerTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.cert == nil {
				return nil, errNoCertificate
			}
			return &tls.Config{
				MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*m.cert},
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: m.pool, VerifyConnection: verifyID,
			}, nil
		},
	}
}

// ClientTLS shows the member's certificate, and demands one of the mesh. Whose it
// has to be is not known from an address, so any member's will do.
func (m *Member) ClientTLS() (*tls.Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cert == nil {
		return nil, errNoCertificate
	}
	pool := m.pool
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*m.cert},
		// Members have identities and no host names, so the chain is verified here.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("the peer showed no certificate")
			}
			between := x509.NewCertPool()
			for _, c := range s.PeerCertificates[1:] {
				between.AddCert(c)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
			if err != nil {
				return err
			}
			return verifyID(s)
		},
	}, nil
}

// verifyID demands an identity of the mesh.
func verifyID(s tls.ConnectionState) error {
	if _, err := PeerID(s); err != nil {
		return err
	}
	return nil
}

// PeerID gives the identity of a connection's other end.
func PeerID(s tls.ConnectionState) (string, error) {
	if len(s.PeerCertificates) == 0 {
		return "", errors.New("the peer showed no certificate")
	}
	for _, u := range s.PeerCertificates[0].URIs {
		if u.Scheme == "spiffe" && u.Host == TrustDomain {
			return u.String(), nil
		}
	}
	return "", errors.New("the peer's certificate has no identity of the mesh")
}
