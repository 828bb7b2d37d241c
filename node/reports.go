package node

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	kubeletpod "k8s.io/kubernetes/pkg/kubelet/pod"

	"whylet.dev/whylet/node/object"
	"whylet.dev/whylet/node/report"
	"whylet.dev/whylet/node/server"
	"whylet.dev/whylet/node/static"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
)

// reports are what the node tells the API server and Prometheus.
type reports struct {
	known     pods.Registry
	own       *object.Own
	recorder  record.EventRecorderLogger
	events    *report.Events
	static    *static.Pods
	publisher *report.Publisher
	metrics   *report.Metrics
	probed    *report.ProbeMetrics
	// numbers and attempts are what metrics and probed count in.
	numbers, attempts *prometheus.Registry
}

func newReports(ctx context.Context, g ground, own *object.Own, known pods.Registry, probing func() probe.Stats, closing *closers) (r reports, err error) {
	c := g.config
	r = reports{known: known, own: own, recorder: newRecorder(context.WithoutCancel(ctx), g, closing), numbers: server.NewRegistry(), attempts: prometheus.NewRegistry()}
	r.events = report.NewEvents(r.recorder)
	r.static = static.New(c.StaticPodDir, c.Name, kubeletpod.NewBasicMirrorClient(g.client, c.Name, own), r.recorder, c.Log)
	r.publisher = report.NewPublisher(g.client, r.static.UID, c.Log)
	if r.metrics, err = report.NewMetrics(r.numbers, probing, known); err != nil {
		return r, fmt.Errorf("register the node's metrics: %w", err)
	}
	if r.probed, err = report.NewProbeMetrics(r.attempts); err != nil {
		return r, fmt.Errorf("register the probes' metrics: %w", err)
	}
	return r, nil
}

// component is the source of the events. It is kubelet's name, because that is
// what people's queries and alerts look for.
const component = "kubelet"

// recorderQueues is how many queues of events there are. A write that fails for want of an
// answer is tried again after up to ten seconds, and all that is queued behind it waits.
const recorderQueues = 16

// newRecorder posts events as kubelet does, but without its limit of 25 in a row a
// pod: an event that is dropped is a question that nobody can answer.
func newRecorder(ctx context.Context, g ground, closing *closers) record.EventRecorderLogger {
	var r queuedRecorder
	for range recorderQueues {
		broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{
			BurstSize: 1000, QPS: 10, MaxEvents: 1000,
		}))
		broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: g.client.CoreV1().Events("")})
		closing.add(broadcaster.Shutdown)
		r = append(r, broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: component, Host: g.config.Name}))
	}
	return r
}

// nodeEvent records an event about the node. Until the node is registered, its name stands for its
// UID: kubectl describe looks for both. It does not wait for that, as registration itself posts events.
func (r reports) nodeEvent(name string) func(object.Event) {
	return func(e object.Event) {
		ref := &v1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: name, UID: types.UID(name)}
		if node := r.own.Node(); node != nil && node.UID != "" {
			ref.UID = node.UID
		}
		r.recorder.Event(ref, e.Type, e.Reason, e.Message)
	}
}

// statusSeen hears which status of a pod the API server has.
func (r reports) statusSeen(pod *v1.Pod, first bool) {
	if first {
		r.publisher.Seen(pods.KeyOf(pod), pod.Status)
		return
	}
	p, ok := r.known.Get(pod.UID)
	if ok && r.publisher.Overwritten(p.Key, p.Status, pod) {
		r.publisher.Again(p.Key, p.Status)
	}
}

// mirrored hears of a mirror pod: its static pod's status belongs there.
func (r reports) mirrored(mirror *v1.Pod, gone bool) {
	pod, ok := r.static.Mirrored(mirror, gone)
	if !ok {
		return
	}
	if p, known := r.known.Get(pod.UID); known {
		r.publisher.Again(pod, p.Status)
	}
}
