package web

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/web/perfetto"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// Trace writes a pod's history, or without a name that of its node, as a trace that
// ui.perfetto.dev opens. The error is that of [Pod], or the writer's.
func Trace(w io.Writer, s journal.Source, namespace, name, uid string) error {
	q := serve.Question{Namespace: namespace, Name: name, UID: types.UID(uid), Options: why.Options{Now: s.Stats().Last}}
	part, err := timeline.PodInput{}, error(nil)
	if name == "" && uid == "" {
		part, err = Node(s, q, nodeOf(s))
	} else {
		part, err = Pod(s, q, nodeOf(s))
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(perfetto.Trace(Of(answer.Answer{AsOf: q.Now}, "", part))); err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	return nil
}
