//go:build !linux

package journal

import (
	"errors"
	"os"
)

// lock fails: nodes run on Linux. Elsewhere histories are read only.
func lock(*os.File) error { return errors.ErrUnsupported }

func syncData(f *os.File) error { return f.Sync() }
