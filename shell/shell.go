package shell

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode"
)

// plain fits what a shell takes as it stands: no "=" in front, which zsh replaces by the path of a program.
var plain = regexp.MustCompile(`^[\w@%+:,./-][\w@%+=:,./-]*$`)

// Quote returns words as a command line that a shell splits into the same words.
func Quote(words ...string) string {
	all := make([]string, len(words))
	for i, word := range words {
		if all[i] = word; !plain.MatchString(word) {
			all[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(all, " ")
}

// Words returns names that come from outside as words of a command line: none is an option, a substitution, a second
// command or a second line. Characters that are not printable become "?".
func Words(names ...string) Line {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = Quote(strings.Map(printable, strings.TrimLeft(name, "-")))
	}
	return Line(strings.Join(all, " "))
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// Line is a part of a command line whose words are quoted already.
type Line string

// Linef returns a command line. Each string among args becomes a word as [Words] makes it; a [Line] stays as it is.
func Linef(format string, args ...any) Line {
	all := make([]any, len(args))
	for i, arg := range args {
		all[i] = arg
		if _, quoted := arg.(Line); !quoted && reflect.TypeOf(arg).Kind() == reflect.String {
			all[i] = Words(reflect.ValueOf(arg).String())
		}
	}
	return Line(fmt.Sprintf(format, all...))
}
