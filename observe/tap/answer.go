package tap

import (
	"bytes"
	"io"
	"iter"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// head is what stands at the beginning of an HTTP/1 answer.
type head struct {
	status int
	proto  string
	header map[string]string // those that evidence keeps
	// size is that of the head, length what it says of the body; -1: not known.
	size, length int
	chunked      bool
}

// keptHeaders are those that name who answered and where to, the marks of meshes' sidecars
// among them: as package probe keeps them.
var keptHeaders = []string{
	"Server", "Via", "Content-Type", "Location", "X-Whylet-Answered-By",
	"X-Envoy-Upstream-Service-Time", "X-Pipy-Upstream-Service-Time", "L5d-Proxy-Error",
	"X-Whylet-Upstream-Service-Time", "X-Whylet-Sidecar-Service-Time",
}

// readHead reads as much as there is; ok is false for what is no HTTP/1 answer.
func readHead(b []byte) (h head, ok bool) {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	proto, after, found := strings.Cut(string(line), " ")
	if !found || !strings.HasPrefix(proto, "HTTP/1.") || len(after) < 3 {
		return head{}, false
	}
	status, err := strconv.Atoi(after[:3])
	if err != nil || status < 100 {
		return head{}, false
	}
	h = head{status: status, proto: proto, size: -1, length: -1}
	for {
		line, next, whole := bytes.Cut(rest, []byte("\r\n"))
		if !whole {
			return h, true // it was cut off in the copy
		}
		rest = next
		if len(line) == 0 {
			h.size = len(b) - len(rest)
			return h, true
		}
		h.take(string(line))
	}
}

// mayBeHead says whether an HTTP/1 answer may begin so.
func mayBeHead(b []byte) bool {
	const begins = "HTTP/1."
	return string(b[:min(len(b), len(begins))]) == begins[:min(len(b), len(begins))]
}

func (h *head) take(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	if strings.EqualFold(name, "Content-Length") {
		if n, err := strconv.Atoi(value); err == nil && n >= 0 {
			h.length = n
		}
	}
	if strings.EqualFold(name, "Transfer-Encoding") {
		h.chunked = strings.EqualFold(value, "chunked")
	}
	for _, kept := range keptHeaders {
		if strings.EqualFold(name, kept) {
			if h.header == nil {
				h.header = map[string]string{}
			}
			h.header[kept] = value
		}
	}
}

// body returns what was copied of the body, without the sizes of its chunks; nil if nothing was.
func (h head) body(copied []byte) []byte {
	if h.size <= 0 || h.size >= len(copied) {
		return nil
	}
	body := copied[h.size:]
	if h.chunked {
		body, _ = io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(body))) // an error ends a copy that is cut off
	}
	return body
}

// requestPath is the path of an HTTP/1 request; ok is false for anything else.
func requestPath(b []byte) (method, path string, ok bool) {
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	parts := strings.Split(string(line), " ")
	if len(parts) != 3 || !strings.HasPrefix(parts[2], "HTTP/1.") {
		return "", "", false
	}
	return parts[0], parts[1], true
}

const preface = "PRI * HTTP/2.0\r\n"

// isTLS says whether a connection begins as one with TLS does.
func isTLS(b []byte) bool { return len(b) > 2 && b[0] == 0x16 && b[1] == 3 }

// isAlert says whether TLS told that it failed: a record of type 21, in the open.
func isAlert(b []byte) bool { return len(b) > 6 && b[0] == 21 && b[1] == 3 && b[5] == 2 }

// Frames of HTTP/2 that answers are made of, and flags of theirs (RFC 9113, 6.1 and 6.2).
const (
	frameHead   = 9
	frameData   = 0
	frameHeader = 1

	flagWhole, flagPadded, flagPriority = 0x4, 0x8, 0x20
)

// frames gives the whole frames that stand at the beginning of a copy.
func frames(b []byte) iter.Seq2[byte, []byte] {
	return func(yield func(kind byte, frame []byte) bool) {
		for len(b) >= frameHead {
			size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
			kind, flags := b[3], b[4]
			if b = b[frameHead:]; size > len(b) {
				return
			}
			frame, whole := unpadded(b[:size], kind, flags)
			b = b[size:]
			if whole && !yield(kind, frame) {
				return
			}
		}
	}
}

// unpadded is what a frame carries; ok is false for a part of what goes on in others.
func unpadded(frame []byte, kind, flags byte) (carries []byte, ok bool) {
	if kind != frameData && kind != frameHeader {
		return nil, false
	}
	if flags&flagPadded != 0 {
		if len(frame) == 0 || int(frame[0]) >= len(frame) {
			return nil, false
		}
		frame = frame[1 : len(frame)-int(frame[0])]
	}
	if kind == frameHeader && flags&flagPriority != 0 {
		if len(frame) < 5 {
			return nil, false
		}
		frame = frame[5:]
	}
	return frame, kind == frameData || flags&flagWhole != 0
}

// healthOf finds the answer of the gRPC health service among HTTP/2 frames: a DATA
// frame with one message, whose one field is the status (grpc.health.v1).
func healthOf(b []byte) (status int, ok bool) {
	for kind, frame := range frames(b) {
		switch {
		case kind != frameData || len(frame) < 5:
		case len(frame) == 5: // an empty message says UNKNOWN, which is 0 and so is left out
			return 0, true
		case len(frame) == 7 && frame[5] == 0x08:
			return int(frame[6]), true
		}
	}
	return 0, false
}

// mostHeader bounds a header that is read.
const mostHeader = 1 << 10

// refusalOf finds the headers by which a gRPC server answers without any message: the call's
// status and its words. They are the first of their connection, so nothing that came before is
// needed to read them.
func refusalOf(b []byte) (code int, said string, ok bool) {
	for kind, frame := range frames(b) {
		if kind != frameHeader {
			continue
		}
		d := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
			switch f.Name {
			case "grpc-status":
				var err error
				code, err = strconv.Atoi(f.Value)
				ok = err == nil && code > 0
			case "grpc-message":
				said = f.Value
				if plain, err := url.PathUnescape(said); err == nil {
					said = plain
				}
			}
		})
		d.SetMaxStringLength(mostHeader)
		_, err := d.Write(frame)
		if ok = ok && err == nil && d.Close() == nil; ok {
			return code, strings.ToValidUTF8(said, ""), true
		}
		return 0, "", false
	}
	return 0, "", false
}
