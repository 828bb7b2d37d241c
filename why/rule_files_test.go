package why

import (
	"testing"

	"whylet.dev/whylet/knowledge"
)

func TestEMFILE(t *testing.T) {
	for text, want := range map[string]bool{
		"2026/11/22 05:00:00 [alert] 7#7: *1 accept4() failed (24: Too many open files)": true,
		"OSError: [Errno 24] Too many open files: '/tmp/x'":                              true,
		"Error: Too many open files (os error 24)":                                       true,
		"Errno::EMFILE": true,
		"open /data/1: too many open files in system": false,
		"ENFILE":                 false,
		"cannot read systemfile": false,
	} {
		if knowledge.OpenFiles.In(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
