package cri

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Rotation says when a container's log is rotated and how much is kept.
type Rotation struct {
	// MaxSize is the size in bytes above which a log is rotated.
	MaxSize int64
	// MaxFiles is how many files of one run are kept, the current one among them; at least 2.
	MaxFiles int
}

// DefaultRotation is Kubernetes' (containerLogMaxSize, containerLogMaxFiles).
var DefaultRotation = Rotation{MaxSize: 10 << 20, MaxFiles: 5}

const (
	rotatedStamp = "20060102-150405"
	zipped       = ".gz"
	unfinished   = ".tmp"
)

// RotateLogs looks once at the logs of running containers and rotates those that
// are too large: N.log becomes N.log.TIME, an earlier N.log.TIME is compressed,
// the oldest go. kubelet checks every 10 s. Its own log manager would ask the
// runtime about every container each time; the paths are known here, so a log
// that need not be rotated costs one stat. Errors of different containers are
// joined; none keeps the others from being rotated.
func (c *Client) RotateLogs(ctx context.Context, r Rotation, running []ContainerView) error {
	var errs []error
	for _, v := range running {
		if v.State != Running || v.LogPath == "" || ctx.Err() != nil {
			continue
		}
		if err := c.rotateIfLarge(ctx, r, v); err != nil {
			errs = append(errs, fmt.Errorf("log of container %s of pod %s: %w", v.Name, v.Pod, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Client) rotateIfLarge(ctx context.Context, r Rotation, v ContainerView) error {
	info, err := os.Stat(v.LogPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Somebody removed it, and the runtime writes to a file without a name.
		return c.ReopenLog(ctx, v.ID)
	case err != nil:
		return err
	case info.Size() < r.MaxSize:
		return nil
	}
	if err := tidyRotated(v.LogPath, max(r.MaxFiles-2, 0)); err != nil {
		return err
	}
	rotated := v.LogPath + "." + time.Now().Format(rotatedStamp)
	if taken(rotated) || taken(rotated+zipped) {
		return nil // rotated in this very second; the next look is soon enough
	}
	if err := os.Rename(v.LogPath, rotated); err != nil {
		return err
	}
	if err := c.ReopenLog(ctx, v.ID); err != nil {
		// The runtime still writes to it, so it gets its name back.
		return errors.Join(err, os.Rename(rotated, v.LogPath))
	}
	return nil
}

func taken(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// tidyRotated makes room for one more rotated log: it removes what an
// interrupted rotation left, keeps the newest keep logs, and compresses them. The
// newest of all stays readable until the next rotation, for collectors that
// follow it.
func tidyRotated(log string, keep int) error {
	rotated, err := rotatedLogs(log)
	if err != nil {
		return err
	}
	for len(rotated) > keep {
		if err := os.Remove(rotated[0]); err != nil {
			return err
		}
		rotated = rotated[1:]
	}
	for _, file := range rotated {
		if strings.HasSuffix(file, zipped) {
			continue
		}
		if err := compress(file); err != nil {
			return fmt.Errorf("compress %s: %w", file, err)
		}
	}
	return nil
}

// rotatedLogs lists a log's rotated files, oldest first, and removes half-done ones:
// temporary files, and files whose compressed form is complete.
func rotatedLogs(log string) ([]string, error) {
	all, err := filepath.Glob(globQuote(log) + ".*")
	if err != nil {
		return nil, err
	}
	var rotated []string
	for _, file := range all {
		if strings.HasSuffix(file, unfinished) || slices.Contains(all, file+zipped) {
			if err := os.Remove(file); err != nil {
				return nil, err
			}
			continue
		}
		rotated = append(rotated, file)
	}
	slices.Sort(rotated) // the stamps sort by time
	return rotated, nil
}

func compress(file string) (err error) {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	tmp := file + unfinished
	out, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode())
	if err != nil {
		return err
	}
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	if err = errors.Join(err, z.Close(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, file+zipped); err != nil {
		return err
	}
	return os.Remove(file)
}

// removeLogs removes a run's log with all its rotated files.
func removeLogs(log string) error {
	all, err := filepath.Glob(globQuote(log) + "*")
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range all {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// globQuote takes a path literally: a data directory may have any name.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
