package cluster

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// TestQueueMetrics works at two items of a queue and looks at the gauges of work
// in progress, without and with a timer of the queue's own.
func TestQueueMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := &gauges{values: make(map[string]float64)}
		metrics := newQueueMetrics(own)
		queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "q", MetricsProvider: metrics})
		queue.Add("first")
		first, _ := queue.Get()
		time.Sleep(3 * time.Second)
		queue.Add("second")
		second, _ := queue.Get()
		time.Sleep(time.Second)

		expect := func(when string, unfinished, longest float64) {
			t.Helper()
			metrics.set(time.Now())
			if got := own.get("unfinished"); got != unfinished {
				t.Errorf("%s: %v seconds of unfinished work, expected %v", when, got, unfinished)
			}
			if got := own.get("longest"); got != longest {
				t.Errorf("%s: %v seconds of longest work, expected %v", when, got, longest)
			}
		}
		expect("two at work", 5, 4)
		queue.Done(first)
		expect("the older is done", 1, 1)
		queue.Done(second)
		expect("both are done", 0, 0)
		if got := own.get("depth"); got != 0 {
			t.Errorf("the depth is %v", got)
		}
		queue.ShutDown() // waits for the goroutine of the queue's own timer
		if own.get("worked") != 2 {
			t.Errorf("%v durations were observed, expected 2", own.get("worked"))
		}
	})
}

// gauges is a metrics provider that remembers values by kind.
type gauges struct {
	mu     sync.Mutex
	values map[string]float64
}

func (g *gauges) get(kind string) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.values[kind]
}

type gauge struct {
	all  *gauges
	kind string
}

func (g gauge) add(n float64) {
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	g.all.values[g.kind] += n
}

func (g gauge) Inc()            { g.add(1) }
func (g gauge) Dec()            { g.add(-1) }
func (g gauge) Observe(float64) { g.add(1) }
func (g gauge) Set(value float64) {
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	g.all.values[g.kind] = value
}

func (g *gauges) NewDepthMetric(string) workqueue.GaugeMetric       { return gauge{g, "depth"} }
func (g *gauges) NewAddsMetric(string) workqueue.CounterMetric      { return gauge{g, "adds"} }
func (g *gauges) NewLatencyMetric(string) workqueue.HistogramMetric { return gauge{g, "waited"} }
func (g *gauges) NewWorkDurationMetric(string) workqueue.HistogramMetric {
	return gauge{g, "worked"}
}

func (g *gauges) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return gauge{g, "unfinished"}
}

func (g *gauges) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return gauge{g, "longest"}
}
func (g *gauges) NewRetriesMetric(string) workqueue.CounterMetric { return gauge{g, "retries"} }
