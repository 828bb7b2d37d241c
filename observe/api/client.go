package api

import (
	"fmt"
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
	return c, nil
}

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
