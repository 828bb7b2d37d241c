package evidence

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

// TestLookAtListeners looks at a process that listens on both loopbacks, and
// lets connections wait on one of them.
func TestLookAtListeners(t *testing.T) {
	var want []string
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Skip(err)
		}
		defer l.Close()
		want = append(want, l.Addr().(*net.TCPAddr).AddrPort().String())
	}
	for range 3 {
		c, err := net.Dial("tcp", want[0])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	l := Looker{Apart: 20 * time.Millisecond}
	looked := l.Look(t.Context(), os.Getpid(), nil)
	if looked.Error != "" || looked.PID != os.Getpid() || looked.Processes < 1 || looked.Over < 20*time.Millisecond {
		t.Fatalf("%+v", looked)
	}
	for i, address := range want {
		at := slices.IndexFunc(looked.Listeners, func(x fact.Listener) bool { return strings.TrimPrefix(x.Address, "[::ffff:") == address })
		if i == 2 { // Go listens on all addresses by one socket of IPv6
			at = slices.IndexFunc(looked.Listeners, func(x fact.Listener) bool {
				return strings.HasSuffix(x.Address, address[strings.LastIndex(address, ":"):])
			})
		}
		if at < 0 {
			t.Errorf("%s is not among %+v", address, looked.Listeners)
			continue
		}
		x := looked.Listeners[at]
		if x.PID != os.Getpid() || x.Command == "" {
			t.Errorf("%s is of process %d (%s)", address, x.PID, x.Command)
		}
		if i == 0 && x.Backlog != 3 {
			t.Errorf("%d connections wait at %s", x.Backlog, address)
		}
	}
}

// TestLookAmong asks nobody but those it is told what they have open.
func TestLookAmong(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	l := Looker{Apart: time.Millisecond}
	for _, among := range [][]int{{}, {os.Getpid()}} {
		looked := l.Look(t.Context(), os.Getpid(), among)
		at := slices.IndexFunc(looked.Listeners, func(x fact.Listener) bool { return x.Address == socket.Addr().String() })
		if looked.Error != "" || looked.Processes != len(among) {
			t.Fatalf("among %v: %+v", among, looked)
		}
		if known := at >= 0 && looked.Listeners[at].PID != 0; known != (len(among) > 0) {
			t.Errorf("among %v, whose socket it is: %+v", among, looked.Listeners)
		}
	}
}

// TestLookAtAProcess tells one that sleeps, one that is stopped, one that is
// busy and one that is gone.
func TestLookAtAProcess(t *testing.T) {
	var l Looker
	sleeping := start(t, "sleep", "60")
	waitFor(t, sleeping, "S")
	if looked := l.Look(t.Context(), sleeping, nil); looked.State != "S" || looked.CPUUsed != 0 || looked.Over < 200*time.Millisecond || looked.Error != "" {
		t.Errorf("asleep: %+v", looked)
	}
	if err := syscall.Kill(sleeping, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitFor(t, sleeping, "T")
	if looked := l.Look(t.Context(), sleeping, nil); looked.State != "T" {
		t.Errorf("stopped: %+v", looked)
	}
	busy := start(t, "sh", "-c", "while :; do :; done")
	first := l.Look(t.Context(), busy, nil)
	again := l.Look(t.Context(), busy, nil)
	if first.CPUUsed == 0 && again.CPUUsed == 0 {
		t.Errorf("busy: %+v, then %+v", first, again)
	}
	if err := syscall.Kill(busy, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, busy, "Z")
	if looked := l.Look(t.Context(), busy, nil); looked.State != "Z" {
		t.Errorf("a zombie: %+v", looked)
	}
	const nobody = 1 << 22
	if looked := l.Look(t.Context(), nobody, nil); looked.Error == "" || looked.State != "" {
		t.Errorf("nobody: %+v", looked)
	}
}

func TestLookEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := Looker{Apart: time.Hour}
	if looked := l.Look(ctx, os.Getpid(), nil); looked.State == "" {
		t.Errorf("%+v", looked)
	}
}

// start starts a process that ends with the test.
func start(t *testing.T, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func waitFor(t *testing.T, pid int, state string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		p, err2 := ParseStat(string(b))
		if err == nil && err2 == nil && p.State == state && p.Command != "exe" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is %+v, not %s", pid, p, state)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

const tcpTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000081 00:00000000 00000000     0        0 21733 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000     0        0 21734 1 0000000000000000 20 4 30 10 -1
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 99 1 0000000000000000 100 0 0 10 0
   3: 0200000A:D2F2 070200C0:1538 02 00000001:00000000 01:00000041 00000001     0        0 98 2 0000000000000000 200 0 0 1 7
   4: 0200000A:1F90 090200C0:D2F4 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000
   5: 0200000A:1F90 090200C0:D2F5 03 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000
`

const tcp6Table = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000002 00:00000000 00000000  1000        0 7 1 0000000000000000 100 0 0 10 0
`

func TestParseSockets(t *testing.T) {
	got, err := ParseSockets(tcpTable)
	if err != nil || len(got) != 5 || got[0].Address.String() != "127.0.0.1:8080" || got[0].Waiting != 0x81 || got[0].Inode != 21733 || got[2].Address.String() != "0.0.0.0:22" ||
		got[0].Dialing || !got[3].Dialing || got[3].Address.String() != "192.0.2.7:5432" || got[3].Inode != 98 ||
		!got[1].Open || got[1].Port != 8080 || got[1].Address.String() != "127.0.0.1:54000" || got[1].Over ||
		!got[4].Over || got[4].Port != 8080 || got[4].Address.String() != "192.0.2.9:54004" {
		t.Errorf("%+v %v", got, err)
	}
	got, err = ParseSockets(tcp6Table)
	if err != nil || len(got) != 1 || got[0].Address.String() != "[::1]:80" || got[0].Waiting != 2 {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range []string{"", "x", "sl local_address\n 0: 1\n", strings.Replace(tcpTable, "0100007F:1F90 00000000", "01007F:1F90 00000000", 1)} {
		if got, err := ParseSockets(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, got)
		}
	}
}

// Who asked and who was asked is seen for a minute after the connection is over.
func TestPeers(t *testing.T) {
	socket := func(at string, port uint16) Socket { return Socket{Address: netip.MustParseAddrPort(at), Port: port} }
	listeners := []Socket{socket("0.0.0.0:8000", 8000)}
	open := []Socket{socket("10.42.0.7:41000", 8000), socket("10.43.0.9:5432", 52000)}
	over := []Socket{socket("[::ffff:10.42.0.7]:41002", 8000), socket("10.43.0.8:8000", 52002), socket("10.43.0.8:8000", 52004), socket("127.0.0.1:9000", 52006)}
	lately, from := peers(open, over, listeners)
	if !slices.Equal(lately, []string{"10.43.0.8:8000"}) || !slices.Equal(from, []string{"10.42.0.7"}) {
		t.Errorf("to %v, from %v", lately, from)
	}
}

func TestParseStat(t *testing.T) {
	const text = "4711 (a) (b c) S 1 4711 4711 0 -1 4194304 100 0 0 0 150 50 9 9 20 0 3 0 88888 1000 200 18446744073709551615 1\n"
	p, err := ParseStat(text)
	if err != nil || p.Command != "a) (b c" || p.State != "S" || p.CPU != 2*time.Second || p.Began != 88888 {
		t.Errorf("%+v %v", p, err)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1", strings.Replace(text, "150", "x", 1)} {
		if p, err := ParseStat(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, p)
		}
	}
}

const limits = `Limit                     Soft Limit           Hard Limit           Units
Max core file size        0                    unlimited            bytes
Max processes             96000                96000                processes
Max open files            1024                 524288               files
Max locked memory         8388608              8388608              bytes
`

func TestParseLimit(t *testing.T) {
	if soft, hard, err := ParseLimit(limits, "Max open files"); err != nil || soft != 1024 || hard != 524288 {
		t.Errorf("%d %d %v", soft, hard, err)
	}
	if soft, hard, err := ParseLimit(strings.Replace(limits, "524288", "unlimited", 1), "Max open files"); err != nil || soft != 1024 || hard != 0 {
		t.Errorf("%d %d %v", soft, hard, err)
	}
	for _, bad := range []string{"", limits[:200], strings.Replace(limits, "1024", "x", 1), strings.Replace(limits, "1024", "-1", 1)} {
		if soft, hard, err := ParseLimit(bad, "Max open files"); err == nil {
			t.Errorf("%q is taken for %d and %d", bad, soft, hard)
		}
	}
}

// TestLookAtFiles looks at a container of two processes, of which the one with the
// lower limit has the fewest files left, and at its neighbour, which has none.
func TestLookAtFiles(t *testing.T) {
	proc := t.TempDir()
	for pid, p := range map[string]struct {
		command, cgroup, limit string
		files                  int
	}{"7": {"main", "/pods/a", "1024", 9}, "8": {"worker", "/pods/a", "16", 12}, "9": {"other", "/pods/b", "4", 4}} {
		for name, text := range map[string]string{
			"stat":    pid + " (" + p.command + ") S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
			"cgroup":  "0::" + p.cgroup + "\n",
			"net/tcp": "  sl  local_address rem_address   st\n",
			"limits":  strings.Replace(limits, "1024", p.limit, 1),
			"fd/0":    "", "ns/other": "",
		} {
			path := filepath.Join(proc, pid, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		for fd := 1; fd < p.files; fd++ {
			if err := os.WriteFile(filepath.Join(proc, pid, "fd", strconv.Itoa(fd)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("net:[4026531840]", filepath.Join(proc, pid, "ns/net")); err != nil {
			t.Fatal(err)
		}
	}
	l := Looker{Proc: proc, Apart: time.Nanosecond}
	looked := l.Look(t.Context(), 7, nil)
	want := fact.Files{PID: 8, Command: "worker", Open: 12, Limit: 16, Most: 524288}
	if looked.Error != "" || looked.Processes != 2 || looked.Files == nil || *looked.Files != want {
		t.Errorf("%+v, files %+v", looked, looked.Files)
	}
}

func FuzzProc(f *testing.F) {
	f.Add(limits)
	f.Add(tcpTable)
	f.Add(tcp6Table)
	f.Add("1 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20")
	f.Fuzz(func(t *testing.T, text string) {
		sockets, _ := ParseSockets(text)
		for _, s := range sockets {
			if !s.Address.IsValid() || s.Waiting < 0 {
				t.Fatalf("%+v", s)
			}
		}
		if p, err := ParseStat(text); err == nil && p.CPU < 0 {
			t.Fatalf("%+v", p)
		}
		if soft, hard, err := ParseLimit(text, "Max open files"); soft < 0 || hard < 0 || err != nil && soft+hard > 0 {
			t.Fatal(soft, hard, err)
		}
	})
}
