package journal

import (
	"os"
	"testing"
)

// Where the end of a log is missing, a reader says how much of a record is left.
func TestUnfinished(t *testing.T) {
	dir, path := written(t, 8)
	whole, err := os.ReadFile(path)
	must(t, err)
	s := scanFrames(whole, 0, newNames())
	unfinished := func(data []byte) int64 {
		must(t, os.WriteFile(path, data, 0o600))
		r, err := OpenReader(dir)
		must(t, err)
		defer r.Close()
		return r.Unfinished()
	}
	if n := unfinished(whole); n != 0 {
		t.Errorf("of a whole log %d bytes", n)
	}
	end := int(s.end)
	for _, cut := range []int{1, 5, 20} {
		if n := unfinished(whole[:end-cut]); n <= 0 {
			t.Errorf("%d bytes are cut off, and nothing is said", cut)
		}
	}
	if n := unfinished(append(whole[:end:end], make([]byte, 4096)...)); n != 0 { // room that was not written to
		t.Errorf("of a log with room behind it %d bytes", n)
	}
}
