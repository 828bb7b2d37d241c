package journald

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// every is how often the file is looked at for more, lookForUnit how often for a
	// unit that has said nothing in it yet.
	every       = 250 * time.Millisecond
	lookForUnit = 2 * time.Second
	// readBack is how many records at most are read that were there before, and filesBack
	// of how many files.
	readBack  = 50_000
	filesBack = 8
)

// Follow reads what a unit says from a moment on, and what it adds, until ctx ends. root
// is where the machine's paths begin. caughtUp is called when what was there has been
// read. An error means that there is no journal that can be read.
func Follow(ctx context.Context, root, unit string, since time.Time, record func(at time.Time, text string), caughtUp func()) error {
	live, err := find(root)
	if err != nil {
		return err
	}
	r := reader{unit: unit, record: record, since: since}
	for _, path := range archived(live, since) {
		if f, err := open(path); err == nil { // one that is damaged tells nothing
			r.begin(f)
			r.more()
			f.close()
		}
	}
	f, err := open(live)
	if err != nil {
		return err
	}
	defer func() { f.close() }()
	r.begin(f)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		r.more()
		if caughtUp != nil {
			caughtUp()
			caughtUp = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if next := replaced(f, live); next != nil {
			r.more()
			f.close()
			f = next
			r.begin(f)
		}
	}
}

// find gives the file that is written to: below /var where the journal is kept, else
// below /run.
func find(root string) (string, error) {
	for _, dir := range []string{"/var/log/journal", "/run/log/journal"} {
		found, err := filepath.Glob(filepath.Join(root+dir, "*", "system.journal"))
		if err == nil && len(found) > 0 {
			return slices.MaxFunc(found, func(a, b string) int { return changed(a).Compare(changed(b)) }), nil
		}
	}
	return "", os.ErrNotExist
}

func changed(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// archived are the files that were written to before, oldest first, as far as they reach
// beyond a moment.
func archived(live string, since time.Time) []string {
	all, err := filepath.Glob(filepath.Join(filepath.Dir(live), "system@*.journal"))
	if err != nil {
		return nil // the pattern is a good one
	}
	began := map[string]uint64{}
	all = slices.DeleteFunc(all, func(path string) bool {
		f, err := open(path)
		if err != nil {
			return true
		}
		defer f.close()
		first, last := f.times()
		began[path] = first
		return last < uint64(max(0, since.UnixMicro()))
	})
	slices.SortFunc(all, func(a, b string) int { return int(min(began[a], 1<<62)) - int(min(began[b], 1<<62)) })
	return all[max(0, len(all)-filesBack):]
}

// replaced opens the file anew where there is another one at its path.
func replaced(f *file, path string) *file {
	was, err := f.f.Stat()
	is, err2 := os.Stat(path)
	if err != nil || err2 != nil || os.SameFile(was, is) {
		return nil
	}
	next, err := open(path)
	if err != nil {
		return nil
	}
	return next
}

// reader reads the records of a unit, one file after the other.
type reader struct {
	unit   string
	since  time.Time
	record func(time.Time, string)

	f      *file
	value  uint64
	read   uint64
	looked time.Time
}

func (r *reader) begin(f *file) {
	r.f, r.value, r.read, r.looked = f, 0, 0, time.Time{}
}

// more takes what was added. A file that is damaged tells no more.
func (r *reader) more() {
	if r.value == 0 {
		if time.Since(r.looked) < lookForUnit {
			return
		}
		r.looked = time.Now()
		var err error
		if r.value, err = r.f.value("_SYSTEMD_UNIT", r.unit); err != nil || r.value == 0 {
			r.value = 0
			return
		}
		total, err := r.f.entries(r.value, 0, func(uint64) bool { return false })
		if err == nil && total > readBack {
			r.read = total - readBack
		}
	}
	total, err := r.f.entries(r.value, r.read, func(at uint64) bool {
		if when, text, ok := r.f.entry(at); ok && !when.Before(r.since) {
			r.record(when, text)
		}
		r.read++
		return true
	})
	if err == nil {
		r.read = max(r.read, total)
	}
}
