package runtime

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// mostMessage bounds what is kept of a termination message (kubelet:
// pkg/kubelet/container/runtime.go).
const mostMessage = 4 << 10

// message is what a container left in its termination message file.
func message(path string) string {
	raw, err := tailOf(path, mostMessage)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(raw), "")
}

// tailOf reads the last bytes of a file.
func tailOf(path string, most int64) ([]byte, error) {
	if path == "" {
		return nil, fs.ErrNotExist
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-most), most))
}
