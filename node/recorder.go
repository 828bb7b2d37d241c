package node

import (
	"fmt"
	"hash/fnv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	ref "k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"
)

// queuedRecorder is several recorders, each with a queue of its own. The events of one object
// share a queue, so that they are posted in the order in which they were recorded, and counted
// where they repeat. It is safe for concurrent use.
type queuedRecorder []record.EventRecorderLogger

// of returns the recorder of an object's events, which is the same in every run. What is no
// object has the first.
func (r queuedRecorder) of(object runtime.Object) record.EventRecorderLogger {
	about, err := ref.GetReference(scheme.Scheme, object)
	if err != nil {
		return r[0]
	}
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%s/%s", about.Kind, about.Namespace, about.Name)
	return r[h.Sum32()%uint32(len(r))]
}

func (r queuedRecorder) Event(object runtime.Object, kind, reason, message string) {
	r.of(object).Event(object, kind, reason, message)
}

func (r queuedRecorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.of(object).Eventf(object, kind, reason, format, args...)
}

func (r queuedRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	r.of(object).AnnotatedEventf(object, annotations, kind, reason, format, args...)
}

func (r queuedRecorder) WithLogger(logger klog.Logger) record.EventRecorderLogger {
	all := make(queuedRecorder, len(r))
	for i := range r {
		all[i] = r[i].WithLogger(logger)
	}
	return all
}
