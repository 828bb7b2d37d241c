package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
)

// damage is something that could not be read.
type damage struct {
	err   error
	seg   *segment
	block block // of seg; zero if it is the index that was lost
	log   *log
	path  string
	spans []span // of log
}

// report takes a note of damage; the keeper sees to it.
func (j *Journal) report(d damage) {
	j.damageMu.Lock()
	j.damage = append(j.damage, d)
	j.damageMu.Unlock()
	j.wakeKeeper()
}

// setAside sees to the damage that was found since the last time: the file goes
// to the directory "aside", a fact.Lost says what is missing, and what can be
// read goes on being served.
func (j *Journal) setAside() error {
	j.damageMu.Lock()
	found := j.damage
	j.damage = nil
	j.damageMu.Unlock()

	var errs []error
	rewritten := map[*segment]bool{}
	for _, d := range found {
		j.noteDamage(d)
		if d.seg == nil || rewritten[d.seg] || !slices.Contains(j.segments(), d.seg) {
			continue
		}
		rewritten[d.seg] = true
		name := d.seg.name
		name.version++
		errs = append(errs, j.rewrite(name, []*segment{d.seg}, func(*segment, block) bool { return true }))
	}
	return errors.Join(errs...)
}

// noteDamage keeps a copy of the damaged file and writes the gap down.
func (j *Journal) noteDamage(d damage) {
	path := d.path
	if d.seg != nil {
		path = d.seg.path
	}
	aside := j.keepAside(path)
	j.o.Log.Error("journal: damaged, the rest is served", "error", d.err, "aside", aside)
	lost := fact.Lost{Source: fact.SourceJournal, Reason: d.err.Error()}
	var pod fact.Pod
	switch {
	case d.seg != nil && d.block.count > 0:
		pod = d.block.pod
		lost.From, lost.Until, lost.Count = clock(d.block.from), clock(d.block.to), d.block.count
	case d.log != nil:
		lost.From, lost.Until = around(d.log.view().entries, d.spans)
	}
	now := j.o.Clock()
	f := fact.Fact{ID: j.Next(1), At: now, Seen: now, Pod: pod, Body: lost}
	if err := j.append([]fact.Fact{f}); err != nil {
		j.o.Log.Error("journal: cannot note a gap", "error", err)
	}
}

func clock(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }

// around gives the times of the records before and behind damaged parts.
func around(entries []entry, spans []span) (from, until time.Time) {
	for _, e := range entries {
		if e.off < spans[0].from {
			from = clock(e.end)
		}
		if e.off >= spans[len(spans)-1].to && until.IsZero() {
			until = clock(e.at)
		}
	}
	return from, until
}

// keepAside gives a file a second name in the directory "aside".
func (j *Journal) keepAside(path string) string {
	to := filepath.Join(j.dir, asideDir, filepath.Base(path))
	err := os.MkdirAll(filepath.Dir(to), dirMode)
	if err == nil {
		err = os.Link(path, to)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		j.o.Log.Warn("journal: cannot set a damaged file aside", "path", path, "error", err)
	}
	return to
}

// moveAside takes a file that cannot even be opened out of the way.
func (j *Journal) moveAside(path string) string {
	to := filepath.Join(j.dir, asideDir, filepath.Base(path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), dirMode), os.Rename(path, to)); err != nil {
		j.o.Log.Error("journal: cannot set a file aside", "path", path, "error", err)
	}
	return to
}

// boundAside removes the oldest files that were set aside, beyond an eighth of
// the journal's bytes.
func (j *Journal) boundAside() error {
	files, err := os.ReadDir(filepath.Join(j.dir, asideDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var infos []os.FileInfo
	var total int64
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			infos = append(infos, info)
			total += info.Size()
		}
	}
	slices.SortFunc(infos, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	var errs []error
	for _, info := range infos {
		if total <= j.o.MaxBytes/8 {
			break
		}
		total -= info.Size()
		errs = append(errs, os.Remove(filepath.Join(j.dir, asideDir, info.Name())))
	}
	return errors.Join(errs...)
}
