package probe

import (
	"bufio"
	"bytes"
	"io"
	"net/http/httputil"
	"strconv"
)

// maxBody is how much of a body is read before the verdict, as in kubelet
// (pkg/probe/http/http.go).
const maxBody = 10 << 10

// progress is how far a response has been read.
type progress int

const (
	// partial: more bytes are needed, and the head is not complete.
	partial progress = iota
	// headed: the head is complete, the body is not.
	headed
	// complete: everything that the verdict needs is there.
	complete
	// odd: not a response that this parser is sure of; net/http shall judge.
	odd
)

// response is what the fast way understands of an answer. Its slices point into
// the bytes that were parsed.
type response struct {
	status int
	proto  string
	header map[string]string // only those that evidence keeps
	body   []byte

	length  int64 // Content-Length, -1 without
	chunked bool
}

// parse reads a response from the bytes received so far; eof says that there
// will be no more. It accepts a strict subset of what net/http accepts, and
// reads it alike; all else is odd. Informational responses and redirects are
// odd too, because what follows them is net/http's business.
func parse(data []byte, eof bool) (response, progress) {
	r := response{length: -1}
	rest, p := r.parseHead(data)
	if p != headed {
		if eof && p == partial {
			p = odd
		}
		return r, p
	}
	p = r.parseBody(rest, eof)
	if eof && p == headed {
		p = odd
	}
	return r, p
}

func (r *response) parseHead(data []byte) (rest []byte, p progress) {
	line, rest, ok := cutLine(data)
	if !ok {
		if !mayBeStatus(data) {
			return nil, odd
		}
		return nil, partial
	}
	if !r.parseStatus(line) {
		return nil, odd
	}
	for {
		line, rest, ok = cutLine(rest)
		switch {
		case !ok:
			return nil, partial
		case len(line) == 0:
			return rest, headed
		case !r.parseHeader(line):
			return nil, odd
		}
	}
}

// mayBeStatus says whether the beginning of an answer can still become HTTP/1.
func mayBeStatus(data []byte) bool {
	const want = "HTTP/1."
	n := min(len(data), len(want))
	return string(data[:n]) == want[:n]
}

// cutLine takes a line off that ends with CR LF.
func cutLine(data []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(data, '\n')
	if i < 1 || data[i-1] != '\r' {
		// A bare LF makes the line odd: the byte stays in it, and no header may hold it.
		if i >= 0 {
			return data[:i+1], data[i+1:], true
		}
		return nil, data, false
	}
	return data[:i-1], data[i+1:], true
}

// parseStatus reads "HTTP/1.1 200 OK".
func (r *response) parseStatus(line []byte) bool {
	const shortest = len("HTTP/1.1 200")
	if len(line) < shortest || !plain(line) {
		return false
	}
	switch string(line[:9]) {
	case "HTTP/1.1 ":
		r.proto = "HTTP/1.1"
	case "HTTP/1.0 ":
		r.proto = "HTTP/1.0"
	default:
		return false
	}
	if len(line) > shortest && line[shortest] != ' ' {
		return false
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false
		}
		r.status = r.status*10 + int(c-'0')
	}
	return r.status >= 200 && !redirects(r.status)
}

// redirects says whether net/http's client follows the status.
func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// plain says whether a line has only printable ASCII and tabs.
func plain(line []byte) bool {
	for _, c := range line {
		if c < ' ' && c != '\t' || c > '~' {
			return false
		}
	}
	return true
}

func (r *response) parseHeader(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !plain(line[colon:]) {
		return false
	}
	name := line[:colon]
	for _, c := range name {
		if !isToken(c) {
			return false
		}
	}
	value := bytes.Trim(line[colon+1:], " \t")
	switch {
	case fold(name, "content-length"):
		return r.parseLength(value)
	case fold(name, "transfer-encoding"):
		if r.chunked || !fold(value, "chunked") || r.proto != "HTTP/1.1" {
			return false
		}
		r.chunked = true
	default:
		if kept := keptHeader(name); kept != "" {
			if r.header == nil {
				r.header = make(map[string]string, 4)
			}
			keepHeader(r.header, kept, string(value))
		}
	}
	// Both at once is how requests are smuggled; net/http has its own rules for it.
	return !r.chunked || r.length < 0
}

func (r *response) parseLength(value []byte) bool {
	if r.length >= 0 || r.chunked || len(value) == 0 || len(value) > 18 {
		return false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	r.length = n
	return err == nil
}

// parseBody finds the body in the bytes behind the head.
func (r *response) parseBody(data []byte, eof bool) progress {
	if r.status == 204 || r.status == 304 {
		return complete
	}
	if r.chunked {
		return r.parseChunks(data, eof)
	}
	want := r.length
	if want < 0 {
		want = maxBody // until the connection ends, or there is enough
	}
	want = min(want, maxBody)
	if int64(len(data)) < want && (r.length >= 0 || !eof) {
		return headed
	}
	r.body = data[:min(int64(len(data)), want)]
	return complete
}

// parseChunks decodes from the beginning each time: health endpoints answer in
// one chunk, and what is larger than the buffer goes to net/http anyway.
func (r *response) parseChunks(data []byte, eof bool) progress {
	rest := bytes.NewReader(data)
	buffered := bufio.NewReaderSize(rest, 512)
	chunks := httputil.NewChunkedReader(buffered)
	body := make([]byte, 0, min(len(data), maxBody))
	for len(body) < cap(body) {
		n, err := chunks.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			r.body = body
			return endOfChunks(data[len(data)-rest.Len()-buffered.Buffered():])
		}
		if err == io.ErrUnexpectedEOF && !eof {
			return headed
		}
		if err != nil {
			return odd
		}
	}
	if len(body) < maxBody {
		return headed // nothing behind the head yet
	}
	r.body = body
	return complete
}

// endOfChunks judges what follows the last chunk: an empty trailer's line end.
// A trailer with fields is left to net/http.
func endOfChunks(trailer []byte) progress {
	const end = "\r\n"
	switch {
	case len(trailer) >= len(end) && string(trailer[:len(end)]) == end:
		return complete
	case len(trailer) < len(end) && string(trailer) == end[:len(trailer)]:
		return headed
	}
	return odd
}

// fold compares with an ASCII name in lower case.
func fold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// isToken says whether a byte may stand in a header's name (RFC 9110, 5.6.2).
func isToken(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}
