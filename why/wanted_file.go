package why

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// wantsFile fits what a shell's command does with a file that has to be there.
var wantsFile = regexp.MustCompile(`(?:\[\[? +|\btest +)-[aefsrdxS] +["']?(/[\w.@+/-]+)["']?|\b(?:cat|stat|ls) +(?:-\S+ +)*["']?(/[\w.@+/-]+)["']?`)

// wantedFiles says of a command that failed without a word of why that it wants files, and has one of them made
// or asked for no more.
func (p *probing) wantedFiles(f *finding) {
	ev := p.last.Evidence
	if p.mode != exitCode || p.spec == nil || p.spec.Exec == nil || words.Complains(words.Told(ev.Output)) {
		return
	}
	var files []string
	for _, m := range wantsFile.FindAllStringSubmatch(strings.Join(p.spec.Exec.Command, " "), -1) {
		if file := m[1] + m[2]; !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	if len(files) != 1 {
		return
	}
	f.because = append(f.because, fmt.Sprintf("Its command wants the file %s.", files[0]))
	f.fixes = append([]answer.Fix{p.h.specFix(fmt.Sprintf("if nothing makes %s in container %s (an image of another maker does, maybe), take it out of %sProbe.exec.command", files[0], p.run.Container, kindWord(p.kind)))}, f.fixes...)
}
