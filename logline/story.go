package logline

import (
	"strings"
	"time"

	"whylet.dev/whylet/logline/prefilter"
)

// Severity is how much a line promises to say of why something failed.
type Severity int8

// The severities, in their order.
const (
	Empty   Severity = iota
	Parting          // that the program ends, a frame of a stack, help
	Detail           // more of the error above
	Plain
	Warning
	Error
	System // an error in the system's words, such as "Permission denied"
	Fatal
	Raised // an error that ends a program, as its language words it
)

// Traits are what is known of a message beyond its format.
type Traits uint16

// The traits of a message.
const (
	Unreached   Traits = 1 << iota // another program could not be reached
	NamesOther                     // it is about another program that was asked
	Warns                          // a warning, at whatever level
	Faulty                         // a fault, at whatever level
	Credentials                    // credentials were refused
	Foretells                      // a warning from which an error right after it may come
	Waits                          // the program waits for something
	TooLate                        // another program did not answer in time
	ToolFails                      // a command says what keeps it from its work
)

// Hints is what the caller knows of the messages of particular programs.
type Hints interface {
	// Traits returns those that a message has.
	Traits(message string) Traits
	// Place returns the address of the other program that a message names; empty where it names none.
	Place(message string) string
}

// Story is a log that was read: its lines, oldest first.
type Story struct {
	lines []line
	hints Hints
}

// line is one line of a log.
type line struct {
	text    string // without colours
	trimmed string
	message string // without what a logger put around it
	members map[string]string
	raw     prefilter.Text // of text
	said    prefilter.Text // of message

	severity Severity
	traits   Traits
	hinted   bool // traits were asked for
	framed   bool // by its own form
	frame    bool // of a stack, after the line before it
	logged   bool // a logger put something around the message

	more  int       // how many lines before this one are like it and left out, see [ParseLong]
	since time.Time // when the first of them was written
}

// Parse reads the lines of a log, oldest first.
func Parse(lines []string, hints Hints) *Story {
	s := &Story{lines: make([]line, len(lines)), hints: hints}
	for i, text := range lines {
		s.lines[i] = read(text)
		s.lines[i].frame = i > 0 && isFrame(&s.lines[i-1], &s.lines[i])
	}
	s.joinValues()
	s.weigh()
	return s
}

// read takes one line apart.
func read(text string) line {
	l := line{text: uncoloured(text)}
	l.trimmed = strings.TrimSpace(l.text)
	l.message, l.members = message(l.text)
	l.logged = l.message != l.trimmed
	l.raw = patterns.Scan(l.text)
	l.said = l.raw
	l.framed = l.raw.Fits(frame)
	if l.message != l.text {
		l.said = patterns.Scan(l.message)
	}
	return l
}

// patterns are the expressions of this package that are tried on lines.
var patterns = new(prefilter.Set)

func expr(forms ...string) *prefilter.Pattern { return patterns.Compile(forms...) }

// has reports whether a line's message has one of some traits.
func (s *Story) has(l *line, t Traits) bool {
	if !l.hinted && s.hints != nil && l.message != "" {
		l.traits = s.hints.Traits(l.message)
	}
	l.hinted = true
	return l.traits&t != 0
}

func (s *Story) place(i int) string {
	if s.hints == nil {
		return ""
	}
	return s.hints.Place(s.lines[i].text)
}

// Len returns how many lines the log has.
func (s *Story) Len() int { return len(s.lines) }

// Text returns a line as it was written, without colours.
func (s *Story) Text(i int) string { return s.lines[i].text }

// Message returns what a line says, without what a logger put around it.
func (s *Story) Message(i int) string { return s.lines[i].message }

// Severity returns how much a line promises to say of why something failed.
func (s *Story) Severity(i int) Severity { return s.lines[i].severity }
