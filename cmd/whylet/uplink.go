package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/front/uplink"
	"whylet.dev/whylet/journal"
)

// tellFront gives what keeps a stream to the front of the settings, as agents do beside other
// kubelets; nil: there is none. The front knows the node by the certificate by which the API
// server does, and is answered by what answers nodes/proxy.
func (s *stack) tellFront(api *rest.Config) func(context.Context, *journal.Journal, map[string]http.Handler) {
	set := s.instance.Settings
	if set.Front == "" {
		return nil
	}
	return func(ctx context.Context, j *journal.Journal, handlers map[string]http.Handler) {
		o := uplink.Options{
			Address: set.Front, CAFile: set.FrontCA, Certificate: func() (tls.Certificate, error) { return shown(api) },
			Version: version, Journal: j, Serve: map[string]http.Handler{}, Log: s.log,
		}
		for path, h := range handlers {
			o.Serve[strings.TrimPrefix(path, "/")] = h
		}
		if s.cluster == nil { // else the control plane tells who asks for a pod's end, and better
			o.Requested = s.tell
		}
		client, err := kubernetes.NewForConfig(api)
		if err == nil {
			o.Lookup = func(ctx context.Context, host string) ([]string, error) { return addresses(ctx, client, host) }
			err = uplink.Run(ctx, o)
		}
		if err != nil {
			s.log.Warn("the front is not told of this node", "error", err)
		}
	}
}

// shown is the certificate by which the API server knows the node.
func shown(api *rest.Config) (tls.Certificate, error) {
	c := api.TLSClientConfig
	var err error
	read := func(data []byte, file string) []byte {
		if len(data) > 0 || err != nil {
			return data
		}
		data, err = os.ReadFile(file)
		return data
	}
	if cert, key := read(c.CertData, c.CertFile), read(c.KeyData, c.KeyFile); err == nil {
		return tls.X509KeyPair(cert, key)
	}
	return tls.Certificate{}, fmt.Errorf("the node has no certificate: %w", err)
}

// addresses are those of a host. A Service's name the API server knows: the machine itself
// need not have the cluster's DNS, and each node may read Endpoints.
func addresses(ctx context.Context, client kubernetes.Interface, host string) ([]string, error) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) < 3 || parts[2] != "svc" {
		return (&net.Resolver{}).LookupHost(ctx, host)
	}
	e, err := client.CoreV1().Endpoints(parts[1]).Get(ctx, parts[0], metav1.GetOptions{}) //nolint:staticcheck // a node may not read EndpointSlices
	if err != nil {
		return nil, err
	}
	var all []string
	for _, subset := range e.Subsets {
		for _, a := range subset.Addresses {
			all = append(all, a.IP)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no front is Ready")
	}
	return all, nil
}
