package runtime

import (
	"fmt"
	"os"
)

// writeFile replaces path as a whole: a reader sees the old file or the new one.
// The file is private, as all that the runtime writes.
func writeFile(path string, data []byte) error {
	next := path + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
