package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
)

// quotaEvery is how often the database is asked whether it is full.
const quotaEvery = 15 * time.Second

// keepQuota makes a full database usable again, until ctx ends. etcd refuses all
// that would make it grow from the moment it reaches its quota, and goes on
// refusing until an operator has made room and says so; here the operator is this
// loop. progress hears what is waited for, and an empty text when it is over.
func keepQuota(ctx context.Context, etcd *etcdserver.EtcdServer, progress func(string), log *slog.Logger) {
	tick := time.NewTicker(quotaEvery)
	defer tick.Stop()
	told := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if !full(etcd) {
			continue
		}
		used, err := makeRoom(ctx, etcd)
		switch {
		case err != nil:
			log.Error("the database is full, and no room can be made in it", "error", err)
		case full(etcd):
			told = true
			progress(fmt.Sprintf("waiting for room in the database: it holds %d MiB, and at %d MiB it takes nothing new; delete what is not needed (kubectl get events,configmaps,secrets -A)",
				used>>20, etcd.Cfg.QuotaBackendBytes>>20))
		default:
			log.Warn("the database was full; what was old in it is removed, and it takes new objects again", "MiB", used>>20)
			if told {
				progress("")
			}
			told = false
		}
	}
}

// full says whether the database refuses what would make it grow.
func full(etcd *etcdserver.EtcdServer) bool {
	return slices.ContainsFunc(etcd.Alarms(), func(a *etcdserverpb.AlarmMember) bool { return a.Alarm == etcdserverpb.AlarmType_NOSPACE })
}

// makeRoom removes all old versions of objects, which clients that read on from one
// notice as an expired resource version, gives their room back, and lets the
// database grow again if that was enough. It returns how large it is then.
func makeRoom(ctx context.Context, etcd *etcdserver.EtcdServer) (used int64, err error) {
	if now := etcd.KV().Rev(); now > etcd.KV().FirstRev() {
		if _, err := etcd.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: now, Physical: true}); err != nil {
			return 0, fmt.Errorf("compact the database: %w", err)
		}
	}
	// A tenth to go on with, or it would be full again at once. Giving room back takes
	// all that is in use to a new file: not for nothing.
	most := etcd.Cfg.QuotaBackendBytes / 10 * 9
	if used, err = inUse(ctx, etcd, most); err != nil || used > most {
		return used, err
	}
	if err := etcd.Backend().Defrag(); err != nil {
		return 0, fmt.Errorf("defragment the database: %w", err)
	}
	used = etcd.Backend().Size()
	_, err = etcd.Alarm(ctx, &etcdserverpb.AlarmRequest{
		MemberID: uint64(etcd.MemberID()), Action: etcdserverpb.AlarmRequest_DEACTIVATE, Alarm: etcdserverpb.AlarmType_NOSPACE,
	})
	if err != nil {
		return used, fmt.Errorf("end the database's alarm: %w", err)
	}
	return used, nil
}

const commitTries, commitEvery = 20, 50 * time.Millisecond

// inUse is how much of the database's file is in use, once that is at most what is
// hoped for, or after a second. What was removed counts as free with a commit that
// finds nobody reading what was before, and etcd's own reader ends beside the commit
// that replaces it (etcd: server/storage/backend/batch_tx.go, unsafeCommit).
func inUse(ctx context.Context, etcd *etcdserver.EtcdServer, hoped int64) (used int64, err error) {
	for range commitTries {
		etcd.Backend().ForceCommit()
		if used = etcd.Backend().SizeInUse(); used <= hoped {
			return used, nil
		}
		select {
		case <-time.After(commitEvery):
		case <-ctx.Done():
			return used, ctx.Err()
		}
	}
	return used, nil
}
