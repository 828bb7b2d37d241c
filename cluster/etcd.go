package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/wait"
)

// etcd's settings for a single member.
const (
	// Entries of the log that are kept in memory between two snapshots. The default
	// (10000, plus 5000 for slow followers, of which there are none here) keeps tens
	// of megabytes of old requests.
	etcdSnapshotCount   = 1000
	etcdCatchUpEntries  = 100
	etcdQuotaBytes      = 2 << 30
	etcdMaxRequestBytes = 1536 * 1024 // the default, and what the API server expects
	// A member that is alone elects itself one to two election timeouts after it
	// started from a log without a snapshot: up to two seconds with the defaults,
	// which leave time for peers to answer over a network.
	etcdTickMillis     = 20
	etcdElectionMillis = 100
)

// socketPoll is how often a starting database is looked for.
const socketPoll = 2 * time.Millisecond

// startEtcd starts the database and returns when it serves. It listens on a unix
// socket only: the directory's mode decides who may connect. It syncs each write
// to disk, so that what the API server acknowledged survives a power cut.
func startEtcd(ctx context.Context, p paths, log *zap.Logger) (*embed.Etcd, error) {
	e, err := embed.StartEtcd(etcdConfig(p, log))
	if err != nil {
		return nil, fmt.Errorf("start etcd in %s: %w", p.etcd, err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err := <-e.Err():
		e.Close()
		return nil, fmt.Errorf("etcd in %s stopped while starting: %w", p.etcd, err)
	case <-ctx.Done():
		e.Close()
		return nil, fmt.Errorf("etcd in %s did not become ready: %w", p.etcd, context.Cause(ctx))
	}
}

// waitSocket returns when something listens on the database's socket, which is
// well before the database serves. Clients that connect from then on wait for it;
// one that came earlier would fail, and try again only after a second.
func waitSocket(ctx context.Context, socket string) error {
	err := wait.PollUntilContextCancel(ctx, socketPoll, true, func(ctx context.Context) (bool, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	})
	if err != nil {
		return fmt.Errorf("wait for etcd's socket %s: %w", socket, err)
	}
	return nil
}

func etcdConfig(p paths, log *zap.Logger) *embed.Config {
	c := embed.NewConfig()
	c.Name = "whylet"
	c.Dir = p.etcd
	c.ListenClientUrls = []url.URL{{Scheme: "unix", Path: p.etcdSocket()}}
	c.ListenPeerUrls = nil
	// Both must be host:port, and neither is ever dialled: there are no peers, and
	// the API server is told the socket.
	local := []url.URL{{Scheme: "http", Host: "localhost:2380"}}
	c.AdvertisePeerUrls, c.AdvertiseClientUrls = local, local
	c.InitialCluster = c.Name + "=" + local[0].String()
	c.TickMs, c.ElectionMs = etcdTickMillis, etcdElectionMillis
	c.SnapshotCount = etcdSnapshotCount
	c.SnapshotCatchUpEntries = etcdCatchUpEntries
	c.QuotaBackendBytes = etcdQuotaBytes
	c.MaxRequestBytes = etcdMaxRequestBytes
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	return c
}

func etcdLogger(log io.Writer) *zap.Logger {
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.ISO8601TimeEncoder
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(encoding), zapcore.AddSync(log), zapcore.ErrorLevel))
}
