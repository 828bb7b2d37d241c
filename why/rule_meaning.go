package why

import (
	"fmt"
	"regexp"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// meaning is what well-known last words stand for, for people who see them for the
// first time. They change no cause: the process ended because of them by itself.
type meaning struct {
	words *regexp.Regexp
	text  string
	fix   func(e ending) answer.Fix
}

func changing(text string) func(ending) answer.Fix {
	return func(e ending) answer.Fix { return e.h.specFix(text) }
}

func showing(text, command string) func(ending) answer.Fix {
	return func(e ending) answer.Fix { return e.h.inspect(text, command) }
}

// libraries are the words of a program's loader, which ends with 127 as a shell does.
var libraries = regexp.MustCompile(`(?i)error while loading shared libraries|error loading shared library|version .GLIBC\w*_[\d.]+. not found|symbol not found`)

// meanings are in the words of OpenSSL, Go, Java, Node, Python, glibc, musl, PostgreSQL
// and MySQL. The first that fits counts.
var meanings = []meaning{
	{
		regexp.MustCompile(`(?i)certificate has expired|cert_has_expired|certificateexpiredexception|certificate expired|validity check failed`),
		"a TLS certificate has expired, or the clock is wrong",
		showing("see the dates of the certificate, and renew it", "openssl s_client -connect HOST:443 </dev/null 2>/dev/null | openssl x509 -noout -dates"),
	},
	{
		regexp.MustCompile(`(?i)unknown authority|self[- ]signed certificate|local issuer certificate|pkix path building|unable to verify the first certificate|certificate verify failed`),
		"it does not trust whoever signed a TLS certificate",
		changing("give it the certificate authority that signed it (ca-certificates in the image, or a mounted bundle)"),
	},
	{
		regexp.MustCompile(`(?i)(file )?watch(es|ers?)\b.*(reached|no space|enospc)|(enospc|no space).*\bwatch|inotify_add_watch|inotify watch`),
		"the node lets its user watch no more files (fs.inotify.max_user_watches, counted over all containers of that user)",
		showing("see the node's limit, and raise it there", "sysctl fs.inotify.max_user_watches   # on the node"),
	},
	{
		regexp.MustCompile(`(?i)password authentication failed|access denied for user|authentication failed|invalid username or password|wrongpass|noauth authentication required|login failed for user`),
		"its credentials were refused",
		changing("correct the user or password that it is given (a Secret's value, and its line end)"),
	},
	{
		libraries,
		"the image lacks a library that the program was linked with, or has an older one",
		changing("build the image on the same distribution as the program, or add the library"),
	},
	{
		regexp.MustCompile(`(?i)modulenotfounderror|cannot find module|cannot load such file|no module named|classnotfoundexception|noclassdeffounderror|could not find or load main class|unsupportedclassversionerror`),
		"a part of the program is missing in the image, or is made for another version of its runtime",
		changing("build the image again with all its dependencies, for the version of the runtime that it has"),
	},
	{
		regexp.MustCompile(`(?i)\benv(ironment)?\b.{0,40}\b(not set|unset|missing|required|undefined|must be set)|\b(missing|required|undefined)\b.{0,30}\benv(ironment)?\b`),
		"it is not given a setting that it needs",
		changing("set that variable in the container's env"),
	},
}

// meant adds the meaning of a process's last words to a finding that quotes them.
func (e ending) meant(f *finding, said string) {
	for _, m := range meanings {
		if m.words.MatchString(said) {
			f.text += fmt.Sprintf(" That means: %s.", m.text)
			f.fixes = append([]answer.Fix{m.fix(e)}, f.fixes...)
			return
		}
	}
	words := map[int32]string{126: "126 is what a shell gives for a command that it may not execute", 127: "127 is what a shell gives for a command that it does not find"}
	code := e.exit.ExitCode
	switch {
	case words[code] != "":
		f.text += " " + prose.Upper("exit code "+words[code]) + "."
		f.fixes = append([]answer.Fix{e.h.specFix("correct the command in its start script, or use an image that has it")}, f.fixes...)
	case code > 128 && signals[code-128] != "" && e.exit.StatusKnown:
		f.text += fmt.Sprintf(" By a shell's convention that stands for a child that died of %s; the main process itself died of no signal, by the kernel's word.", signalName(code-128))
	}
}
