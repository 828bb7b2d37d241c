package evidence

import (
	"context"
	"encoding/binary"
	"maps"
	"net"
	"os"
	"testing"
	"time"
)

// asks has this process ask another end of its own on so many connections: so often with an
// answer at once, and then without one where that is wanted. It gives where that is.
func asks(t *testing.T, connections, answered int, waits bool) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for range connections {
		here, err := new(net.Dialer).DialContext(t.Context(), "tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = here.Close() })
		there, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = there.Close() })
		for range answered {
			say(t, here, there)
			say(t, there, here)
		}
		if waits {
			say(t, here, there)
		}
	}
	return l.Addr().String()
}

// say says something to the other end, which hears it.
func say(t *testing.T, from, to net.Conn) {
	t.Helper()
	_, err := from.Write([]byte("well?"))
	if err == nil {
		_, err = to.Read(make([]byte, 8))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLookTellsWhoIsWaitedFor looks at this very process, which has asked another end that says
// nothing, one that has answered, and one that has answered only the question before, on one
// connection after another.
func TestLookTellsWhoIsWaitedFor(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to ask in a network namespace")
	}
	if _, err := v6Only("/proc/self/ns/net"); err != nil {
		t.Skip("the kernel has no diagnosis of sockets: ", err)
	}
	const often = 4 // some kernels acknowledge late only who has answered three times
	silent, answers, asked := asks(t, 1, 0, true), asks(t, 4, often, false), asks(t, 4, often, true)
	want := map[string]bool{silent: true, answers: false, asked: true}
	var waits map[string]bool
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && !maps.Equal(waits, want); {
		waits = map[string]bool{}
		for _, d := range new(Looker).Look(context.Background(), os.Getpid(), nil).Open {
			if _, ours := want[d.Remote]; ours {
				waits[d.Remote] = d.Unanswered > 0 && (d.Heard == 0) == (d.Remote == silent)
			}
		}
	}
	if !maps.Equal(waits, want) {
		t.Errorf("who waits: %v, want %v", waits, want)
	}
}

// What is said in the tick of an answer is a question where two wait side by side: the
// acknowledgement of it comes alone and late. One that was answered, or was checked for being
// there much later, is none.
func TestAskedInTheTickOfAnAnswer(t *testing.T) {
	const tick = 4 * time.Millisecond
	info := func(sent, received, acked time.Duration) []byte {
		b := make([]byte, infoEnd)
		for at, d := range map[int]time.Duration{infoSent: sent, infoReceived: received, infoAcked: acked} {
			binary.NativeEndian.PutUint32(b[at:], uint32(d/time.Millisecond))
		}
		b[infoBytes] = 1
		return b
	}
	for name, test := range map[string]struct {
		info    []byte
		instant bool
		waits   bool
	}{
		"acknowledged by the answer":   {info(2*time.Second, 2*time.Second, 2*time.Second), false, false},
		"acknowledged alone":           {info(2*time.Second, 2*time.Second, 2*time.Second-40*time.Millisecond), true, false},
		"acknowledged much later":      {info(2*time.Second, 2*time.Second, time.Second), false, false},
		"asked a moment ago":           {info(tick, tick, 0), false, false},
		"asked a tick after an answer": {info(2*time.Second, 2*time.Second+tick, 2*time.Second-40*time.Millisecond), false, true},
	} {
		if got := parseTalk(test.info); (got.instantly > 0) != test.instant || (got.waits > 0) != test.waits {
			t.Errorf("%s: %+v", name, got)
		}
	}
	all := instants{}
	one, more := talk{instantly: 3 * time.Second}, talk{instantly: 2 * time.Second}
	if got := all.another(0, one) + all.another(1, more) + all.another(0, talk{}); got != 0 {
		t.Errorf("one at each place waits: %v", got)
	}
	if got := all.another(0, more); got != 2*time.Second {
		t.Errorf("the newest of two: %v", got)
	}
}
