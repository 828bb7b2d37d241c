package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Client reads core/v1 from the API server. Safe for concurrent use.
type Client struct {
	rest     rest.Interface
	requests atomic.Int64
	beside   *http.Client
	asked    atomic.Int64
}

// Open makes a client from a kubeconfig; an empty path means the service account of
// the pod that this runs in. It asks nothing yet.
func Open(kubeconfig string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	return New(config)
}

// New makes a client with a given configuration.
func New(config *rest.Config) (*Client, error) {
	c := &Client{}
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	own := rest.CopyConfig(config)
	own.APIPath, own.GroupVersion = "/api", &v1.SchemeGroupVersion
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	own.AcceptContentTypes, own.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	own.UserAgent = "whylet-observe"
	own.QPS, own.Burst = 5, 20
	own.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next, &c.requests} })
	var err error
	if c.rest, err = rest.RESTClientFor(own); err != nil {
		return nil, fmt.Errorf("API client: %w", err)
	}
	if err := c.openBeside(own); err != nil {
		return nil, err
	}
	return c, nil
}

// openBeside makes the client for the kubelet of this machine, which takes the same
// tokens. Its certificate is mostly signed by nobody: it is not verified, and nobody but
// root answers at its port.
func (c *Client) openBeside(config *rest.Config) error {
	own := rest.CopyConfig(config)
	own.TLSClientConfig.Insecure, own.TLSClientConfig.CAFile, own.TLSClientConfig.CAData, own.TLSClientConfig.ServerName = true, "", nil, ""
	own.WrapTransport = nil
	transport, err := rest.TransportFor(own)
	if err != nil {
		return fmt.Errorf("client for kubelet: %w", err)
	}
	c.beside = &http.Client{Transport: readOnly{transport, &c.asked}}
	return nil
}

// mostBeside bounds a page of kubelet's.
const mostBeside = 16 << 20

// Beside reads a page of the kubelet of this machine.
func (c *Client) Beside(ctx context.Context, url string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r, err := c.beside.Do(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, r.Status)
	}
	return io.ReadAll(io.LimitReader(r.Body, mostBeside))
}

// Asked is how many requests were made of kubelet so far.
func (c *Client) Asked() int64 { return c.asked.Load() }

// Requests is how many requests were made so far; a watch is one.
func (c *Client) Requests() int64 { return c.requests.Load() }

// NotReadError is of a request that would have changed something: it was not made.
type NotReadError struct{ Method, Path string }

func (e *NotReadError) Error() string {
	return fmt.Sprintf("%s %s is not made: this program changes nothing", e.Method, e.Path)
}

// readOnly is what holds this program to its promise, whatever code is added to it.
type readOnly struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (r readOnly) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet {
		return nil, &NotReadError{q.Method, q.URL.Path}
	}
	r.count.Add(1)
	return r.next.RoundTrip(q)
}

// Annotations reads those of a namespace.
func (c *Client) Annotations(ctx context.Context, namespace string) (map[string]string, error) {
	var of v1.Namespace
	if err := c.rest.Get().Resource("namespaces").Name(namespace).Do(ctx).Into(&of); err != nil {
		return nil, fmt.Errorf("namespace %s: %w", namespace, err)
	}
	return of.Annotations, nil
}
