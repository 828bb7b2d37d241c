package requests

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/record"
)

// MostLists is how many LISTs one question may make.
const MostLists = 12

// Count passes requests on and counts the reads of objects. It may be used from many goroutines.
type Count struct {
	http.RoundTripper
	mu    sync.Mutex
	gets  map[string]int
	lists map[string]int
	known []string // objects that were read though all of their kind were
}

// Counted makes of a recorded case one that answers one question, and counts its requests.
func Counted(c *record.Case, facts bool) (*ask.Cluster, *Count, error) {
	client, err := c.Client(facts)
	if err != nil {
		return nil, nil, err
	}
	count := &Count{RoundTripper: client}
	from, err := ask.Connect(&rest.Config{Host: "http://recorded", Transport: count}, ask.Options{Namespace: c.Namespace, Now: func() time.Time { return c.Time }})
	return from, count, err
}

// RoundTrip is of [http.RoundTripper].
func (c *Count) RoundTrip(r *http.Request) (*http.Response, error) {
	kind, _, name, below, ok := record.Split(r.URL.Path)
	if ok && len(below) == 0 {
		c.mu.Lock()
		if c.gets == nil {
			c.gets, c.lists = map[string]int{}, map[string]int{}
		}
		if name != "" {
			c.gets[r.URL.Path]++
			if c.lists[path.Dir(r.URL.Path)] > 0 {
				c.known = append(c.known, r.URL.Path)
			}
		} else {
			q := r.URL.Query()
			c.lists[strings.TrimSpace(r.URL.Path+" "+q.Get("labelSelector")+" "+q.Get("fieldSelector")+" "+q.Get("continue")+limited(kind, q.Get("limit")))]++
		}
		c.mu.Unlock()
	}
	return c.RoundTripper.RoundTrip(r)
}

// limited tells the LIST of the first two nodes, by which a question knows whether there is one alone, from that of all.
func limited(k record.Kind, limit string) string {
	if k.Resource == "nodes" {
		return limit
	}
	return ""
}

// Lists is how many LISTs were made.
func (c *Count) Lists() (n int) {
	for _, times := range c.lists {
		n += times
	}
	return n
}

// Faults says what one question must not do: make more than [MostLists] LISTs, read a list or an object twice, and read an
// object after all of its kind.
func (c *Count) Faults() (all []string) {
	if n := c.Lists(); n > MostLists {
		all = append(all, fmt.Sprintf("%d LISTs: %s", n, strings.Join(slices.Sorted(maps.Keys(c.lists)), ", ")))
	}
	for _, of := range c.known {
		all = append(all, of+" is read, and all of its kind were")
	}
	for _, reads := range []map[string]int{c.lists, c.gets} {
		for _, what := range slices.Sorted(maps.Keys(reads)) {
			if reads[what] > 1 {
				all = append(all, fmt.Sprintf("%s is read %d times", what, reads[what]))
			}
		}
	}
	return all
}
