package runtime

import (
	"bytes"
	"io"
	"os"
)

// maxLog is how large containerd's log may become before it moves to .1.
const maxLog = 16 << 20

// limitLog keeps the log at two files of maxLog bytes. containerd holds the file
// open for appending, so it is copied and cut instead of renamed; lines written
// in between are lost, which is better than a full disk.
func limitLog(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Size() < maxLog {
		return
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return
	}
	if os.WriteFile(path+".1", old, 0o600) == nil {
		_ = os.Truncate(path, 0)
	}
}

// lastLine is the last line of the file at path with a colon and a space before
// it, for the end of an error message; empty when there is none.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const window = 2048
	if info, err := f.Stat(); err == nil && info.Size() > window {
		if _, err := f.Seek(-window, io.SeekEnd); err != nil {
			return ""
		}
	}
	tail, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	tail = bytes.TrimSpace(tail)
	if i := bytes.LastIndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	if len(tail) == 0 {
		return ""
	}
	return ": " + string(tail)
}
