package evidence

import (
	"context"
	"maps"
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
	var waits map[string]bool
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && !maps.Equal(waits, want); {
		waits = map[string]bool{}
		for _, d := range new(Looker).Look(context.Background(), os.Getpid(), nil).Open {
			if _, ours := want[d.Remote]; ours {
				waits[d.Remote] = d.Unanswered > 0 && d.Heard == 0
			}
		}
	}
	if !maps.Equal(waits, want) {
		t.Errorf("who waits: %v, want %v", waits, want)
	}
}
