package cluster

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// DatabaseError says that etcd gave up, which ends the control plane, but not the
// process and not what else is in it. A control plane can start again only in a
// new process.
type DatabaseError struct {
	// Doing is what etcd could not do, in its own words.
	Doing string
	// Err is why; nil where etcd did not say.
	Err error
}

func (e *DatabaseError) Error() string {
	if e.Err == nil {
		return "etcd: " + e.Doing
	}
	return fmt.Sprintf("etcd: %s: %v", e.Doing, e.Err)
}

func (e *DatabaseError) Unwrap() error { return e.Err }

// NoSpace says that the disk was full, or the quota on it used up: with room, the
// database goes on where it was.
func (e *DatabaseError) NoSpace() bool {
	return errors.Is(e.Err, unix.ENOSPC) || errors.Is(e.Err, unix.EDQUOT)
}

// givenUp takes the place of etcd's exit and panic: where it cannot write its log,
// a snapshot or a page of its database, it logs at one of these levels and counts
// on not coming back. The goroutine stays where it is, with the locks it holds, so
// that nothing is written after what is missing; only a new process comes past it.
type givenUp struct {
	tell func(*DatabaseError)
	once sync.Once
}

// OnWrite implements zapcore.CheckWriteHook.
func (g *givenUp) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	failure := &DatabaseError{Doing: entry.Message}
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			failure.Err = err
		}
	}
	g.once.Do(func() { g.tell(failure) })
	select {}
}

// databaseLogger is the server's logger. lost is called at most once.
func databaseLogger(log io.Writer, lost func(*DatabaseError)) *zap.Logger {
	hook := &givenUp{tell: lost}
	return etcdLogger(log).WithOptions(zap.WithFatalHook(hook), zap.WithPanicHook(hook))
}
