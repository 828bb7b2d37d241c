package cluster

import (
	"context"
	"io"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// A database stays at the version before etcd's own: from its first start, after
// another start, and after an earlier etcd ended the downgrade.
func TestHoldVersion(t *testing.T) {
	p := paths{etcd: t.TempDir()}
	for _, raised := range []bool{false, false, true} {
		e, err := startEtcd(t.Context(), p, etcdLogger(io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		if raised {
			if _, err := e.Server.Downgrade(t.Context(), &pb.DowngradeRequest{Action: pb.DowngradeRequest_CANCEL}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := holdVersion(ctx, e.Server); err != nil {
			t.Error(err)
		}
		cancel()
		if cluster, disk := e.Server.ClusterVersion(), e.Server.StorageVersion(); cluster.String() != "3.6.0" || disk.String() != "3.6.0" {
			t.Errorf("the cluster's version is %s, that on disk %s", cluster, disk)
		}
		e.Close()
	}
}
