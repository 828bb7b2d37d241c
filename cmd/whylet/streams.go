package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// streams is where a command reads and writes. Tests give it buffers.
type streams struct {
	in  io.Reader
	out io.Writer // data only
	err io.Writer // progress, hints, errors
}

// colour reports whether escape codes may be written to w: it is a terminal, and
// the user has not asked for none (no-color.org).
func colour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// paint wraps text in an escape code where w takes one.
func paint(w io.Writer, code, text string) string {
	if !colour(w) {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
)
