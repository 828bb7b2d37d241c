package observe

import (
	"errors"
	"fmt"
	"os"

	"whylet.dev/whylet/evidence"
)

// Clean removes what agents left on this machine: their memory, the directory itself if
// nothing of others is in it, and the traces of an agent that was killed.
func Clean(dataDir string) error {
	if s, err := evidence.OpenSignals(func(evidence.Signal) {}, func(int64) {}); err == nil { // else there are none
		if err := s.Close(); err != nil {
			return fmt.Errorf("traces of an agent: %w", err)
		}
	}
	if err := os.RemoveAll(JournalDir(dataDir)); err != nil {
		return fmt.Errorf("the agent's memory: %w", err)
	}
	if err := os.RemoveAll(ReadyFile(dataDir)); err != nil {
		return fmt.Errorf("the agent's directory: %w", err)
	}
	if err := os.Remove(dataDir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the agent's directory, which may hold what is not Whylet's: %w", err)
	}
	return nil
}
