package journal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Modes of everything in a journal's directory: what pods answered is nobody's
// business but root's.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

const (
	tmpSuffix = ".tmp"
	lockFile  = "lock"
	slotsFile = "open"
	asideDir  = "aside"
)

// segmentName says which logs a segment was made of, and which rewriting of
// them it is.
type segmentName struct {
	first, last uint64
	version     int
}

func (n segmentName) String() string {
	return fmt.Sprintf("%010d-%010d-%d.seg", n.first, n.last, n.version)
}

func logName(seq uint64) string { return fmt.Sprintf("%010d.log", seq) }

// covers says that with n in place, m is no longer needed.
func (n segmentName) covers(m segmentName) bool {
	return n.first <= m.first && m.last <= n.last && n != m &&
		(n.last-n.first > m.last-m.first || n.version > m.version)
}

// listing is what lies in a journal's directory.
type listing struct {
	logs     []uint64      // ascending
	segments []segmentName // ascending, none covered by another
	obsolete []string      // left behind by an interrupted rewrite
	tmp      []string
}

// list reads the directory. A log that is part of a segment is obsolete: the
// segment was complete when it got its name.
func list(dir string) (listing, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return listing{}, err
	}
	var l listing
	var all []segmentName
	for _, f := range files {
		var n segmentName
		var seq uint64
		switch name := f.Name(); {
		case filepath.Ext(name) == tmpSuffix:
			l.tmp = append(l.tmp, name)
		case matches(name, ".seg", "%d-%d-%d.seg", &n.first, &n.last, &n.version):
			all = append(all, n)
		case matches(name, ".log", "%d.log", &seq):
			l.logs = append(l.logs, seq)
		}
	}
	for _, n := range all {
		if slices.ContainsFunc(all, func(m segmentName) bool { return m.covers(n) }) {
			l.obsolete = append(l.obsolete, n.String())
		} else {
			l.segments = append(l.segments, n)
		}
	}
	l.logs = slices.DeleteFunc(l.logs, func(seq uint64) bool {
		in := slices.ContainsFunc(l.segments, func(n segmentName) bool { return n.first <= seq && seq <= n.last })
		if in {
			l.obsolete = append(l.obsolete, logName(seq))
		}
		return in
	})
	slices.Sort(l.logs)
	slices.SortFunc(l.segments, func(a, b segmentName) int { return cmp.Compare(a.first, b.first) })
	return l, nil
}

func matches(name, ext, format string, into ...any) bool {
	if filepath.Ext(name) != ext {
		return false
	}
	n, err := fmt.Sscanf(name, format, into...)
	return err == nil && n == len(into)
}

// syncDir makes names in a directory survive a loss of power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
