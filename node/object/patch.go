package object

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	nodeutil "k8s.io/component-helpers/node/util"
)

// callTimeout bounds every call, so that a connection on which nothing answers is
// given up before the next look (kubelet's heartbeat client has the same bound).
const callTimeout = lookEvery

// patch writes what differs between two states of the object. The borrowed
// function knows no context, so it is given nodes that do.
func (r *Reporter) patch(ctx context.Context, old, node *v1.Node) (*v1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	updated, _, err := nodeutil.PatchNodeStatus(within{r.c.Client.CoreV1(), ctx}, types.NodeName(r.c.Name), old, node)
	return updated, err
}

// within is the core API, with nodes that are patched within a context.
type within struct {
	typedv1.CoreV1Interface
	ctx context.Context
}

// Nodes implements CoreV1Interface.
func (w within) Nodes() typedv1.NodeInterface {
	return nodesWithin{w.CoreV1Interface.Nodes(), w.ctx}
}

type nodesWithin struct {
	typedv1.NodeInterface
	ctx context.Context
}

// Patch implements NodeInterface.
func (n nodesWithin) Patch(_ context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*v1.Node, error) {
	return n.NodeInterface.Patch(n.ctx, name, kind, data, o, subresources...)
}
