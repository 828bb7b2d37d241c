package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// etcdReserve is how much the database can grow on a full disk, in bytes.
	etcdReserve = 64 << 20
	// reserveEvery is how often the reserve is made up after the database has grown.
	reserveEvery = time.Minute
)

// etcd ends the process when it cannot write a page of its database (a failed
// commit in server/storage/backend/batch_tx.go is fatal), and so one pod that fills
// the disk would end the node. The log of writes is allocated ahead, 64 MiB at a
// time; the database is not, so blocks are reserved behind its end.

// keepReserve keeps blocks reserved until ctx ends.
func keepReserve(ctx context.Context, p paths, log *slog.Logger) {
	file := filepath.Join(p.etcd, "member", "snap", "db")
	tick := time.NewTicker(reserveEvery)
	defer tick.Stop()
	for {
		if err := reserve(file, etcdReserve); err != nil {
			log.Warn("no disk space could be kept for the database; a full disk may end the node", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// reserve allocates blocks for a file up to size bytes behind its end, without
// changing its length. A file system that cannot is no error.
func reserve(file string, size int64) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("reserve space: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reserve space: %w", err)
	}
	err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, info.Size()+size)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("reserve %d bytes behind %s: %w", size, file, err)
	}
	return nil
}
