package node

import (
	"hash/maphash"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// queuedRecorder is several recorders, each with a queue of its own. The events of one object
// share a queue, so that they are posted in the order in which they were recorded, and counted
// where they repeat. It is safe for concurrent use.
type queuedRecorder []record.EventRecorderLogger

var recorderSeed = maphash.MakeSeed()

// of is the recorder of an object's events.
func (r queuedRecorder) of(object runtime.Object) record.EventRecorderLogger {
	return r[maphash.String(recorderSeed, uid(object))%uint64(len(r))]
}

func uid(object runtime.Object) string {
	if ref, ok := object.(*v1.ObjectReference); ok {
		return string(ref.UID)
	}
	if o, err := meta.Accessor(object); err == nil {
		return string(o.GetUID())
	}
	return ""
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
