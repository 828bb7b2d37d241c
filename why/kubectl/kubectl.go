package kubectl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

// Command is a command line about a namespace. kubectl takes flags before the name of one
// of its own commands, and not before that of a plugin.
func Command(namespace, format string, args ...any) string {
	command, plugin, space := fmt.Sprintf(format, args...), "", ""
	if rest, ok := strings.CutPrefix(command, "why "); ok {
		command, plugin = rest, "why "
	}
	if namespace != "" && namespace != "default" {
		space = "-n " + namespace + " "
	}
	return "kubectl " + plugin + space + command
}

// Threads shows the name of each thread of a container, and what in the kernel it waits in.
const Threads = "sh -c 'grep -s . /proc/[0-9]*/task/*/comm /proc/[0-9]*/task/*/wchan'"

// Compare begins the step that names all that configures a container, where nobody knows more.
const Compare = "compare its words with what configures"

// LetUser begins the steps that let a container's user do what it may not: its configuration is right then.
const LetUser = "let its user "

// Cover begins the step about a volume that hides what the image has: its configuration is right then, too.
const Cover = "mount file by file: "

// InConfiguration stands in the step of a container that asks its own pod for what is not there, where nobody knows yet
// which setting is wrong.
const InConfiguration = "in its configuration or variables"

// Readdress begins the step to correct an address of which nobody knows where it is from.
const Readdress = "correct the address in its configuration"

// Inspect is a command that changes nothing.
func Inspect(text, command string) answer.Fix {
	return answer.Fix{Text: text, Command: command, Risk: answer.Inspect}
}

// EditTemplate is a change of the template of what makes a pod, which makes new
// pods. What nothing makes, or a Job, whose template cannot be changed, is made anew. pod may be nil.
func EditTemplate(namespace string, pod *v1.Pod, text string) answer.Fix {
	f := answer.Fix{Text: text, Risk: answer.Restarts}
	switch workload := Workload(pod); {
	case pod == nil:
	case workload == "":
		file := pod.Name + ".yaml"
		f.Command = Command(namespace, "get pod %[1]s -o yaml >%[2]s   # change it there, then: kubectl replace --force -f %[2]s", pod.Name, file)
	case Editable(pod) == "":
		f.Text += fmt.Sprintf(" (in a new Job: the template of %s cannot be changed)", workload)
	default:
		f.Command = Command(namespace, "edit %s", workload)
	}
	return f
}

// plainWord fits what a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Quote is a command line that a shell takes apart into these words again.
func Quote(words ...string) string {
	all := slices.Clone(words)
	for i, word := range all {
		if !plainWord.MatchString(word) {
			all[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(all, " ")
}
