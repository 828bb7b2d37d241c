package cluster

import (
	"context"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"k8s.io/apimachinery/pkg/util/wait"
)

// versionCheck is how often the database is asked for its version until it can be held.
const versionCheck = 200 * time.Millisecond

// holdVersion keeps the database readable by the etcd of one minor version earlier, which
// refuses the data of a later one, so that a node can go back to the release before. To
// etcd this is the first half of a downgrade: it runs on, with the version before on disk
// (etcd's server/etcdserver/version/monitor.go). The earlier etcd ends the downgrade
// after it has started, and a later one raises the version again. holdVersion returns
// once that version is on disk, seconds after the first start of a release.
func holdVersion(ctx context.Context, s *etcdserver.EtcdServer) error {
	var major, minor int64
	if _, err := fmt.Sscanf(version.APIVersion, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("etcd has the version %q: %w", version.APIVersion, err)
	}
	before := fmt.Sprintf("%d.%d.0", major, minor-1)
	var last error
	err := wait.PollUntilContextCancel(ctx, versionCheck, true, func(ctx context.Context) (bool, error) {
		info, is, disk := s.DowngradeInfo(), s.ClusterVersion(), s.StorageVersion()
		switch {
		case is == nil:
		case info != nil && info.Enabled && info.TargetVersion == before:
			return is.Minor < minor && disk != nil && disk.Minor < minor, nil
		case info != nil && info.Enabled: // as an earlier etcd held it
			_, last = s.Downgrade(ctx, &pb.DowngradeRequest{Action: pb.DowngradeRequest_CANCEL})
		case is.Minor == minor: // etcd raises it in its first seconds
			_, last = s.Downgrade(ctx, &pb.DowngradeRequest{Action: pb.DowngradeRequest_ENABLE, Version: before})
		}
		return false, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("hold the database at version %s: %w", before, last)
	}
	return nil
}
