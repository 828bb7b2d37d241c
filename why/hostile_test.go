package why

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// given fits the values in stories that a tenant chooses freely, as the API server takes them: references in a spec,
// images, paths, hosts and owners. singleQuoted fits what a shell takes as it stands.
var (
	given        = regexp.MustCompile(`(\b(?:image|path|mountPath|workingDir|subPath|secretName|claimName|name|key|target|remote|host|kind|nodeName|address|value): ")([^"$\\]+)"`)
	inMessages   = regexp.MustCompile(`(: no such host|: not found|: no such file or directory|: connection refused)`)
	singleQuoted = regexp.MustCompile(`'[^']*'|\\'`)
)

// spoiled puts more behind all that a tenant chooses in a story. Values within YAML's own single quotes stay.
func spoiled(text, evil string) string {
	evil = strings.ReplaceAll(evil, "$", "$$")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.Contains(line, "'") {
			lines[i] = inMessages.ReplaceAllString(given.ReplaceAllString(line, "${1}${2}"+evil+`"`), evil+"$1")
		}
	}
	return strings.Join(lines, "\n")
}

// No command of any story has a tenant's words as more than a word, however they are spelled.
func TestCommandsHoldHostileNames(t *testing.T) {
	commands, hostile := 0, 0
	for _, path := range stories(t) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(raw), "## ")
		for _, text := range strings.Split(rest, "\n## ") {
			retell(t, spoiled(text, " ;$(pwned)`pwned`' && pwned '|pwned\\npwned"), func(_ *tale, a answer.Answer) {
				for _, v := range a.Verdicts {
					for _, f := range v.Fixes {
						commands++
						if strings.Contains(f.Command, "pwned") {
							hostile++
						}
						if strings.Contains(singleQuoted.ReplaceAllString(f.Command, ""), "pwned") || strings.ContainsAny(f.Command, "\r\n") {
							t.Errorf("%s: %s", path, f.Command)
						}
					}
				}
			})
		}
	}
	if hostile == 0 {
		t.Errorf("none of %d commands has a hostile name", commands)
	}
	t.Logf("%d of %d commands have a hostile name", hostile, commands)
}

// A probe's command of several lines is no command line: a front takes no answer with one.
func TestAProbesCommandOfSeveralLines(t *testing.T) {
	for command, want := range map[string]bool{`"check --all"`: true, `"if check\nthen exit 1\nfi"`: false} {
		story := "several lines\npod {containers: [{name: app, readinessProbe: {exec: {command: [sh, -c, " + command + "]}}}]}\n" +
			`probe app 4 {probe: Readiness, verdict: Failure, message: failed, took: 3000000, evidence: {handler: exec, target: check, exitCode: 2, output: "sh: line 1: 12 Segmentation fault (core dumped) check"}}` + "\n----\n"
		found := false
		retell(t, story, func(_ *tale, a answer.Answer) {
			for _, v := range a.Verdicts {
				for _, f := range v.Fixes {
					if strings.HasPrefix(f.Text, "run it by hand") {
						found = true
						if (f.Command != "") != want {
							t.Errorf("%s: %+v", command, f)
						}
					}
				}
			}
		})
		if !found {
			t.Errorf("%s: nothing is to be run by hand", command)
		}
	}
}

// A file of facts may lack the object of a pod that was seen.
func TestAPodWithoutItsObject(t *testing.T) {
	s := tell(t, podOf(t, ""))
	s.exit("app", fact.Exited{ExitCode: 1})
	for i := range s.facts {
		if b, ok := s.facts[i].Body.(fact.SpecSeen); ok {
			b.Object = nil
			s.facts[i].Body = b
		}
	}
	if a := s.ask(); len(a.Verdicts) == 0 {
		t.Errorf("no verdict: %+v", a)
	}
}
