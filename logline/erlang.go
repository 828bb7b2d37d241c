package logline

import "regexp"

// ofErlang fits the line with which Erlang's runtime ends, and the sentence in its term that says why.
var ofErlang = regexp.MustCompile(`^(?:\{")?(Kernel pid terminated|Runtime terminating during boot|init terminating in do_boot)(?:",\w+,"| \().*?"([A-Z][^"\\]* [^"\\]*)\\?".*$`)

// upshot fits what a runtime says of its end where that is but what came of something that
// was said before: Erlang's, of its supervisors, and billiard's, which Celery tries again by.
var upshot = expr(`(?i)\bkernel pid terminated\b(?:[^:]|$)|\binit terminating in do_boot\b(?:[^:]|$)|\bboot failed$|\bapplication:? \S+ exited with reason:|^crash dump is being written to:|^runtime terminating during boot\b(?:[^:]|$)|\bRestartFreqExceeded\b|^compilation failed in require\b|^begin failed--compilation aborted\b`)
