package evidence

import (
	"context"
	"net"
	"os"
	"testing"
	"time"
)

// TestLookTellsWhoIsWaitedFor looks at this very process, which has asked another end that says
// nothing, and one that has answered.
func TestLookTellsWhoIsWaitedFor(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to ask in a network namespace")
	}
	want := map[string]bool{}
	for _, answers := range []bool{false, true} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		asks, err := new(net.Dialer).DialContext(t.Context(), "tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer asks.Close()
		there, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer there.Close()
		if _, err := asks.Write([]byte("well?")); err != nil {
			t.Fatal(err)
		}
		if answers {
			time.Sleep(20 * time.Millisecond) // the kernel's clock of this ticks in up to 10 ms
			if _, err := there.Write([]byte("yes")); err != nil {
				t.Fatal(err)
			}
		}
		want[l.Addr().String()] = !answers
	}
	if _, err := v6Only("/proc/self/ns/net"); err != nil {
		t.Skip("the kernel has no diagnosis of sockets: ", err)
	}
	time.Sleep(leastAwaited + 20*time.Millisecond)
	looked := new(Looker).Look(context.Background(), os.Getpid(), nil)
	for _, d := range looked.Open {
		if waits, ok := want[d.Remote]; ok {
			delete(want, d.Remote)
			if (d.Unanswered > 0) != waits || d.Heard != 0 {
				t.Errorf("%+v, want that it waits: %v", d, waits)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not seen: %v in %+v", want, looked.Open)
	}
}
