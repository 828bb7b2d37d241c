package why

import (
	"fmt"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// meaning is what well-known last words stand for, for people who see them for the
// first time. They change no cause: the process ended because of them by itself.
type meaning struct {
	said *words.Phrase
	text string
	fix  func(e ending) answer.Fix
}

func changing(text string) func(ending) answer.Fix {
	return func(e ending) answer.Fix { return e.h.specFix(text) }
}

func showing(text, command string) func(ending) answer.Fix {
	return func(e ending) answer.Fix { return e.h.inspect(text, command) }
}

// meanings are in the words of OpenSSL, Go, Java, Node, Python, glibc, musl, PostgreSQL
// and MySQL. The first that fits counts.
var meanings = []meaning{
	{
		words.CertificateExpired,
		"a TLS certificate has expired, or the clock is wrong",
		showing("see the dates of the certificate, and renew it", "openssl s_client -connect HOST:443 </dev/null 2>/dev/null | openssl x509 -noout -dates"),
	},
	{
		words.CertificateUnknown,
		"it does not trust whoever signed a TLS certificate",
		changing("give it the certificate authority that signed it (ca-certificates in the image, or a mounted bundle)"),
	},
	{
		words.WatchesFull,
		"the node lets its user watch no more files (fs.inotify.max_user_watches, counted over all containers of that user)",
		showing("see the node's limit, and raise it there", "sysctl fs.inotify.max_user_watches   # on the node"),
	},
	{
		words.Credentials,
		"its credentials were refused",
		changing("correct the user or password that it is given (a Secret's value, and its line end)"),
	},
	{
		words.OthersMay,
		"others than its owner may read or write a file, and the program does not take it then",
		changing("give the file the mode that it wants (0600 mostly): defaultMode of a Secret's or ConfigMap's volume, chmod on another; a pod's fsGroup gives the group rights to all files of its volumes"),
	},
	{
		words.Libraries,
		"the image lacks a library that the program was linked with, or has an older one",
		changing("build the image on the same distribution as the program, or add the library"),
	},
	{
		words.ModuleMissing,
		"a part of the program is missing in the image, or is made for another version of its runtime",
		changing("build the image again with all its dependencies, for the version of the runtime that it has"),
	},
	{
		words.SettingMissing,
		"it is not given a setting that it needs",
		changing("set that variable in the container's env"),
	},
}

// mayNotWrite names the volumes that the spec does not let the container write to, where
// that is what it complains of.
func (e ending) mayNotWrite(f *finding) {
	if e.spec == nil || e.said(words.ReadOnly.In) == "" {
		return
	}
	for _, m := range e.spec.VolumeMounts {
		if m.ReadOnly {
			f.because = append(f.because, fmt.Sprintf("Its volume %s (at %s) is mounted readOnly.", m.Name, m.MountPath))
			f.fixes = append(f.fixes, e.h.specFix(fmt.Sprintf("mount volume %s without readOnly, or have it write elsewhere", m.Name)))
		}
	}
}

// meant adds the meaning of a process's last words to a finding that quotes them.
func (e ending) meant(f *finding, said string) {
	for _, m := range meanings {
		if m.said.In(said) {
			f.because = append(f.because, fmt.Sprintf("That means: %s.", m.text))
			f.fixes = append([]answer.Fix{m.fix(e)}, f.fixes...)
			return
		}
	}
	code := e.exit.ExitCode
	switch {
	case words.ShellCodes[code] != "":
		f.because = append(f.because, prose.Upper("exit code "+words.ShellCodes[code])+".")
		f.fixes = append([]answer.Fix{e.h.specFix("correct the command in its start script, or use an image that has it")}, f.fixes...)
	case code > 128 && fact.SignalNames[code-128] != "" && e.exit.StatusKnown:
		f.because = append(f.because, fmt.Sprintf("By a shell's convention that stands for a child that died of %s; the main process itself died of no signal, by the kernel's word.", signalName(code-128)))
	}
}
