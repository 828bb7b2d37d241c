package kubectl

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

// Command is a command line about a namespace.
func Command(namespace, format string, args ...any) string {
	space := ""
	if namespace != "" && namespace != "default" {
		space = "-n " + namespace + " "
	}
	return "kubectl " + space + fmt.Sprintf(format, args...)
}

// Inspect is a command that changes nothing.
func Inspect(text, command string) answer.Fix {
	return answer.Fix{Text: text, Command: command, Risk: answer.Inspect}
}

// EditTemplate is a change of the template of what makes a pod, which makes new
// pods. pod may be nil.
func EditTemplate(namespace string, pod *v1.Pod, text string) answer.Fix {
	f := answer.Fix{Text: text, Risk: answer.Restarts}
	if workload := Editable(pod); workload != "" {
		f.Command = Command(namespace, "edit %s", workload)
	}
	return f
}
