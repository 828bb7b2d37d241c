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
	ended, end, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ended.Close()
	defer end.Close()
	defer context.AfterFunc(ctx, func() { _ = end.Close() })()
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var failed error
		if err := raw.Control(func(fd uintptr) {
			// Where processes come and go all the time the kernel need not wake anyone.
			var read int
			if read, failed = c.drain(int(fd)); failed == nil && read == 0 {
				failed = await(int(fd), int(ended.Fd()))
			}
		}); ctx.Err() != nil {
			return nil
		} else if err := errors.Join(err, failed); err != nil {
			return err
		}
		time.Sleep(pace)
	}
}

// await returns when there is something to read on fd, or when the other end of
// ended is closed. Go's own poller is not asked, because it is woken by each message
// also while nobody waits for one: that cost more than the rest together.
func await(fd, ended int) error {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(ended)}}, -1)
		if err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
	}
}

// Drain returns when all that the kernel had to say at the time of the call has
// been told.
func (c *Connector) Drain() {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return // closed
	}
	_ = raw.Control(func(fd uintptr) { _, _ = c.drain(int(fd)) })
}

// Close ends the subscription.
func (c *Connector) Close() error { return c.file.Close() }

// drain reads until there is nothing more, and says how many messages it read.
func (c *Connector) drain(fd int) (read int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		n, err := c.batch.read(fd)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return read, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOBUFS):
			c.lost()
			continue
		case err != nil:
			return read, os.NewSyscallError("recvmmsg", err)
		}
		read += n
		for i := range n {
			if message, ok := c.batch.message(i); ok {
				parseConnector(message, c.tell)
			}
		}
	}
}
