package runtime

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"whylet.dev/whylet/probe"
)

// The bounds of what is kept of a container's log and of its termination message
// (fact.Exited.LastLines; kubelet: pkg/kubelet/container/runtime.go).
const (
	mostLines    = 10
	mostBytes    = 1 << 10
	readFromEnd  = 32 << 10
	mostMessage  = 4 << 10
	longestTaken = 4 << 10
)

// lastLines are the last lines of a container's log, without what looks like a
// secret; nil where there is none to read.
func lastLines(path string) []string {
	raw, whole, err := tailOf(path, readFromEnd)
	if err != nil || len(raw) == 0 {
		return nil
	}
	if !whole {
		_, raw, _ = bytes.Cut(raw, []byte("\n"))
	}
	text := joinLines(raw)
	if len(text) > longestTaken {
		_, text, _ = strings.Cut(text[len(text)-longestTaken:], "\n")
	}
	text = strings.TrimSpace(strings.ToValidUTF8(string(probe.Redact([]byte(text))), ""))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-mostLines):]
	left := mostBytes
	for i := len(lines) - 1; i >= 0; i-- {
		if left -= len(lines[i]); left < 0 {
			if i == len(lines)-1 {
				return []string{strings.ToValidUTF8(lines[i][:mostBytes], "")}
			}
			return lines[i+1:]
		}
	}
	return lines
}

// joinLines takes the text out of a log in CRI's form: time, stream, F or P (a line
// that the next one continues), text.
func joinLines(raw []byte) string {
	var text strings.Builder
	for line := range strings.Lines(string(raw)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(parts) < 4 {
			continue
		}
		text.WriteString(parts[3])
		if parts[2] != "P" {
			text.WriteByte('\n')
		}
	}
	return text.String()
}

// message is what a container left in its termination message file.
func message(path string) string {
	raw, _, err := tailOf(path, mostMessage)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(raw), "")
}

// tailOf reads the last bytes of a file; whole says whether that is all of it.
func tailOf(path string, most int64) (raw []byte, whole bool, err error) {
	if path == "" {
		return nil, false, fs.ErrNotExist
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, false, errors.Join(err, fs.ErrInvalid)
	}
	from := max(0, info.Size()-most)
	raw, err = io.ReadAll(io.NewSectionReader(f, from, most))
	return raw, from == 0, err
}
