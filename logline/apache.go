package logline

import "regexp"

// escaped fits a stack whose ends of lines were escaped, as Apache logs what PHP says.
var escaped = regexp.MustCompile(`\\n(Stack trace:|#0 |\s+at |\\tat ).*$`)
