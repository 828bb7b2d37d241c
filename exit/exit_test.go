package exit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Code
	}{
		{nil, OK},
		{errors.New("no"), Failed},
		{UsageError("no %s", "flag"), Usage},
		{fmt.Errorf("up: %w", UsageError("no")), Usage},
		{errors.Join(errors.New("no"), Silent(Unknown)), Unknown},
	} {
		if got := Of(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

// Scripts tell the codes apart, so no two of them are the same, and each is explained.
func TestCodes(t *testing.T) {
	seen := map[Code]bool{}
	for i, c := range Codes {
		if seen[c.Code] || int(c.Code) != i {
			t.Errorf("code %d is there twice, or out of order", c.Code)
		}
		seen[c.Code] = true
		if line := fmt.Sprintf("\n  %d  %s", c.Code, c.Meaning); !strings.Contains(Help(), line) {
			t.Errorf("the help does not say %q", line)
		}
	}
}
