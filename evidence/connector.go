package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Connector is the kernel's process connector: it tells of every process that is
// forked, execs or ends, with the raw wait status. It needs CAP_NET_ADMIN and the
// machine's first pid namespace; a kernel may be built without it.
//
// It is cheap by dropping early: the kernel is given a filter that lets pass what
// is read here, and messages are read many at a time.
type Connector struct {
	file *os.File

	// mu is held while messages are read and told, so that whoever holds it and
	// finds nothing to read knows that all was told.
	mu    sync.Mutex
	batch *batch
	tell  func(ProcessEvent)
	lost  func()
}

// OpenConnector subscribes. tell is given every event, lost is called where the
// kernel dropped some because they were not read in time. Both are called from one
// goroutine at a time and must neither block for long nor call the Connector.
//
// Where this process is in a network namespace of its own, the subscription is
// made in the machine's: the kernel talks to no other.
func OpenConnector(tell func(ProcessEvent), lost func()) (*Connector, error) {
	fd, err := subscribe()
	if err != nil {
		return nil, fmt.Errorf("the kernel's process connector: %w", err)
	}
	return &Connector{file: os.NewFile(uintptr(fd), "process connector"), batch: newBatch(), tell: tell, lost: lost}, nil
}

// pace is how long messages may wait to be read together. Whoever cannot wait
// calls Drain.
const pace = 25 * time.Millisecond

// Run reads until ctx ends.
func (c *Connector) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = c.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		if failed = c.drain(int(fd)); failed != nil {
			return true
		}
		// Being woken for each message would cost five times what reading does.
		time.Sleep(pace)
		return false // it is called again when there is more
	})
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(failed, err)
}

// Drain returns when all that the kernel had to say at the time of the call has
// been told.
func (c *Connector) Drain() {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return // closed
	}
	_ = raw.Control(func(fd uintptr) { _ = c.drain(int(fd)) })
}

// Close ends the subscription.
func (c *Connector) Close() error { return c.file.Close() }

// drain reads until there is nothing more.
func (c *Connector) drain(fd int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		n, err := c.batch.read(fd)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOBUFS):
			c.lost()
			continue
		case err != nil:
			return os.NewSyscallError("recvmmsg", err)
		}
		for i := range n {
			if message, ok := c.batch.message(i); ok {
				parseConnector(message, c.tell)
			}
		}
	}
}
