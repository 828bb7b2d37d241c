// Package paint colours what a terminal shows, and nothing that is read by a program.
package paint

import (
	"io"
	"os"

	"golang.org/x/term"
)

// The colours, as the parameters of an escape sequence (ECMA-48, SGR).
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// Colours reports whether escape codes may be written to w: it is a terminal, and the
// user has not asked for none (no-color.org).
func Colours(w io.Writer) bool {
	if s, ok := w.(*shown); ok {
		return s.colours
	}
	return Terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Terminal reports whether a person reads what is written to w.
func Terminal(w io.Writer) bool {
	f, ok := Raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Text wraps text in a colour where w takes one.
func Text(w io.Writer, colour, text string) string {
	if colour == "" || !Colours(w) {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
