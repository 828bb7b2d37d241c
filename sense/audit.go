package sense

import (
	"context"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// Audit takes what the control plane tells of requests about pods. It knows them by
// name, and not always by UID; what is about a pod of another node is left out.
type Audit <-chan fact.Fact

// Run implements [Source].
func (a Audit) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-a:
			if pod, ok := known.Named(f.Pod.Namespace, f.Pod.Name, f.At); ok && (f.Pod.UID == "" || f.Pod.UID == pod.Key.UID) {
				f.Pod = pod.Key
				emit(f)
			}
		}
	}
}
