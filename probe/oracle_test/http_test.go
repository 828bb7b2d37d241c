package oracle_test

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/probe"
	_ "whylet.dev/whylet/test/fixedseed"
)

// script is how a server behaves on each connection.
type script struct {
	Read   string // "all", "some" or "none" of the request, before anything is sent
	Pieces []piece
	End    string // "close", "reset", "half", "hang"
}

// piece is sent in one write, after a pause.
type piece struct {
	After time.Duration
	Text  string
}

func (s script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "read %s", s.Read)
	for _, p := range s.Pieces {
		text := p.Text
		if len(text) > 200 {
			text = fmt.Sprintf("%s…(%d bytes)", text[:200], len(text))
		}
		fmt.Fprintf(&b, "\n  +%v %q", p.After, text)
	}
	return b.String() + "\n  " + s.End
}

// serve plays a script until the test ends.
func serve(t testing.TB, s script) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	t.Cleanup(func() {
		close(over)
		_ = l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.play(conn.(*net.TCPConn), over) })
		}
	})
	return l.Addr().(*net.TCPAddr).Port
}

func (s script) play(conn *net.TCPConn, over <-chan struct{}) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	s.readRequest(conn)
	for _, p := range s.Pieces {
		time.Sleep(p.After)
		if _, err := conn.Write([]byte(p.Text)); err != nil {
			return
		}
	}
	switch s.End {
	case "reset":
		_ = conn.SetLinger(0)
	case "half":
		_ = conn.CloseWrite()
		<-over
	case "hang":
		<-over
	}
}

func (s script) readRequest(conn net.Conn) {
	switch s.Read {
	case "some":
		_, _ = conn.Read(make([]byte, 4))
	case "all":
		var got strings.Builder
		buf := make([]byte, 4096)
		for !strings.HasSuffix(got.String(), "\r\n\r\n") {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			got.Write(buf[:n])
		}
	}
}

func httpTarget(port int, change ...func(*v1.HTTPGetAction)) probe.Target {
	get := &v1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(int32(port)), Scheme: v1.URISchemeHTTP}
	for _, c := range change {
		c(get)
	}
	return probe.Target{
		Kind: fact.Liveness, PodIP: "127.0.0.1",
		Spec: &v1.Probe{TimeoutSeconds: 1, PeriodSeconds: 1, ProbeHandler: v1.ProbeHandler{HTTPGet: get}},
	}
}

const broken = "net/http: HTTP/1.x transport connection broken: "

// compare attempts a probe in both ways. An attempt that runs into its timeout
// races with what the server does then, so a difference has to show twice.
func compare(t testing.TB, p *probe.Prober, target probe.Target, what script) {
	t.Helper()
	var difference string
	for range 3 {
		want, got := kubelet(target), whylet(t, p, target)
		if what.Read == "none" {
			// net/http's two goroutines race for whether the request counts as sent.
			want.message = raced(want.message)
			got.message = raced(got.message)
		}
		difference = sameAs(want, got)
		if difference == "" {
			return
		}
	}
	t.Errorf("%v\n%s", what, difference)
}

// raced takes out what depends on whether the request arrived before the server
// closed: the kernel answers with an end of the stream or with a reset.
func raced(message string) string {
	message = normalise(strings.Replace(message, broken, "", 1))
	return endOrReset.ReplaceAllString(message, ": end")
}

var endOrReset = regexp.MustCompile(`: (EOF|tcp LOCAL->\S+: reset)$`)

// together runs comparisons side by side: most of their time is waiting.
func together[T any](cases []T, run func(T)) {
	var wg sync.WaitGroup
	for _, c := range cases {
		wg.Go(func() { run(c) })
	}
	wg.Wait()
}

func whole(text, end string) script {
	return script{Read: "all", Pieces: []piece{{Text: text}}, End: end}
}

// known has misbehaviours that were met in the field or read in the sources.
var known = map[string]script{
	"ok":                        whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "close"),
	"ok, not closing":           whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "hang"),
	"no length, not closing":    whole("HTTP/1.1 200 OK\r\n\r\nok", "hang"),
	"no length, closing":        whole("HTTP/1.1 200 OK\r\n\r\nok", "close"),
	"no length, reset":          whole("HTTP/1.1 200 OK\r\n\r\nok", "reset"),
	"chunked":                   whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "hang"),
	"chunked, extra bytes":      whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nmore", "hang"),
	"chunked, trailer":          whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n", "hang"),
	"chunked, no last line":     whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", "close"),
	"chunked, truncated":        whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok", "close"),
	"chunked, garbage":          whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n", "close"),
	"chunked in 1.0":            whole("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "close"),
	"chunked and length":        whole("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "close"),
	"empty answer":              whole("", "close"),
	"no answer":                 whole("", "hang"),
	"reset":                     whole("", "reset"),
	"reset at once":             {Read: "none", End: "reset"},
	"closed unread":             {Read: "none", End: "close"},
	"half closed":               whole("HTTP/1.1 200 OK\r\n", "half"),
	"503":                       whole("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy", "close"),
	"404 in 1.0":                whole("HTTP/1.0 404 Not Found\r\n\r\n", "close"),
	"304":                       whole("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "hang"),
	"204":                       whole("HTTP/1.1 204 No Content\r\n\r\n", "hang"),
	"300":                       whole("HTTP/1.1 300 Multiple Choices\r\nContent-Length: 1\r\n\r\nx", "close"),
	"399":                       whole("HTTP/1.1 399 Odd\r\nContent-Length: 1\r\n\r\nx", "close"),
	"199":                       whole("HTTP/1.1 199 Odd\r\nContent-Length: 1\r\n\r\nx", "close"),
	"600":                       whole("HTTP/1.1 600 Odd\r\nContent-Length: 1\r\n\r\nx", "close"),
	"000":                       whole("HTTP/1.1 000 Odd\r\nContent-Length: 1\r\n\r\nx", "close"),
	"100 then 200":              whole("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "close"),
	"100 without end":           whole(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100), "hang"),
	"101":                       whole("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "close"),
	"redirect elsewhere":        whole("HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\nContent-Length: 2\r\n\r\ngo", "close"),
	"redirect without location": whole("HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\ngo", "close"),
	"redirect to itself":        whole("HTTP/1.1 302 Found\r\nLocation: /healthz\r\nContent-Length: 2\r\n\r\ngo", "close"),
	"redirect to nonsense":      whole("HTTP/1.1 301 Moved\r\nLocation: http://[::1\r\nContent-Length: 0\r\n\r\n", "close"),
	"redirect to https":         whole("HTTP/1.1 301 Moved\r\nLocation: https://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "close"),
	"huge body":                 whole("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n"+strings.Repeat("x", 5_000_000), "close"),
	"huge body of a warning":    whole("HTTP/1.1 300 Look\r\nContent-Length: 50000\r\n\r\n"+strings.Repeat("x", 50_000), "close"),
	"huge body, no length":      whole("HTTP/1.1 300 Look\r\n\r\n"+strings.Repeat("x", 50_000), "hang"),
	"10 KiB exactly":            whole("HTTP/1.1 300 Look\r\nContent-Length: 10240\r\n\r\n"+strings.Repeat("x", 10240), "hang"),
	"body that stops":           whole("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "hang"),
	"body that ends early":      whole("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "close"),
	"body cut off":              whole("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "reset"),
	"header flood":              whole("HTTP/1.1 200 OK\r\n"+strings.Repeat("X-Flood: "+strings.Repeat("y", 1000)+"\r\n", 300)+"\r\n", "close"),
	"header deluge":             whole("HTTP/1.1 200 OK\r\n"+strings.Repeat("X-Flood: "+strings.Repeat("y", 1000)+"\r\n", 12_000)+"\r\n", "close"),
	"endless header":            whole("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("y", 100_000), "hang"),
	"NUL in a header":           whole("HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 0\r\n\r\n", "close"),
	"NULs":                      whole(strings.Repeat("\x00", 64), "close"),
	"folded header":             whole("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", "close"),
	"line feeds only":           whole("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "close"),
	"two lengths":               whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk", "close"),
	"the same length twice":     whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", "close"),
	"negative length":           whole("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", "close"),
	"SSH":                       {Read: "none", Pieces: []piece{{Text: "SSH-2.0-OpenSSH_9.2\r\n"}}, End: "hang"},
	"MySQL":                     {Read: "none", Pieces: []piece{{Text: "\x4a\x00\x00\x00\x0a8.0.36\x00"}}, End: "hang"},
	"TLS alert":                 whole("\x15\x03\x01\x00\x02\x02\x46", "close"),
	"HTTP/2 settings":           whole("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64", "hang"),
	"HTTP/2.0 status":           whole("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "close"),
	"HTTP/1.2 status":           whole("HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n", "close"),
	"HTTP/0.9":                  whole("<html>ok</html>", "close"),
	"status without reason":     whole("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "close"),
	"status of four digits":     whole("HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", "close"),
	"slow headers": {Read: "all", End: "close", Pieces: []piece{
		{Text: "HTTP/1.1 2"}, {50 * time.Millisecond, "00 OK\r\nContent-Le"}, {50 * time.Millisecond, "ngth: 2\r\n"}, {50 * time.Millisecond, "\r\no"}, {50 * time.Millisecond, "k"},
	}},
	"a byte at a time": {Read: "all", End: "hang", Pieces: bytewise("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")},
	"answer before the request": {Read: "none", End: "hang", Pieces: []piece{
		{Text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
	}},
}

func bytewise(text string) []piece {
	var pieces []piece
	for _, c := range []byte(text) {
		pieces = append(pieces, piece{time.Millisecond, string(c)})
	}
	return pieces
}

func TestKnownMisbehaviours(t *testing.T) {
	p := newProber(t, nil)
	for name, s := range known {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, p, httpTarget(serve(t, s)), s)
		})
	}
}

// TestSwitchingProtocols is a difference that is wanted: kubelet v1.37.2 reads
// from the switched connection without any timeout, so when the server keeps it
// open, that probe is never attempted again.
func TestSwitchingProtocols(t *testing.T) {
	port := serve(t, whole("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "hang"))
	got := whylet(t, newProber(t, nil), httpTarget(port))
	want := answer{fact.Failure, "HTTP probe failed with statuscode: 101"}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestGeneratedMisbehaviours puts answers together from good and bad parts, and
// cuts them into pieces.
func TestGeneratedMisbehaviours(t *testing.T) {
	p := newProber(t, nil)
	batch := rapid.SliceOfN(rapid.Custom(drawScript), 200, 200)
	rapid.Check(t, func(rt *rapid.T) {
		together(batch.Draw(rt, "scripts"), func(s script) {
			compare(t, p, httpTarget(serve(t, s)), s)
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

var (
	statusLines = []string{
		"HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 500 Oops",
		"HTTP/1.1 503 Service Unavailable", "HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified",
		"HTTP/1.1 302 Found", "HTTP/1.1 308 Permanent Redirect", "HTTP/1.1 305 Use Proxy", "HTTP/1.1 103 Early Hints",
		"HTTP/1.1 200", "HTTP/1.1  200 OK", "HTTP/1.1\t200 OK", "http/1.1 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 +20 OK",
		"HTTP/1.1 200 \xffk", "HTTP/1.1 200 a\x00b", "HTTP/3.0 200 OK", "HTTP/1.10 200 OK", "ICY 200 OK", "", " HTTP/1.1 200 OK",
	}
	headerLines = []string{
		"Content-Length: 0", "Content-Length: 5", "content-length:5", "Content-Length: 12000", "Content-Length: 5, 5",
		"Content-Length: +5", "Content-Length: 0x5", "Content-Length: ", "Content-Length: 99999999999999999999", "Content-Length : 5",
		"Transfer-Encoding: chunked", "transfer-encoding: CHUNKED", "Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked",
		"Transfer-Encoding: identity", "Connection: keep-alive", "Connection: close", "Content-Encoding: gzip",
		"Server: nginx", "Via: 1.1 proxy", "Location: /elsewhere", "Location: http://127.0.0.1/", "Location: http://other.example/",
		"Location: //other.example:99/", "Location: ftp://127.0.0.1/", "Location: ",
		"X: \x01", "X\x00: y", "X Y: z", ": empty", "no colon", " folded", "\tfolded", "X:y", "Ünicode: x", "X: ü", "Trailer: A",
		"X: " + strings.Repeat("long", 3000), "Set-Cookie: a=b",
	}
	bodies = []string{
		"", "", "hello", "hello", "hell", "hello, world", "5\r\nhello\r\n0\r\n\r\n", "5;x=y\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n",
		"5\r\nhello\r\n0\r\n", "5\r\nhello\r\n0\r\nA: b\r\n\r\n", "5\r\nhelloX0\r\n\r\n", "0\r\n\r\n", "000\r\n\r\n", "0\n\n", "-1\r\n\r\n",
		"FFFFFFFFFFFFFFFFF\r\n", "5\nhello\n0\n\n", strings.Repeat("x", 12000), "3000\r\n" + strings.Repeat("x", 0x3000) + "\r\n0\r\n\r\n",
	}
)

func drawScript(t *rapid.T) script {
	lineEnd := rapid.SampledFrom([]string{"\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r"}).Draw(t, "line end")
	var text strings.Builder
	text.WriteString(rapid.SampledFrom(statusLines).Draw(t, "status") + lineEnd)
	for _, h := range rapid.SliceOfN(rapid.SampledFrom(headerLines), 0, 4).Draw(t, "headers") {
		text.WriteString(h + lineEnd)
	}
	text.WriteString(lineEnd + rapid.SampledFrom(bodies).Draw(t, "body"))
	s := script{
		Read: rapid.SampledFrom([]string{"all", "all", "all", "all", "none"}).Draw(t, "read"),
		End:  rapid.SampledFrom([]string{"close", "close", "hang", "half"}).Draw(t, "end"),
	}
	if s.Read == "none" {
		s.End = "hang" // else a reset overtakes the answer, or not
	}
	rest := text.String()
	if rapid.IntRange(0, 5).Draw(t, "truncate") == 0 {
		rest = rest[:rapid.IntRange(0, len(rest)).Draw(t, "length")]
	}
	for range rapid.IntRange(0, 3).Draw(t, "cuts") {
		at := rapid.IntRange(0, len(rest)).Draw(t, "cut")
		s.Pieces = append(s.Pieces, piece{Text: rest[:at], After: time.Duration(rapid.IntRange(0, 10).Draw(t, "ms")) * time.Millisecond})
		rest = rest[at:]
	}
	s.Pieces = append(s.Pieces, piece{Text: rest})
	return s
}
