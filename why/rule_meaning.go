package why

import (
	"cmp"
	"fmt"
	"path"
	"regexp"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// mayNotWrite names the volumes that the spec does not let the container write to, where
// that is what it complains of.
func (e ending) mayNotWrite(f *finding) {
	if e.said(knowledge.ReadOnly.In) == "" {
		return
	}
	for _, m := range e.spec.VolumeMounts {
		if m.ReadOnly {
			f.because = append(f.because, fmt.Sprintf("Its volume %s (at %s) is mounted readOnly.", m.Name, m.MountPath))
			f.fix(e.h.specFix(fmt.Sprintf("mount volume %s without readOnly, or have it write elsewhere", m.Name)))
		}
	}
}

// passedOn fits words that a server has from one behind it.
var passedOn = regexp.MustCompile(`(?i)\bfastcgi\b|\bupstream\b|\bsaid into std`)

// lostSetting adds to a finding whose words miss a variable that the spec has it, where it does: for
// the container that says so, or, where it passes on what another says, for any.
func (h *inquiry) lostSetting(f *finding, container, said string) bool {
	for _, c := range h.podSpec().Containers {
		if c.Name != container && !passedOn.MatchString(said) {
			continue
		}
		for _, e := range c.Env {
			if len(e.Name) < 3 || e.Value == "" || !regexp.MustCompile(`\b`+regexp.QuoteMeta(e.Name)+`\b`).MatchString(said) {
				continue
			}
			f.because = append(f.because, fmt.Sprintf("Variable %s is in the env of container %s, and does not reach the process that wants it.", e.Name, c.Name))
			f.fixes = append([]answer.Fix{h.inside(
				"see which of its processes have it: a start script may drop it, and a server give its workers an environment of their own (clear_env of php-fpm, env of nginx)",
				c.Name, shell.Linef("sh -c %s", string(shell.Linef("grep -lz ^%s= /proc/[0-9]*/environ", e.Name))),
			).About(e.Name)}, f.fixes...)
			return true
		}
	}
	return false
}

// meant adds the meaning of a container's words to a finding that quotes them, and what to do about it. It changes no
// cause: the process ended, or says no, because of them by itself.
func (h *inquiry) meant(f *finding, container, said string) bool {
	h.throughProxy(f, container, said)
	m, ok := h.Knowledge.Meaning(said)
	if !ok {
		return false
	}
	f.because = append(f.because, fmt.Sprintf("That means: %s.", knowledge.Fill(m.Means, m.Slots)))
	fixes := h.advice(f, container, said, m)
	f.fixes = append(fixes, f.fixes...)
	return true
}

// meant adds the meaning of a process's last words, or else of its code.
func (e ending) meant(f *finding, said string) {
	all := e.inItsWords()
	if m, ok := e.h.Knowledge.Meaning(said); !ok || m.ID == knowledge.BadConfig.ID() {
		said = cmp.Or(all, said) // what it said just before has one, or one that says more than a place, maybe
	}
	if e.h.meant(f, e.run.Container, said) {
		return
	}
	code := e.exit.ExitCode
	switch {
	case words.NodeCodes[code] != "" && (e.mainCommand() == "node" || len(e.spec.Command) > 0 && path.Base(e.spec.Command[0]) == "node"):
		f.because = append(f.because, prose.Upper("exit code "+words.NodeCodes[code])+".")
	case words.ShellCodes[code] != "":
		f.because = append(f.because, prose.Upper("exit code "+words.ShellCodes[code])+".")
		f.first(e.h.specFix("correct the command in its start script, or use an image that has it"))
	case code > 128 && fact.SignalNames[code-128] != "" && e.exit.StatusKnown:
		f.because = append(f.because, fmt.Sprintf("By a shell's convention that stands for a child that died of %s; the main process itself died of no signal, by the kernel's word.", signalName(code-128)))
	}
}
