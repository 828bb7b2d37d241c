package object

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/apimachinery/lease"
)

// A node whose lease was not renewed for leaseDuration may be taken for dead
// (nodeLeaseDurationSeconds of KubeletConfiguration; kubelet renews four times
// in that time).
const (
	leaseDuration = 40 * time.Second
	leaseRenewal  = leaseDuration / 4
)

// heartbeat renews the node's lease until ctx ends. The lease stays behind: that
// it is no longer renewed is how the cluster learns that the node is away.
func (r *Reporter) heartbeat(ctx context.Context) {
	lease.NewController(r.c.Clock, r.c.Client, r.c.Name, int32(leaseDuration.Seconds()), nil,
		leaseRenewal, r.c.Name, v1.NamespaceNodeLease, r.ownLease).Run(ctx)
}

// ownLease makes the lease go when the node's object does.
func (r *Reporter) ownLease(l *coordinationv1.Lease) error {
	if len(l.OwnerReferences) > 0 {
		return nil
	}
	node := r.Node()
	if node == nil {
		return errors.New("the node is not registered")
	}
	l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	return nil
}
