package tap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cilium/ebpf"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// inCgroup puts this process into a cgroup of its own, and back at the end of the test.
func inCgroup(t *testing.T) string {
	t.Helper()
	mount := "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(mount, "unified", "cgroup.procs")); err == nil {
		mount = filepath.Join(mount, "unified")
	}
	if _, err := os.Stat(filepath.Join(mount, "cgroup.procs")); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and version 2 cgroups")
	}
	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	home := "/"
	for line := range strings.Lines(string(before)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			home = path
		}
	}
	dir, err := os.MkdirTemp(mount, "tap-test-")
	if err != nil {
		t.Skip("no cgroup can be made: ", err)
	}
	enter := func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		enter(filepath.Join(mount, home))
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	enter(dir)
	return dir
}

func openTap(t *testing.T) *Tap {
	t.Helper()
	dir := inCgroup(t)
	tap, err := Open(dir)
	if errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, os.ErrPermission) {
		t.Skip("this kernel takes no such program: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tap.Close(); err != nil {
			t.Error(err)
		}
	})
	return tap
}

// watch reads attempts until the test ends.
func watch(t *testing.T, tap *Tap) func() []Attempt {
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	var all []Attempt
	var run sync.WaitGroup
	run.Go(func() {
		err := tap.Run(ctx, func(Attempt) time.Duration { return 300 * time.Millisecond }, func(a Attempt) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, a)
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); run.Wait() })
	return func() []Attempt {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// eventually waits for an attempt on an address.
func eventually(t *testing.T, attempts func() []Attempt, what string, is func(Attempt) bool) Attempt {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		for _, a := range attempts() {
			if is(a) {
				return a
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not seen among %+v", what, attempts())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func addressOf(t *testing.T, l net.Listener) netip.AddrPort {
	t.Helper()
	a, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func get(client *http.Client, url string) {
	r, err := client.Get(url)
	if err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
}

func TestAttemptsAreSeen(t *testing.T) {
	tap := openTap(t)
	sick := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", "sick")
		time.Sleep(20 * time.Millisecond) // a slow server: the attempt has to say how long it took
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	var at []netip.AddrPort
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l := listen(t, "tcp", address)
		s := &http.Server{Handler: sick}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
		at = append(at, addressOf(t, l))
	}
	silent := listen(t, "tcp", "127.0.0.1:0")
	closed := listen(t, "tcp", "127.0.0.1:0")
	nobody := addressOf(t, closed)
	_ = closed.Close()
	at = append(at, addressOf(t, silent), nobody)
	if err := tap.Aim(at); err != nil {
		t.Fatal(err)
	}
	attempts := watch(t, tap)
	once := &http.Client{Timeout: 250 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, a := range at {
		get(once, fmt.Sprintf("http://%s/health", a))
	}
	for _, family := range at[:2] {
		a := eventually(t, attempts, "503", func(a Attempt) bool { return a.Far == family })
		if a.Status != 503 || a.Header["Server"] != "sick" || a.Path != "/health" || a.Connect == 0 || a.First-a.Sent < 15*time.Millisecond || a.Short {
			t.Errorf("%+v", a)
		}
	}
	if a := eventually(t, attempts, "silence", func(a Attempt) bool { return a.Far == at[2] }); a.Connect == 0 || a.Sent == 0 || a.First != 0 || a.Status != 0 {
		t.Errorf("%+v", a)
	}
	if a := eventually(t, attempts, "a refusal", func(a Attempt) bool { return a.Far == nobody }); !a.Refused || a.Connect != 0 {
		t.Errorf("%+v", a)
	}
}

func TestAConnectionThatIsUsedAgain(t *testing.T) {
	tap := openTap(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer s.Close()
	if err := tap.Aim([]netip.AddrPort{addressOf(t, s.Listener)}); err != nil {
		t.Fatal(err)
	}
	attempts := watch(t, tap)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	get(client, s.URL+"/good")
	get(client, s.URL+"/bad")
	client.CloseIdleConnections()
	for path, status := range map[string]int{"/good": 200, "/bad": 500} {
		if a := eventually(t, attempts, path, func(a Attempt) bool { return a.Path == path }); a.Status != status {
			t.Errorf("%+v", a)
		}
	}
}

func TestAnAnswerThatIsCutShort(t *testing.T) {
	tap := openTap(t)
	l := listen(t, "tcp", "127.0.0.1:0")
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 1024))
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
		_ = c.Close()
	}()
	if err := tap.Aim([]netip.AddrPort{addressOf(t, l)}); err != nil {
		t.Fatal(err)
	}
	attempts := watch(t, tap)
	get(&http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+l.Addr().String()+"/")
	if a := eventually(t, attempts, "the answer", func(a Attempt) bool { return a.Status == 200 }); !a.Short {
		t.Errorf("%+v", a)
	}
}

// A gRPC server that knows no such service, or has no health service, says so in the headers
// of its answer, which has no message.
func TestCallsThatAreRefused(t *testing.T) {
	tap := openTap(t)
	var aims []netip.AddrPort
	serve := func(has func(*grpc.Server)) netip.AddrPort {
		l := listen(t, "tcp", "127.0.0.1:0")
		server := grpc.NewServer()
		has(server)
		go func() { _ = server.Serve(l) }()
		t.Cleanup(server.Stop)
		aims = append(aims, addressOf(t, l))
		return addressOf(t, l)
	}
	other := serve(func(s *grpc.Server) { healthpb.RegisterHealthServer(s, health.NewServer()) })
	none := serve(func(*grpc.Server) {})
	if err := tap.Aim(aims); err != nil {
		t.Fatal(err)
	}
	attempts := watch(t, tap)
	for at, want := range map[netip.AddrPort]*status.Status{
		other: status.New(codes.NotFound, "unknown service"),
		none:  status.New(codes.Unimplemented, "unknown service grpc.health.v1.Health"),
	} {
		conn, err := grpc.NewClient("passthrough:///"+at.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "web"})
		_ = conn.Close()
		a := eventually(t, attempts, want.String(), func(a Attempt) bool { return a.Far == at })
		if status.Code(err) != want.Code() || codes.Code(a.Code) != want.Code() || a.Said != want.Message() || a.Health != -1 {
			t.Errorf("%+v, %v", a, err)
		}
	}
}

// Headers in every shape that HTTP/2 allows are read or left, never misread.
func FuzzRefusal(f *testing.F) {
	f.Add([]byte("\x00\x00\x0c\x01\x05\x00\x00\x00\x01\x88@\x0bgrpc-status\x015"))
	f.Add([]byte("\x00\x00\x03\x01\x2d\x00\x00\x00\x01\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if code, said, ok := refusalOf(b); ok && (code <= 0 || !utf8.ValidString(said) || len(said) > mostHeader) {
			t.Errorf("%d %q", code, said)
		}
		_, _ = healthOf(b)
	})
}

func TestAnAnswerInSmallPieces(t *testing.T) {
	tap := openTap(t)
	l := listen(t, "tcp", "127.0.0.1:0")
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 1024))
		for _, piece := range []string{"HT", "TP/1.0 ", "503 no", "\r\nServer: s", "low\r\n\r\n"} {
			_, _ = c.Write([]byte(piece)) // Go sends each by itself (TCP_NODELAY)
		}
	}()
	if err := tap.Aim([]netip.AddrPort{addressOf(t, l)}); err != nil {
		t.Fatal(err)
	}
	attempts := watch(t, tap)
	get(&http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+l.Addr().String()+"/")
	if a := eventually(t, attempts, "the answer", func(a Attempt) bool { return a.Far == addressOf(t, l) }); a.Status != 503 || a.Header["Server"] != "slow" || a.Odd {
		t.Errorf("%+v", a)
	}
}

// What is looked at arrives as it was sent: many connections at once, each with another
// body of a megabyte, both ways.
func TestTrafficIsTheSame(t *testing.T) {
	tap := openTap(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer s.Close()
	if err := tap.Aim([]netip.AddrPort{addressOf(t, s.Listener)}); err != nil {
		t.Fatal(err)
	}
	watch(t, tap)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			sent := bytes.Repeat([]byte{byte(i), 7, byte(i >> 8)}, 1<<20/3)
			r, err := http.Post(s.URL, "application/octet-stream", bytes.NewReader(sent))
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			got, err := io.ReadAll(r.Body)
			if err != nil || sha256.Sum256(got) != sha256.Sum256(sent) {
				t.Errorf("%d: %v, %d bytes of %d", i, err, len(got), len(sent))
			}
		})
	}
	all.Wait()
}

func FuzzParse(f *testing.F) {
	f.Add(make([]byte, copySize))
	v4 := make([]byte, copySize)
	v4[atLength], v4[atWay], v4[atBytes], v4[atBytes+3], v4[atBytes+32] = 60, outward, 0x45, 60, 0x50
	f.Add(v4)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parse(b)
		if !ok {
			return
		}
		if len(p.data) > p.size {
			t.Errorf("%d bytes of %d", len(p.data), p.size)
		}
		flows := NewFlows(func(Attempt) {})
		syn := p
		syn.syn, syn.ack, syn.out = true, false, true
		for _, one := range []packet{syn, p, p} {
			flows.take(one)
		}
		flows.expire(p.at+time.Hour, func(Attempt) time.Duration { return time.Second })
		if len(flows.open) > 0 {
			t.Error("an attempt stays open")
		}
	})
}

// TestBody: the sizes of chunks are no part of what an application says.
func TestBody(t *testing.T) {
	const begin = "HTTP/1.1 400 Bad Request\r\n"
	for _, c := range []struct{ copied, want string }{
		{begin + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""},
		{begin + "Transfer-Encoding: chunked\r\n\r\n6\r\nno Hos\r\n1\r\nt\r\n0\r\n\r\n", "no Host"},
		{begin + "Transfer-Encoding: chunked\r\n\r\n9\r\nno Ho", "no Ho"}, // cut off in the copy
		{begin + "Content-Length: 1\r\n\r\n0", "0"},
		{begin + "Content-Length: 0\r\n\r\n", ""},
		{begin + "Content-", ""},
	} {
		if h, ok := readHead([]byte(c.copied)); !ok || string(h.body([]byte(c.copied))) != c.want {
			t.Errorf("%q: %q, want %q", c.copied, h.body([]byte(c.copied)), c.want)
		}
	}
}
