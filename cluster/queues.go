package cluster

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	"k8s.io/client-go/util/workqueue"
)

// queueLook is how often the gauges of work in progress are set.
const queueLook = time.Second

// queueProvider is where work queues get their metrics from. It can be set once,
// and Kubernetes' metrics packages do so before main runs.
//
//go:linkname queueProvider k8s.io/client-go/util/workqueue.globalMetricsProvider
var queueProvider workqueue.MetricsProvider

// queueMetrics are Kubernetes' own metrics of work queues, except that one timer
// sets the two gauges of work in progress for all queues. A queue brings a timer of
// its own for them, which fires twice a second: with ninety queues that was most of
// what woke an idle process.
type queueMetrics struct {
	workqueue.MetricsProvider

	mu     sync.Mutex
	queues map[string]*inProgress
}

func newQueueMetrics(own workqueue.MetricsProvider) *queueMetrics {
	return &queueMetrics{MetricsProvider: own, queues: make(map[string]*inProgress)}
}

// queue is what is known of the queues of one name.
func (m *queueMetrics) queue(name string) *inProgress {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[name]
	if q == nil {
		q = &inProgress{
			seconds: m.MetricsProvider.NewUnfinishedWorkSecondsMetric(name),
			longest: m.MetricsProvider.NewLongestRunningProcessorSecondsMetric(name),
		}
		m.queues[name] = q
	}
	return q
}

// run sets the gauges until ctx ends.
func (m *queueMetrics) run(ctx context.Context) error {
	tick := time.NewTicker(queueLook)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.set(time.Now())
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *queueMetrics) set(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range m.queues {
		q.set(now)
	}
}

// NewDepthMetric returns the depth, which is decreased when work on an item begins.
func (m *queueMetrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	return begins{m.MetricsProvider.NewDepthMetric(name), m.queue(name)}
}

// NewWorkDurationMetric returns the durations, one of which is told when work on an item ends.
func (m *queueMetrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return ends{m.MetricsProvider.NewWorkDurationMetric(name), m.queue(name)}
}

// NewUnfinishedWorkSecondsMetric returns what ends the queue's own timer.
func (m *queueMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return endsTimer{}
}

// NewLongestRunningProcessorSecondsMetric returns what ends the queue's own timer.
func (m *queueMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return endsTimer{}
}

// endsTimer is a gauge that only a queue's own timer sets, in a goroutine that
// does nothing else and leaves nothing locked when it ends.
type endsTimer struct{}

func (endsTimer) Set(float64) { runtime.Goexit() }

type begins struct {
	workqueue.GaugeMetric
	queue *inProgress
}

func (b begins) Dec() {
	b.GaugeMetric.Dec()
	b.queue.begin(time.Now())
}

type ends struct {
	workqueue.HistogramMetric
	queue *inProgress
}

func (e ends) Observe(seconds float64) {
	e.HistogramMetric.Observe(seconds)
	e.queue.end(time.Now(), time.Duration(seconds*float64(time.Second)))
}

// inProgress holds when work began on each item that is being worked on.
type inProgress struct {
	seconds, longest workqueue.SettableGaugeMetric

	mu    sync.Mutex
	began []time.Time
}

func (q *inProgress) begin(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began = append(q.began, now)
}

// end removes an item that took so long. Which one it was is not said: the one whose
// beginning fits best.
func (q *inProgress) end(now time.Time, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	best := -1
	for i, began := range q.began {
		if best < 0 || (now.Sub(began)-took).Abs() < (now.Sub(q.began[best])-took).Abs() {
			best = i
		}
	}
	if best >= 0 {
		q.began = slices.Delete(q.began, best, best+1)
	}
}

func (q *inProgress) set(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var sum, longest time.Duration
	for _, began := range q.began {
		age := now.Sub(began)
		sum, longest = sum+age, max(longest, age)
	}
	q.seconds.Set(sum.Seconds())
	q.longest.Set(longest.Seconds())
}
