package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/serve"
)

// server is an API server of which everything is in a case.
type server struct {
	*Case
	// byPath are the objects, by the path of the list that they are in: /api/v1/pods.
	byPath map[string][]object
	nodes  map[string]func() http.Handler
}

// object is one of the API.
type object struct {
	raw json.RawMessage
	// fields are all of it, for selectors; nil where it cannot be read.
	fields func() map[string]any
	meta   meta
}

// meta names an object of the API.
type meta struct {
	Name, Namespace string
	Labels          map[string]string
}

// Client answers requests to the API server with what the case has: objects and their lists,
// logs, and where facts is set, what the nodes remember. Nothing is sent anywhere. It may be
// used from many goroutines.
func (c *Case) Client(facts bool) (http.RoundTripper, error) {
	s := &server{Case: c, byPath: map[string][]object{}, nodes: map[string]func() http.Handler{}}
	for _, raw := range c.Objects {
		if err := s.add(raw); err != nil {
			return nil, err
		}
	}
	if facts {
		for node, export := range c.Facts {
			s.nodes[node] = sync.OnceValue(func() http.Handler { return c.memory(export) })
		}
	}
	return transport{s}, nil
}

// memory is what a node answers with.
func (c *Case) memory(export []byte) http.Handler {
	file, err := journal.NewFile(bytes.NewReader(export))
	if file == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		})
	}
	now := func() time.Time { return c.Time }
	mux := http.NewServeMux()
	mux.Handle("/why", serve.HandlerAt(file, health.Policy{}, nil, now))
	mux.Handle("/why/facts", serve.FactsHandlerAt(file, now))
	return mux
}

// transport answers requests without a connection.
type transport struct{ http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.ServeHTTP(w, r)
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

func (s *server) add(raw json.RawMessage) error {
	o := object{raw: raw, fields: sync.OnceValue(func() (all map[string]any) {
		_ = json.Unmarshal(raw, &all)
		return all
	})}
	var head struct {
		APIVersion, Kind string
		Metadata         meta
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("%w: %w", ErrNotRecord, err)
	}
	o.meta = head.Metadata
	if k, ok := KindOf(head.APIVersion, head.Kind); ok {
		s.byPath[k.Path("")] = append(s.byPath[k.Path("")], o)
	}
	return nil
}

// ServeHTTP answers as an API server does.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		fail(w, http.StatusNotFound, "a recorded case is read only")
		return
	}
	k, space, name, rest, ok := Split(r.URL.Path)
	switch {
	case !ok:
		fail(w, http.StatusNotFound, "nothing was recorded of it")
	case k.Resource == "nodes" && len(rest) > 1 && rest[0] == "proxy":
		s.node(w, r, name, strings.Join(rest[1:], "/"))
	case k.Resource == "pods" && len(rest) == 1 && rest[0] == "log":
		s.log(w, r, space, name)
	case len(rest) > 0:
		fail(w, http.StatusNotFound, "nothing was recorded of it")
	case name == "":
		s.list(w, r, k, space)
	default:
		s.get(w, k, space, name)
	}
}

// Split reads the path of a request: the kind, and where they are given the namespace, the name and what is below.
func Split(path string) (k Kind, space, name string, rest []string, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	version, after := "", 0
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, after = parts[1], 2
	case len(parts) > 3 && parts[0] == "apis":
		version, after = parts[1]+"/"+parts[2], 3
	default:
		return k, "", "", nil, false
	}
	parts = parts[after:]
	if len(parts) > 2 && parts[0] == "namespaces" {
		space, parts = parts[1], parts[2:]
	}
	if len(parts) > 1 {
		name, rest = parts[1], parts[2:]
	}
	for _, k := range Kinds {
		if k.Version == version && k.Resource == parts[0] {
			return k, space, name, rest, true
		}
	}
	return k, "", "", nil, false
}

// node answers for a node: one whose facts are not asked for has nobody that remembers.
func (s *server) node(w http.ResponseWriter, r *http.Request, node, path string) {
	memory := s.nodes[node]
	if memory == nil {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.Path = "/" + path
	memory().ServeHTTP(w, inner)
}

// log answers with the last lines of a container.
func (s *server) log(w http.ResponseWriter, r *http.Request, space, pod string) {
	q := r.URL.Query()
	text, ok := s.Logs[LogOf(space, pod, q.Get("container"), q.Get("previous") == "true")]
	if !ok {
		fail(w, http.StatusBadRequest, "no log was recorded")
		return
	}
	all := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if most, err := strconv.Atoi(q.Get("tailLines")); err == nil && most >= 0 {
		all = all[max(0, len(all)-most):]
	}
	for i, line := range all {
		if stamp, after, found := bytes.Cut(line, []byte(" ")); found && q.Get("timestamps") != "true" {
			if _, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil {
				all[i] = after
			}
		}
	}
	body := bytes.Join(all, nil)
	if most, err := strconv.Atoi(q.Get("limitBytes")); err == nil && most > 0 {
		body = body[:min(len(body), most)] // as kubelet does
	}
	_, _ = w.Write(body)
}

// holds reports whether the case has all objects of a kind in a namespace.
func (s *server) holds(k Kind, space string) bool {
	if s.Held != nil {
		return slices.Contains(s.Held, k.Held(space)) || slices.Contains(s.Held, k.Held(""))
	}
	return !k.Namespaced || s.Namespace == "" || space == s.Namespace
}

// get answers with one object. Of a list that was not recorded nobody knows what is in it: the
// asker may not look there.
func (s *server) get(w http.ResponseWriter, k Kind, space, name string) {
	known := s.holds(k, space)
	for _, o := range s.byPath[k.Path("")] {
		if o.meta.Namespace == space && o.meta.Name == name {
			write(w, o.raw)
			return
		}
	}
	for _, absent := range s.Absent {
		in, service, of := strings.Cut(absent, "/")
		known = known || k.Resource == "services" && of && in == space && service == name || !of && in == space
		if k.Resource == "namespaces" && absent == name {
			fail(w, http.StatusNotFound, "there is no namespace "+name)
			return
		}
	}
	if !known || k.Resource == "namespaces" && s.Namespace != "" {
		fail(w, http.StatusForbidden, strings.TrimSuffix(fmt.Sprintf("not all %s were recorded of namespace %s", k.Resource, space), " of namespace "))
		return
	}
	fail(w, http.StatusNotFound, fmt.Sprintf("%s %q not found", k.Resource, name))
}

// list answers with the objects that fit the selectors.
func (s *server) list(w http.ResponseWriter, r *http.Request, k Kind, space string) {
	q := r.URL.Query()
	byLabels, err := labels.Parse(q.Get("labelSelector"))
	byFields, wrong := fields.ParseSelector(q.Get("fieldSelector"))
	if err = errors.Join(err, wrong); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	items := []json.RawMessage{}
	for _, o := range s.byPath[k.Path("")] {
		if (space == "" || o.meta.Namespace == space) && byLabels.Matches(labels.Set(o.meta.Labels)) && byFields.Matches(o) {
			items = append(items, o.raw)
		}
	}
	if len(items) == 0 && (space != "" || !k.Namespaced) && !s.holds(k, space) {
		fail(w, http.StatusForbidden, fmt.Sprintf("the %s of namespace %s were not recorded", k.Resource, space))
		return
	}
	meta := map[string]any{"resourceVersion": "1"}
	if !s.holds(k, space) {
		meta["remainingItemCount"] = 1 // at least: the list is not whole
	}
	body, err := json.Marshal(map[string]any{"apiVersion": k.Version, "kind": k.Kind + "List", "metadata": meta, "items": items})
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	write(w, body)
}

// Has and Get give the object's fields to selectors.
func (o object) Has(string) bool { return true }

// Get: see Has.
func (o object) Get(path string) string {
	text, _, _ := unstructured.NestedString(o.fields(), strings.Split(path, ".")...)
	return text
}

func write(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// fail answers with an error as an API server writes it.
func fail(w http.ResponseWriter, code int, message string) {
	reason := map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden", http.StatusBadRequest: "BadRequest"}[code]
	body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message})
	if err != nil {
		http.Error(w, message, code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}
