package exit

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"whylet.dev/whylet/paint"
)

// A Code is what a process ends with.
type Code int

// The exit codes of all commands.
const (
	OK         Code = 0 // done; of why: all is well, or explained
	Failed     Code = 1 // it was tried and did not succeed; of why: the question could not be answered
	Usage      Code = 2 // the command line is wrong
	NotRunning Code = 3 // the node that the command talks to does not run, or is not Ready
	Machine    Code = 4 // the machine lacks something that whylet doctor names
	Unknown    Code = 5 // the question was answered, and a cause is not known
)

// Codes are all of them with what they mean, in order.
var Codes = []struct {
	Code    Code
	Meaning string
}{
	{OK, "done; of why: all is well, or explained"},
	{Failed, "it was tried and did not succeed; stderr says what and what to do"},
	{Usage, "the command line is wrong"},
	{NotRunning, "the node does not run, or runs and is not Ready"},
	{Machine, "the machine lacks something; whylet doctor says what, and what mends it"},
	{Unknown, "why answered, and does not know a cause"},
}

// Help is the table as a help text shows it.
func Help() string {
	var b strings.Builder
	b.WriteString("Exit codes of every command:\n")
	for _, c := range Codes {
		fmt.Fprintf(&b, "\n  %d  %s", c.Code, c.Meaning)
	}
	return b.String()
}

// withCode is an error that decides the exit code. Without one it is Failed.
type withCode struct {
	error
	code Code
}

func (e *withCode) Unwrap() error { return e.error }

// With gives err an exit code. Its text stays; an error of no text is printed nowhere.
func With(code Code, err error) error { return &withCode{err, code} }

// Silent is an error that only decides the exit code: all that is to be said was.
func Silent(code Code) error { return With(code, errors.New("")) }

// UsageError says that the command line is wrong, and how.
func UsageError(format string, args ...any) error {
	return With(Usage, fmt.Errorf(format, args...))
}

// Of is the exit code for what a command returned.
func Of(err error) Code {
	var e *withCode
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.code
	}
	return Failed
}

// Report writes what a command returned to w, where there is something to say, and gives
// the exit code.
func Report(w io.Writer, err error) Code {
	w = paint.Shown(w) // of an error, too, a part may be another's words
	if err != nil && err.Error() != "" {
		fmt.Fprintf(w, "%s %v\n", paint.Text(w, paint.Red, "error:"), err)
	}
	return Of(err)
}
