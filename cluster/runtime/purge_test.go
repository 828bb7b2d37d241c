package runtime

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Processes that end late are waited for, and what does not end is named, but not
// all of thousands.
func TestKillUntilGone(t *testing.T) {
	victim := exec.Command("sleep", "3600")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	find := func() ([]int, error) {
		looks++
		if looks > 20 {
			return nil, nil
		}
		return []int{victim.Process.Pid}, nil // a zombie, as it looks to who does not know better
	}
	if err := killUntilGone(t.Context(), find); err != nil || looks <= 20 {
		t.Errorf("after %d looks: %v", looks, err)
	}
	if err := victim.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process ended with %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := make([]int, 3000)
	for i := range many {
		many[i] = 1<<22 + 1 + i // more than the kernel gives to anybody
	}
	err := killUntilGone(ctx, func() ([]int, error) { return many, nil })
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "and 2995 more") || len(err.Error()) > 200 {
		t.Errorf("what does not end is told as %v", err)
	}
	failed := errors.New("no /proc")
	if err := killUntilGone(t.Context(), func() ([]int, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if text := some([]int{os.Getpid()}); !strings.Contains(text, "runtime.test") {
		t.Errorf("this process is called %q", text)
	}
}
