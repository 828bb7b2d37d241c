package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Where an API server says whom it trusts to vouch for its clients, for servers that extend it
// and so for a front. Reading it is the role extension-apiserver-authentication-reader.
const (
	trustSpace, trustName, trustKey = "kube-system", "extension-apiserver-authentication", "client-ca-file"
	// trustFor is how long it is not looked at again.
	trustFor = 10 * time.Minute
)

// authorities are those whom the API server trusts to say who a node is.
type authorities struct {
	api kubernetes.Interface

	mu   sync.Mutex
	pool *x509.CertPool
	at   time.Time
}

func (a *authorities) get(ctx context.Context) (*x509.CertPool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pool != nil && time.Since(a.at) < trustFor {
		return a.pool, nil
	}
	m, err := a.api.CoreV1().ConfigMaps(trustSpace).Get(ctx, trustName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", trustSpace, trustName, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(m.Data[trustKey])) {
		return nil, errors.New("the API server knows nobody by a certificate")
	}
	a.pool, a.at = pool, time.Now()
	return pool, nil
}
