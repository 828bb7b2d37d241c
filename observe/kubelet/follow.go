package kubelet

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"whylet.dev/whylet/observe/journald"
)

const (
	// pollFile is how often a log file is looked at for more.
	pollFile = 250 * time.Millisecond
	// readBack is how much of a log file is read that was there before.
	readBack = 16 << 20
	// longestLine is the longest record that is read; what is longer is cut.
	longestLine = 64 << 10
)

// FollowFile reads a log file from some way back, and what is added to it, until ctx
// ends. A file that is replaced or cut short is begun anew. caughtUp is called when what
// was there at first has been read.
func FollowFile(ctx context.Context, path string, record func(string), caughtUp func()) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	skip := info.Size() > readBack
	if _, err := f.Seek(max(0, info.Size()-readBack), io.SeekStart); err != nil {
		return err
	}
	g := gatherer{record: record, skip: skip}
	in := bufio.NewReaderSize(f, 64<<10)
	ticker := time.NewTicker(pollFile)
	defer ticker.Stop()
	for {
		if err := g.drain(in); err != nil {
			return err
		}
		if caughtUp != nil {
			caughtUp()
			caughtUp = nil
		}
		select {
		case <-ctx.Done():
			g.flush()
			return nil
		case <-ticker.C:
		}
		g.idle()
		if next := replaced(f, path); next != nil {
			_ = f.Close() // it was only read
			f, g.partial = next, ""
			in.Reset(f)
		}
	}
}

// FollowJournal is FollowFile for a kubelet whose words systemd keeps: from a moment on.
func FollowJournal(ctx context.Context, p Process, since time.Time, record func(string), caughtUp func()) error {
	g := gatherer{record: record}
	defer g.flush()
	return journald.Follow(ctx, p.Root, p.Unit, since, func(_ time.Time, text string) { g.line(text) }, caughtUp)
}

// replaced opens the file anew where there is another one at its path, or where it has
// become shorter than what was read; nil otherwise.
func replaced(f *os.File, path string) *os.File {
	was, err := f.Stat()
	at, err2 := f.Seek(0, io.SeekCurrent)
	is, err3 := os.Stat(path)
	if errors.Join(err, err2, err3) != nil || os.SameFile(was, is) && is.Size() >= at {
		return nil
	}
	next, err := os.Open(path)
	if err != nil {
		return nil
	}
	return next
}

// gatherer makes records of lines.
type gatherer struct {
	record  func(string)
	partial string // of a line
	held    strings.Builder
	skip    bool // the first line lacks its beginning
	quiet   int
}

func (g *gatherer) drain(in *bufio.Reader) error {
	for {
		part, err := in.ReadString('\n')
		if len(g.partial)+len(part) <= longestLine {
			g.partial += part
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		g.line(strings.TrimSuffix(g.partial, "\n"))
		g.partial = ""
	}
}

func (g *gatherer) line(text string) {
	if g.skip {
		g.skip = false
		return
	}
	g.quiet = 0
	if continues(text) && g.held.Len() > 0 {
		if g.held.Len() < longestLine {
			g.held.WriteByte('\n')
			g.held.WriteString(text)
		}
		return
	}
	g.flush()
	g.held.WriteString(text)
	if !strings.HasSuffix(text, "=<") { // else its value follows
		g.flush()
	}
}

// idle hands on a record whose rest does not come.
func (g *gatherer) idle() {
	if g.quiet++; g.quiet > 4 {
		g.flush()
	}
}

func (g *gatherer) flush() {
	if g.held.Len() > 0 {
		g.record(g.held.String())
		g.held.Reset()
	}
}
