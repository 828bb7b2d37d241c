package evidence

import (
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
)

// A listener that its event loop waits for hangs, where connections wait; one that it has
// taken out is full.
func TestPaused(t *testing.T) {
	for name, test := range map[string]struct {
		waits, blocks, paused bool
	}{
		"it waits for others and not for it": {paused: true},
		"it waits for it":                    {waits: true},
		"it blocks in accept":                {blocks: true},
	} {
		t.Run(name, func(t *testing.T) {
			listener, loop := socketWithLoop(t, !test.blocks)
			if test.waits {
				addTo(t, loop, listener)
			}
			at := boundTo(t, listener)
			for range 2 {
				c, err := net.Dial("tcp", at)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
			}
			taken, _, err := unix.Accept(listener)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(taken)
			addTo(t, loop, taken)
			l := Looker{Apart: time.Millisecond}
			looked := l.Look(t.Context(), os.Getpid(), []int{os.Getpid()})
			i := slices.IndexFunc(looked.Listeners, func(x fact.Listener) bool { return x.Address == at })
			if i < 0 || looked.Listeners[i].Paused != test.paused || looked.Listeners[i].Taken != 1 || looked.Listeners[i].Backlog != 1 {
				t.Errorf("%+v", looked.Listeners)
			}
		})
	}
}

func socketWithLoop(t *testing.T, nonblocking bool) (listener, loop int) {
	t.Helper()
	kind := unix.SOCK_STREAM
	if nonblocking {
		kind |= unix.SOCK_NONBLOCK
	}
	listener, err := unix.Socket(unix.AF_INET, kind, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(listener) })
	if err := unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(listener, 8); err != nil {
		t.Fatal(err)
	}
	if loop, err = unix.EpollCreate1(0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(loop) })
	return listener, loop
}

func addTo(t *testing.T, loop, fd int) {
	t.Helper()
	if err := unix.EpollCtl(loop, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
		t.Fatal(err)
	}
}

func boundTo(t *testing.T, fd int) string {
	t.Helper()
	a, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(a.(*unix.SockaddrInet4).Port))
}

func TestWaitsFor(t *testing.T) {
	const info = "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1057\n" +
		"tfd:        5 events:       19 data:        5  pos:0 ino:2a sdev:8\n" +
		"tfd:        6 events: 40000000 data:        6  pos:0 ino:2b sdev:8\n" + // once, and that was
		"tfd:        x events:       19\n"
	if got := waitsFor(info); !slices.Equal(got, []int{5}) {
		t.Errorf("%v", got)
	}
}

func FuzzWaitsFor(f *testing.F) {
	f.Add("tfd:        5 events:       19 data:        5\n")
	f.Fuzz(func(t *testing.T, info string) {
		if got := waitsFor(info); len(got) > strings.Count(info, "tfd:") {
			t.Errorf("%v of %q", got, info)
		}
	})
}
