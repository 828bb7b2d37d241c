package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

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
	// bell is given only what may not wait, and is read only to be silenced.
	bell *os.File

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
	s, err := subscribe()
	if err != nil {
		return nil, fmt.Errorf("the kernel's process connector: %w", err)
	}
	return &Connector{
		file: os.NewFile(uintptr(s.all), "process connector"), bell: os.NewFile(uintptr(s.bell), "process connector's bell"),
		batch: newBatch(), tell: tell, lost: lost,
	}, nil
}

// pace is how long messages may wait to be read together where a program began, whose
// name is read while it lives, or a process ended with an error. calmPace is the same
// where processes only fork and end well, as servers' children do at each request. Whoever
// cannot wait calls Drain.
const (
	pace     = 25 * time.Millisecond
	calmPace = 100 * time.Millisecond
)

// Run reads until ctx ends.
func (c *Connector) Run(ctx context.Context) error {
	all, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	bell, err := c.bell.SyscallConn()
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		rung, err := c.await(bell)
		if err != nil {
			return err
		}
		if rung {
			time.Sleep(pace)
			err = bell.Control(silence)
		}
		var failed error
		err = errors.Join(err, all.Control(func(fd uintptr) { failed = c.drain(int(fd)) }))
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	return nil
}

// await returns when the bell rings, or after a time. Only a bell may be waited for so: Go's
// poller is woken by each message also while nobody waits for one, and where processes come
// and go that cost more than the rest together. A bell that rings has room for few.
func (c *Connector) await(bell syscall.RawConn) (rung bool, err error) {
	if err := c.bell.SetReadDeadline(time.Now().Add(calmPace)); err != nil {
		return false, err
	}
	err = bell.Read(pending)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}

// pending says whether there is something to read.
func pending(fd uintptr) bool {
	_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, fd, 0, 0, unix.MSG_DONTWAIT|unix.MSG_PEEK|unix.MSG_TRUNC, 0, 0)
	return errno != unix.EAGAIN
}

// silence reads a bell empty.
func silence(bell uintptr) {
	var b [128]byte
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, bell, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 && errno != unix.EINTR && errno != unix.ENOBUFS || errno == 0 && n == 0 {
			return
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
	_ = raw.Control(func(fd uintptr) { _ = c.drain(int(fd)) })
}

// Close ends the subscription.
func (c *Connector) Close() error { return errors.Join(c.file.Close(), c.bell.Close()) }

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
