package corpus

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"whylet.dev/whylet/why/answer"
)

// StepRules are the exceptions from what steps have to be: cause and rule → why.
type StepRules struct{ mayLookFirst, mayOnlyLook map[string]string }

// ReadStepRules reads them from the folder of the corpus.
func ReadStepRules(dir string) (r StepRules, err error) {
	if r.mayLookFirst, err = ReadReasons(filepath.Join(dir, "look-first.txt")); err != nil {
		return r, err
	}
	r.mayOnlyLook, err = ReadReasons(filepath.Join(dir, "only-looks.txt"))
	return r, err
}

// Check returns what is wrong with what people are told to do about a verdict: a risk that is not that of the command;
// where the cause is known, nothing but a look to begin with; nothing but looks in all, where anything is known that may
// be so.
func (r StepRules) Check(v answer.Verdict) (faults []string) {
	steps := v.Steps()
	for _, s := range steps {
		if changes := changesAny(s.Command); s.Command != "" && changes != (s.Risk != answer.Inspect) {
			faults = append(faults, fmt.Sprintf("%q is called %s, and its command is: %s", s.Text, s.Risk, s.Command))
		}
	}
	key := strings.TrimSpace(string(v.Cause) + " " + v.Rule)
	if len(steps) == 0 || v.Cause == answer.None {
		return faults
	}
	if steps[0].Risk == answer.Inspect && v.Cause != answer.CauseUnknown && r.mayLookFirst[key] == "" {
		faults = append(faults, fmt.Sprintf("%q only looks, though the cause is known: %s", steps[0].Text, key))
	}
	if v.Cause == answer.CauseUnknown && len(v.Possible) == 0 {
		return faults
	}
	if !slices.ContainsFunc(steps, func(s answer.Fix) bool { return s.Risk != answer.Inspect }) && r.mayOnlyLook[key] == "" {
		faults = append(faults, fmt.Sprintf("%q looks, and nothing says what to do then: %s", steps[0].Text, key))
	}
	return faults
}

// looking are kubectl's commands that change nothing, or nothing that lasts.
var looking = []string{"get", "describe", "logs", "top", "why", "exec", "run", "events", "auth", "rollout history", "cluster-info", "version", "api-resources"}

// changesAny reports whether a command line changes something, by the verbs of its kubectl and sysctl.
func changesAny(command string) bool {
	for _, words := range simpleCommands(command) {
		switch words[0] {
		case "kill":
			return true
		case "systemctl":
			if len(words) > 1 && words[1] == "restart" {
				return true
			}
		case "sysctl":
			if len(words) > 1 && words[1] == "-w" {
				return true
			}
		case "kubectl":
			if changesByKubectl(words[1:]) {
				return true
			}
		}
	}
	return false
}

// changesByKubectl is the same of the arguments of one kubectl.
func changesByKubectl(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch verb := args[i]; {
		case verb == "-n":
			i++
		case strings.HasPrefix(verb, "-"):
		case verb == "exec":
			line := strings.Join(args[i:], " ")
			_, inside, _ := strings.Cut(line, " -- ")
			return strings.Contains(line, "quitquitquit") || changesAny(inside)
		default:
			if verb == "rollout" && i+1 < len(args) {
				verb += " " + args[i+1]
			}
			for _, look := range looking {
				if verb == look {
					return false
				}
			}
			return true
		}
	}
	return false
}

// simpleCommands splits a command line as a shell does: at blanks outside quotes, and into several
// at pipes, semicolons and &&. Redirections and comments are left out.
func simpleCommands(text string) (all [][]string) {
	var words []string
	var word strings.Builder
	begun, quoted := false, rune(0)
	end := func() {
		if begun && !strings.HasPrefix(word.String(), ">") && !strings.HasPrefix(word.String(), "2>") {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	next := func() {
		end()
		if len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	for _, r := range text {
		switch {
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quoted, begun = r, true
		case r == '#' && !begun:
			next()
			return all
		case r == '|' || r == ';' || r == '&':
			next()
		case r == ' ' || r == '\n':
			end()
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	next()
	return all
}
