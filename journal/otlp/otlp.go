package otlp

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"whylet.dev/whylet/fact"
)

// Journal is what is followed: see journal.Journal.
type Journal interface {
	Tail(ctx context.Context, from fact.ID) iter.Seq2[fact.Fact, error]
}

// Options says where the facts go.
type Options struct {
	// Endpoint is the collector: http://host:4317 for gRPC, http://host:4318/v1/logs, which has
	// a path, for HTTP; https with TLS and the machine's certificate authorities.
	Endpoint string
	// Headers are sent with each request, such as who asks.
	Headers http.Header
	// Node and Version name the sender.
	Node, Version string
	Log           *slog.Logger
	// WithValues leaves in what facts lose when they leave a node: values of variables and headers, and secrets.
	WithValues bool

	// Queue is how many facts wait for the collector at most; 0: 8192.
	Queue int
}

// Exporter sends facts. Its numbers may be read from any goroutine.
type Exporter struct {
	options   Options
	transport transport
	queue     chan fact.Fact

	sent, dropped atomic.Int64
	trouble       atomic.Pointer[string] // see Degraded
}

const (
	// batchSize and batchWait bound what goes in one request.
	batchSize = 512
	batchWait = time.Second
	// sendTimeout bounds one request; between two of them, when the collector does
	// not answer, is a pause of leastPause, doubled up to mostPause.
	sendTimeout = 10 * time.Second
	leastPause  = 500 * time.Millisecond
	mostPause   = 30 * time.Second
)

// New makes an exporter. It does not connect yet: a collector may come later. The
// error says what is wrong with the endpoint.
func New(o Options) (*Exporter, error) {
	t, err := dial(o.Endpoint, o.Headers)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Queue <= 0 {
		o.Queue = 8192
	}
	return &Exporter{options: o, transport: t, queue: make(chan fact.Fact, o.Queue)}, nil
}

// Sent and Dropped count facts.
func (e *Exporter) Sent() int64    { return e.sent.Load() }
func (e *Exporter) Dropped() int64 { return e.dropped.Load() }

// Degraded says why facts wait or are lost; empty once the collector has taken a
// whole request again.
func (e *Exporter) Degraded() string {
	if why := e.trouble.Load(); why != nil {
		return *why
	}
	return ""
}

// Run sends the facts with ids from the given one on, until ctx ends, and closes
// the exporter. What is queued then is lost.
func (e *Exporter) Run(ctx context.Context, j Journal, from fact.ID) {
	defer e.transport.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.follow(ctx, j, from)
	}()
	for batch := e.next(ctx); batch != nil; batch = e.next(ctx) {
		e.send(ctx, batch)
	}
	<-done
}

// follow queues what is written, and never waits for room.
func (e *Exporter) follow(ctx context.Context, j Journal, from fact.ID) {
	for f, err := range j.Tail(ctx, from) {
		if err != nil {
			e.options.Log.Warn("a fact could not be read, and is not exported", "error", err)
			continue
		}
		select {
		case e.queue <- f:
		default:
			e.drop(1, "the collector is slower than the facts come")
		}
	}
}

// drop counts, and says the first of a thousand.
func (e *Exporter) drop(n int, why string) {
	e.trouble.Store(&why)
	if before := e.dropped.Add(int64(n)) - int64(n); before/1000 != (before+int64(n))/1000 || before == 0 {
		e.options.Log.Warn("facts are not exported", "dropped so far", e.dropped.Load(), "reason", why)
	}
}

// next waits for a fact, and then a little for more; nil when ctx has ended.
func (e *Exporter) next(ctx context.Context) []fact.Fact {
	var batch []fact.Fact
	select {
	case <-ctx.Done():
		return nil
	case f := <-e.queue:
		batch = append(batch, f)
	}
	full := time.NewTimer(batchWait)
	defer full.Stop()
	for len(batch) < batchSize {
		select {
		case <-ctx.Done():
			return nil
		case f := <-e.queue:
			batch = append(batch, f)
		case <-full.C:
			return batch
		}
	}
	return batch
}

// send tries until the collector has the batch, or says that it never will.
func (e *Exporter) send(ctx context.Context, batch []fact.Fact) {
	request := e.request(batch)
	count := len(request.ResourceLogs[0].ScopeLogs[0].LogRecords)
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		call, cancel := context.WithTimeout(ctx, sendTimeout)
		reply, err := e.transport.export(call, request)
		cancel()
		switch {
		case err == nil:
			refused := int(reply.GetPartialSuccess().GetRejectedLogRecords())
			e.sent.Add(int64(count - refused))
			e.trouble.Store(nil)
			if refused > 0 {
				e.drop(refused, reply.GetPartialSuccess().GetErrorMessage())
			}
			return
		case ctx.Err() != nil:
			return
		case !temporary(status.Code(err)):
			e.drop(count, err.Error())
			return
		}
		why := "the collector takes nothing now: " + status.Convert(err).Message()
		e.trouble.Store(&why)
		e.options.Log.Debug("the collector takes nothing now", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// temporary are the failures after which OTLP says to try again.
func temporary(c codes.Code) bool {
	switch c {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss, codes.ResourceExhausted:
		return true
	}
	return false
}

func (e *Exporter) request(batch []fact.Fact) *collectorpb.ExportLogsServiceRequest {
	logs := &logspb.ScopeLogs{Scope: &commonpb.InstrumentationScope{Name: "whylet.dev/whylet/journal", Version: e.options.Version}}
	for _, f := range batch {
		r, err := record(e.leaving(f))
		if err != nil {
			e.drop(1, err.Error())
			continue
		}
		logs.LogRecords = append(logs.LogRecords, r)
	}
	resource := &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
		{Key: "service.name", Value: text("whylet")},
		{Key: "service.version", Value: text(e.options.Version)},
		{Key: "k8s.node.name", Value: text(e.options.Node)},
	}}
	return &collectorpb.ExportLogsServiceRequest{ResourceLogs: []*logspb.ResourceLogs{{Resource: resource, ScopeLogs: []*logspb.ScopeLogs{logs}}}}
}
