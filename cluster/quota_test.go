package cluster

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.uber.org/zap"
)

// smallDatabase is an etcd as ours with a quota of 16 MiB. What it holds is what
// the test puts there.
func smallDatabase(t *testing.T) *embed.Etcd {
	t.Helper()
	config := etcdConfig(paths{etcd: t.TempDir()}, etcdLogger(io.Discard))
	config.QuotaBackendBytes = 16 << 20
	e, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd does not serve")
	}
	return e
}

// fillUp overwrites one key, or writes new ones, until the database takes no more.
func fillUp(t *testing.T, e *etcdserver.EtcdServer, key func(i int) string) {
	t.Helper()
	value := []byte(strings.Repeat("x", 1<<20))
	for i := range 100 {
		_, err := e.Put(t.Context(), &etcdserverpb.PutRequest{Key: []byte(key(i)), Value: value})
		if err == nil {
			continue
		}
		if !errors.Is(err, etcderrors.ErrNoSpace) {
			t.Fatal(err)
		}
		// The alarm is raised behind the refusal, and through the log.
		for !full(e) {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-t.Context().Done():
				t.Fatal("it is full and says nothing")
			}
		}
		return
	}
	t.Fatal("it holds 100 MiB and has a quota of 16")
}

// A database that is full of old versions is usable again once they are removed;
// one that is full of objects is when some were deleted.
func TestMakeRoom(t *testing.T) {
	e := smallDatabase(t).Server
	put := func() error {
		_, err := e.Put(t.Context(), &etcdserverpb.PutRequest{Key: []byte("after"), Value: []byte("x")})
		return err
	}
	fillUp(t, e, func(int) string { return "same" })
	if put() == nil {
		t.Fatal("it is full and takes more")
	}
	if used, err := makeRoom(t.Context(), e); err != nil || full(e) {
		t.Fatalf("full still, of %d bytes: %v", used, err)
	}
	if err := put(); err != nil {
		t.Errorf("there is room: %v", err)
	}

	fillUp(t, e, func(i int) string { return "key-" + strconv.Itoa(i) })
	if used, err := makeRoom(t.Context(), e); err != nil || !full(e) || used < 14<<20 {
		t.Fatalf("nothing could be removed, and it holds %d bytes: full: %v, %v", used, full(e), err)
	}
	if _, err := e.DeleteRange(t.Context(), &etcdserverpb.DeleteRangeRequest{Key: []byte("key-"), RangeEnd: []byte("key-9")}); err != nil {
		t.Fatalf("a full database must let go: %v", err)
	}
	if _, err := makeRoom(t.Context(), e); err != nil || full(e) {
		t.Fatalf("full although objects were deleted: %v", err)
	}
	if err := put(); err != nil {
		t.Errorf("there is room: %v", err)
	}
}

// What would end the process ends the database alone, and tells why.
func TestDatabaseGivesUp(t *testing.T) {
	told := make(chan *DatabaseError, 2)
	log := databaseLogger(io.Discard, func(err *DatabaseError) { told <- err })
	noSpace := &os.PathError{Op: "write", Path: "db", Err: syscall.ENOSPC}
	// Neither comes back, nor ends the test.
	go log.Fatal("failed to commit tx", zap.Error(noSpace))
	err := <-told
	if !errors.Is(err, syscall.ENOSPC) || !err.NoSpace() || err.Error() != "etcd: failed to commit tx: write db: no space left on device" {
		t.Errorf("it told %v", err)
	}
	go log.Panic("failed to save snapshot", zap.Error(noSpace))
	broken := &DatabaseError{Doing: "failed to read", Err: syscall.EIO}
	if broken.NoSpace() || (&DatabaseError{Doing: "failed"}).NoSpace() {
		t.Error("want of space is seen where there is none")
	}
}
