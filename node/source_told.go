package node

import "context"

// hear takes what the control plane tells of pods. It knows them by name; what is
// about a pod of another node is left out.
func (n *node) hear(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-n.config.Told:
			if pod, ok := n.known.Named(f.Pod.Namespace, f.Pod.Name, f.At); ok {
				f.Pod = pod.Key
				n.submit(f)
			}
		}
	}
}
