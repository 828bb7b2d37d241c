package probe

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readSize is how much of an answer one read(2) takes.
	readSize = 16 << 10
	// maxBuffered is how much of an unfinished answer a flight keeps before
	// net/http has to go on with it: 10 KiB of body, and room for headers.
	maxBuffered = 32 << 10
	maxEvents   = 256
)

// poller runs attempts on non-blocking sockets, with one epoll set and one
// goroutine for all of them. An attempt whose target hangs costs a socket and a
// timer, and delays nobody.
type poller struct {
	file *os.File // the epoll set; Go's own poller waits for it
	fd   int
	wait syscall.RawConn
	land func(*fallback)
	log  *slog.Logger
	wg   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	flights []*flight // all that were ever made, by slot
	free    []*flight
}

func newPoller(land func(*fallback), log *slog.Logger) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an epoll set for probes: %w", os.NewSyscallError("epoll_create1", err))
	}
	// Non-blocking, so that os.File waits in Go's poller instead of in a thread.
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("make an epoll set for probes: %w", os.NewSyscallError("fcntl", err))
	}
	p := &poller{file: os.NewFile(uintptr(fd), "probes"), fd: fd, land: land, log: log}
	if p.wait, err = p.file.SyscallConn(); err != nil {
		_ = p.file.Close()
		return nil, fmt.Errorf("make an epoll set for probes: %w", err)
	}
	p.wg.Go(p.run)
	return p, nil
}

// close ends what is under way, unreported.
func (p *poller) close() {
	p.mu.Lock()
	p.closed = true
	flights := p.flights
	p.mu.Unlock()
	for _, f := range flights {
		f.abandon()
	}
	_ = p.file.Close()
	p.wg.Wait()
}

func (p *poller) run() {
	events := make([]unix.EpollEvent, maxEvents)
	buf := make([]byte, readSize)
	for {
		n := 0
		err := p.wait.Read(func(fd uintptr) bool {
			var err error
			n, err = happened(int(fd), events)
			if err != nil && err != unix.EINTR {
				p.log.Error("waiting for probe sockets failed", "error", err)
			}
			return n > 0
		})
		if err != nil {
			return // closed
		}
		for _, e := range events[:n] {
			if f := p.flight(e.Fd); f != nil {
				f.wake(e.Pad, buf)
			}
		}
	}
}

func (p *poller) flight(slot int32) *flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int(slot) >= len(p.flights) {
		return nil
	}
	return p.flights[slot]
}

// start begins an attempt; false means that the poller is closed.
func (p *poller) start(pl *plan, done doneFunc) bool {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	var f *flight
	if n := len(p.free); n > 0 {
		f, p.free = p.free[n-1], p.free[:n-1]
	} else {
		f = &flight{poller: p, slot: int32(len(p.flights))}
		p.flights = append(p.flights, f)
	}
	p.mu.Unlock()
	f.launch(pl, done)
	return true
}

func (p *poller) release(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, f)
}

// watch asks for the socket's events, each once. The flight's generation comes
// back with them, so that an event for an earlier socket of the same slot is
// told apart.
func (p *poller) watch(fd int, slot, generation int32, events uint32) error {
	e := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: slot, Pad: generation}
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &e)
}

// unwatch takes a socket out before it is handed to net/http.
func (p *poller) unwatch(fd int) { _ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil) }

// arm makes the flight's timer ring after its timeout.
func (f *flight) arm(timeout time.Duration) {
	if f.timer == nil {
		f.timer = time.AfterFunc(timeout, f.expire)
	} else {
		f.timer.Reset(timeout)
	}
}
