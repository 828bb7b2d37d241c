package logline

import (
	"regexp"
	"strings"
)

// frame fits a line of a stack, where something happened and not what, and what JavaScript
// shows of an error below its message.
var frame = expr("^\\s*(" + strings.Join([]string{
	`at .*`, `File ".*", line \d+.*`, `\.\.\. \d+ (more|common frames).*`, `[~^\s]*\^[~^\s]*`, `\S+\.go:\d+( \+0x[0-9a-f]+)?( fp=0x.*)?`, `runtime stack:`, `goroutine \d+ \[.*`, `\d+: 0x[0-9a-f]+ .*`, `\d+\. .* @ 0x[0-9a-f]+ in .*`, `--- End of .* ---`, `[Ss]tack ?(back)?trace(back)?:`, `\d+: \S+\.go:\d+:\S+`, `\s*\d+:\s+(0x[0-9a-f]+ - )?(<?\w\S*::[\w<>{}:#$]+|_\w+|main|<unknown>)`, `#\d+ .*`, `\s*thrown in .* on line \d+`, `\[C\]: in .*`, `CallStack \(from HasCallStack\):`, `\s*\w+, called at \S+:\d+:\d+ in \S+`, `((Re-)?[Rr]aised|Called)\b.* (in|at) file ".*", (in)?line.*`, `\s*\[\d+\] .*\(.*\)( .*)?|\s+\[\d+\] [a-z].*`, `\s*@ \S+( \S+)?:\d+`, `in expression starting at \S+:\d+`, `Calls: \S+ -> .*`, `\s*[\w\\]+(::|->)\w+\(\)`, `\s*\+\d+ vendor frames.*`, `\s*\d+\s+\S+:\d+`, `[➜> ]*\d+▕.*`, `\S+:\d+: in (function|main chunk).*`, `(main|runtime)\.\w+(\(.*\))?`, `[\w.-]+(/[\w.-]+)+\.[\w.(*)]+\(.*\)`, `[\w./-]*\w\.[(\w*)./-]+\)?\.\w+(\.func\d+)*`,
	"from \\S+:in .*", "(from )?\\S+:\\d+:in [`'][^']*'",
	`[\])}]+[,;]?`,
}, "|") + `)$|^\s+\w+: ('.*'|-?\d+|\[.*|undefined|null|true|false),?$|^\s+"(errno|code|syscall|address|port|type|name|stack)": ?("[^"]*"|-?\d+)?,?$`)

var (
	// crash fits what Erlang tells of a process that died, beside why it did.
	crash = expr(`^(\[\w+\] +)?\s*((crasher|neighbours):$|(initial call|pid|registered_name|ancestors|message_queue_len|messages|links|dictionary|trap_exit|status|heap_size|stack_size|reductions): |in (function|call from) |[a-z]\w*:[\w-]+/\d+,? line \d+$)`)
	// row fits one of a table.
	row = regexp.MustCompile(`^\|( [^|]*\|){2,}$`)
	// leading fits the level that a logger puts before a frame of a stack, too.
	leading = regexp.MustCompile(`^[A-Z]+:? `)
	// onlyLevel fits a line that has nothing but a level, hasOnlyHead one that has nothing but what stands before
	// a message.
	onlyLevel   = regexp.MustCompile(`(?i)^\[(emerg|alert|crit|critical|fatal|error|warn|warning|notice|info|debug)\]$`)
	hasOnlyHead = regexp.MustCompile(`^\d\d:\d\d:\d\d$|^(\[\w+\] )?[=*_#~+|-][=*_#~+| -]+[=*_#~+|-]$|^(FATAL|ERROR|SEVERE|WARN(ING)?|npm ERR!):? *(\[[^\]]*\]\s*)*$`)
)

// IsFrame reports whether a line is one of a stack trace, after the line before it.
func IsFrame(before, text string) bool {
	return frame.MatchString(text) || belowFile(before, text)
}

// isFrame is the same of lines that were read.
func isFrame(before, l *line) bool { return l.framed || belowFile(before.text, l.text) }
