package probe

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzParse holds the fast way's parser to net/http: whatever it accepts,
// net/http accepts too, and reads alike. It may call anything odd.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nServer: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"HTTP/1.0 404 Not Found\r\nVia: a\r\nvia: b\r\n\r\nno",
		"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n",
		"HTTP/1.1 200\r\n\r\n", "HTTP/1.1 200 OK\n\nok", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 302 Found\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok", "SSH-2.0-x\r\n",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, eof bool) {
		r, p := parse(data, eof)
		if eof && (p == partial || p == headed) {
			t.Fatal("waits for more after the end")
		}
		if p != complete {
			return
		}
		res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data)), nil)
		if err != nil {
			t.Fatalf("net/http does not accept it: %v", err)
		}
		body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
		if err != nil {
			t.Fatalf("net/http does not accept the body: %v", err)
		}
		if res.StatusCode != r.status || res.Proto != r.proto || !bytes.Equal(body, r.body) {
			t.Fatalf("read %d %s %q, net/http reads %d %s %q", r.status, r.proto, r.body, res.StatusCode, res.Proto, body)
		}
		for name, value := range r.header {
			if got := res.Header.Get(name); got[:min(len(got), maxHeaderValue)] != value {
				t.Fatalf("header %s is %q, net/http reads %q", name, value, got)
			}
		}
	})
}

// TestParseInPieces: however an answer is cut, only the last piece completes it.
func TestParseInPieces(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\nServer: me\r\n\r\n2\r\nok\r\n3\r\n no\r\n0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n",
	} {
		head := strings.Index(answer, "\r\n\r\n") + 4
		for n := range len(answer) + 1 {
			want := partial
			switch {
			case n == len(answer):
				want = complete
			case n >= head:
				want = headed
			}
			if _, got := parse([]byte(answer[:n]), false); got != want {
				t.Errorf("%q: got %v, want %v", answer[:n], got, want)
			}
			if _, got := parse([]byte(answer[:n]), true); n < len(answer) && got != odd {
				t.Errorf("%q, ended: got %v, want odd", answer[:n], got)
			}
		}
	}
}
