package otlp

import (
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

// collector receives log records. fail says what it answers first.
type collector struct {
	collectorpb.UnimplementedLogsServiceServer
	mu      sync.Mutex
	fail    []error
	records []*logspb.LogRecord
	node    string
	asker   string        // what came as the header Authorization
	tried   chan struct{} // sent to at each request, if there is room
}

func (c *collector) Export(ctx context.Context, r *collectorpb.ExportLogsServiceRequest) (*collectorpb.ExportLogsServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.tried <- struct{}{}:
	default:
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		c.asker = strings.Join(md.Get("authorization"), " ")
	}
	if len(c.fail) > 0 {
		err := c.fail[0]
		c.fail = c.fail[1:]
		return nil, err
	}
	for _, resource := range r.ResourceLogs {
		for _, a := range resource.Resource.Attributes {
			if a.Key == "k8s.node.name" {
				c.node = a.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeLogs {
			c.records = append(c.records, scope.LogRecords...)
		}
	}
	return &collectorpb.ExportLogsServiceResponse{}, nil
}

func (c *collector) received() []*logspb.LogRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*logspb.LogRecord(nil), c.records...)
}

// listen serves a collector and gives its endpoint.
func (c *collector) listen(t *testing.T) string {
	t.Helper()
	c.tried = make(chan struct{}, 1000)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collectorpb.RegisterLogsServiceServer(s, c)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return "http://" + l.Addr().String()
}

// serve is the same by HTTP.
func (c *collector) serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := &collectorpb.ExportLogsServiceRequest{}
		if err := proto.Unmarshal(body, request); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/logs" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			http.Error(w, "no OTLP", http.StatusBadRequest)
			return
		}
		reply, err := c.Export(metadata.NewIncomingContext(r.Context(), metadata.Pairs("authorization", r.Header.Get("Authorization"))), request)
		switch {
		case status.Code(err) == codes.Unavailable:
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, "no", http.StatusBadRequest)
		default:
			w.Header().Set("Content-Type", "application/x-protobuf")
			data, _ := proto.Marshal(reply)
			_, _ = w.Write(data)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/logs"
}

func run(t *testing.T, o Options, j Journal, from fact.ID) *Exporter {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Run(ctx, j, from)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return e
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func exited(id fact.ID) fact.Fact {
	return fact.Fact{
		ID: id, At: time.Unix(100, 5).UTC(), Seen: time.Unix(101, 0).UTC(), Pod: fact.Pod{Namespace: "shop", Name: "web", UID: "u"},
		Container: "app", Attempt: 2, Because: []fact.ID{7}, Body: fact.Exited{ExitCode: 137},
	}
}

// both runs a test with a collector by gRPC and by HTTP.
func both(t *testing.T, test func(t *testing.T, listen func(c *collector) string)) {
	t.Run("gRPC", func(t *testing.T) { test(t, func(c *collector) string { return c.listen(t) }) })
	t.Run("HTTP", func(t *testing.T) { test(t, func(c *collector) string { return c.serve(t) }) })
}

func TestFactsOfAJournalArrive(t *testing.T) { both(t, factsArrive) }

func factsArrive(t *testing.T, listen func(c *collector) string) {
	j, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	write := func() fact.ID {
		f := exited(j.Next(1))
		if err := j.Append(f); err != nil {
			t.Fatal(err)
		}
		return f.ID
	}
	before := write()
	c := &collector{fail: []error{status.Error(codes.Unavailable, "not yet")}}
	headers, err := ReadHeaders(strings.NewReader("Authorization: Bearer sesame\nX-Tenant: a\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := run(t, Options{Endpoint: listen(c), Headers: headers, Node: "n1", Version: "v1"}, j, before+1)
	want := write()
	waitFor(t, "the fact is sent", func() bool { return e.Sent() == 1 })
	waitFor(t, "all is well again", func() bool { return e.Degraded() == "" })
	got := c.received()
	if len(got) != 1 || c.node != "n1" || c.asker != "Bearer sesame" {
		t.Fatalf("received %v of %q, who is %q", got, c.node, c.asker)
	}
	r := got[0]
	if r.EventName != "whylet.Exited" || r.SeverityText != "WARN" || r.TimeUnixNano != 100_000_000_005 || r.ObservedTimeUnixNano != 101_000_000_000 {
		t.Errorf("received %v", r)
	}
	values := map[string]string{}
	var id int64
	for _, a := range r.Attributes {
		values[a.Key] = a.Value.GetStringValue()
		if a.Key == "whylet.fact.id" {
			id = a.Value.GetIntValue()
		}
	}
	if fact.ID(id) != want || values["k8s.pod.name"] != "web" || values["k8s.container.name"] != "app" || values["whylet.fact.kind"] != "Exited" {
		t.Errorf("fact %d has attributes %v", id, values)
	}
	var back fact.Fact
	if err := back.UnmarshalJSON([]byte(r.Body.GetStringValue())); err != nil || back.ID != want {
		t.Errorf("its body is %s (%v)", r.Body.GetStringValue(), err)
	}
}

// given is a journal of a fixed number of facts.
type given int

func (n given) Tail(ctx context.Context, _ fact.ID) iter.Seq2[fact.Fact, error] {
	return func(yield func(fact.Fact, error) bool) {
		for i := range int(n) {
			if !yield(exited(fact.ID(i+1)), nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

func TestNobodyWaitsForACollectorThatIsGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "http://" + l.Addr().String()
	l.Close()
	e := run(t, Options{Endpoint: endpoint, Queue: 10}, given(5000), 1)
	// One batch is under way, and as many as the queue holds wait.
	waitFor(t, "the rest is dropped", func() bool { return e.Dropped() >= 5000-batchSize-10 })
	if e.Sent() != 0 {
		t.Errorf("%d were sent to nobody", e.Sent())
	}
	if e.Degraded() == "" {
		t.Error("nobody says that they are lost")
	}
}

func TestWhatIsRefusedIsDropped(t *testing.T) {
	both(t, func(t *testing.T, listen func(c *collector) string) {
		c := &collector{fail: []error{status.Error(codes.InvalidArgument, "no")}}
		e := run(t, Options{Endpoint: listen(c)}, given(3), 1)
		waitFor(t, "they are dropped or sent", func() bool { return e.Dropped()+e.Sent() == 3 })
		if e.Dropped() == 0 {
			t.Error("a refused batch was sent again")
		}
	})
}

func FuzzReadHeaders(f *testing.F) {
	f.Add("Authorization: Bearer sesame\nX-Tenant: a")
	f.Add("no header")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ReadHeaders(strings.NewReader(text))
		if (err == nil) != (len(h) > 0) {
			t.Errorf("%v, %v", h, err)
		}
		for name := range h {
			if strings.ContainsAny(name, "\r\n") {
				t.Errorf("%q", name)
			}
		}
	})
}

func TestEndpoints(t *testing.T) {
	for endpoint, ok := range map[string]bool{
		"http://127.0.0.1:4317": true, "https://otel.example:4317/": true,
		"127.0.0.1:4317": false, "http://host": false, "grpc://host:4317": false, "ftp://host/v1/logs": false, "": false,
		"http://host:4318/v1/logs": true, "https://otel.example/v1/logs": true,
	} {
		e, err := New(Options{Endpoint: endpoint})
		if (err == nil) != ok {
			t.Errorf("%q: %v", endpoint, err)
		}
		if e != nil {
			e.transport.close()
		}
	}
}
