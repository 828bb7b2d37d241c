package observe

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// The program goes on when it has let go of itself, and has less of its file afterwards.
func TestGiveBack(t *testing.T) {
	before := resident(t)
	if err := giveBack(); err != nil {
		t.Fatal(err)
	}
	if after := resident(t); after >= before {
		t.Errorf("%d pages of files before, %d after", before, after)
	}
}

func resident(t *testing.T) (pages int) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	if pages, err = strconv.Atoi(strings.Fields(string(raw))[2]); err != nil {
		t.Fatal(err)
	}
	return pages
}
