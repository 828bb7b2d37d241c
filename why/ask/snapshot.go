package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/why/record"
)

// mostKept is how many pods, and how many events, of a live cluster a snapshot keeps. Where there are more, they are
// read by their selectors, object by object.
const mostKept = 5000

// lists are the API's objects of a namespace, or of all: each kind is listed once.
type lists struct {
	space string
	kinds map[string]runtime.Object
}

// listed lists kinds at the same time. A kind that cannot be listed is left out; pods are the exception.
func (q *question) listed(ctx context.Context, o metav1.ListOptions, kinds ...string) (lists, error) {
	l := lists{space: q.space, kinds: map[string]runtime.Object{}}
	var mu sync.Mutex
	var podErr error
	each(kinds, func(_ int, kind string) {
		own := o
		if kind == "event" && q.options.Now == nil {
			own.Limit = mostKept
		}
		list, err := q.list(ctx, kind, own)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			l.kinds[kind] = list
		case kind == "pod":
			podErr = err
		default:
			q.told("%s objects are left out: %s", kind, err)
		}
	})
	return l, podErr
}

// itemsOf returns the objects of a kind; none where they could not be listed.
func itemsOf[T any](l lists, kind string) []*T {
	var all []*T
	if list := l.kinds[kind]; list != nil {
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			if one, ok := o.(any).(*T); ok {
				all = append(all, one)
			}
			return nil
		})
	}
	return all
}

// objects returns what all objects of a kind have.
func (l lists) objects(kind string) (all []metav1.Object) {
	if list := l.kinds[kind]; list != nil {
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			if one, err := meta.Accessor(o); err == nil {
				all = append(all, one)
			}
			return nil
		})
	}
	return all
}

// isWhole reports whether all objects of a kind are in its list.
func (l lists) isWhole(kind string) bool {
	list, err := meta.ListAccessor(l.kinds[kind])
	return err == nil && list.GetContinue() == "" && (list.GetRemainingItemCount() == nil || *list.GetRemainingItemCount() == 0)
}

// snapshot answers requests for objects from lists that were read already, and reads other objects and logs at most
// once. Questions to nodes and writes are handed on.
type snapshot struct {
	live  http.RoundTripper
	below string // the path of the API server itself
	space string
	// kinds answer for the objects of each kind that was listed, by [record.Kind.Kind].
	kinds map[string]func() (http.RoundTripper, error)

	mu   sync.Mutex
	read map[string]*page
}

// page is the answer to a request.
type page struct {
	once   sync.Once
	code   int
	header http.Header
	body   []byte
	err    error
}

// within is the same question, answered from lists as far as they go. A recorded case is a snapshot already.
func (q *question) within(l lists) (*question, error) {
	s := *q
	if _, ok := l.kinds["node"]; ok {
		s.nodes = sync.OnceValue(func() (all []v1.Node) {
			for _, n := range itemsOf[v1.Node](l, "node") {
				all = append(all, *n)
			}
			return all
		})
	}
	if q.options.Now != nil {
		return &s, nil
	}
	t := newSnapshot(l, q.http.Transport, q.config.Host)
	client, err := kubernetes.NewForConfigAndClient(q.config, &http.Client{Transport: t, Timeout: q.http.Timeout})
	if err != nil {
		return nil, err
	}
	s.Cluster = q.With(q.options)
	s.client = client
	return &s, nil
}

func newSnapshot(l lists, live http.RoundTripper, host string) *snapshot {
	if live == nil {
		live = http.DefaultTransport
	}
	t := &snapshot{live: live, space: l.space, kinds: map[string]func() (http.RoundTripper, error){}, read: map[string]*page{}}
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		t.below = strings.TrimSuffix(u.Path, "/")
	}
	for _, k := range record.Kinds {
		kind := strings.ToLower(k.Kind)
		if l.kinds[kind] == nil || !l.isWhole(kind) || meta.LenList(l.kinds[kind]) > mostKept {
			continue
		}
		t.kinds[k.Kind] = sync.OnceValues(func() (http.RoundTripper, error) {
			objects, err := keptOf(l.kinds[kind], k)
			if err != nil {
				return nil, err
			}
			kept := record.Case{Manifest: record.Manifest{Namespace: l.space, Held: []string{k.Held(l.space)}}, Objects: objects}
			return kept.Client(false)
		})
	}
	return t
}

// keptOf returns the objects of a list in JSON, each with what it is.
func keptOf(list runtime.Object, k record.Kind) (all []json.RawMessage, err error) {
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,`, k.Version, k.Kind)
	err = meta.EachListItem(list, func(o runtime.Object) error {
		raw, err := json.Marshal(o)
		if err == nil {
			all = append(all, append([]byte(head), raw[1:]...))
		}
		return err
	})
	return all, err
}

// RoundTrip is of [http.RoundTripper].
func (s *snapshot) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.Path, s.below)
	k, space, _, below, known := record.Split(path)
	switch {
	case r.Method != http.MethodGet || !known || len(below) > 0 && below[0] != "log" || r.URL.Query().Has("watch"):
		return s.live.RoundTrip(r)
	case len(below) == 0 && s.kinds[k.Kind] != nil && (!k.Namespaced || s.space == "" || s.space == space):
		kept, err := s.kinds[k.Kind]()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.URL.Path = path
		return kept.RoundTrip(r)
	}
	return s.once(r)
}

// once reads what was not read yet.
func (s *snapshot) once(r *http.Request) (*http.Response, error) {
	key := r.URL.String() + " " + r.Header.Get("Accept")
	s.mu.Lock()
	if s.read[key] == nil {
		s.read[key] = &page{}
	}
	p := s.read[key]
	s.mu.Unlock()
	p.once.Do(func() {
		var w *http.Response
		if w, p.err = s.live.RoundTrip(r); p.err != nil {
			return
		}
		defer w.Body.Close()
		p.code, p.header = w.StatusCode, w.Header
		p.body, p.err = io.ReadAll(w.Body)
	})
	if p.err != nil {
		return nil, p.err
	}
	return &http.Response{
		StatusCode: p.code, Status: http.StatusText(p.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: p.header.Clone(), Body: io.NopCloser(bytes.NewReader(p.body)), ContentLength: int64(len(p.body)), Request: r,
	}, nil
}
