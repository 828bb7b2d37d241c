package kubectl

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

// Kept says of a pod that is deleted and has ended that its finalizers keep the object.
func Kept(v *answer.Verdict, pod *v1.Pod) {
	v.Text += fmt.Sprintf(" Its finalizers (%s) keep the object, and nobody has removed them.", strings.Join(pod.Finalizers, ", "))
	v.Fixes = append([]answer.Fix{
		{Text: "find out which controller is to remove them, and whether it runs", Command: Command(pod.Namespace, "get pod %s -o jsonpath='{.metadata.finalizers}'", pod.Name), Risk: answer.Inspect},
		{Text: "remove them by hand where nobody will, and what they protect is done", Command: Command(pod.Namespace, "patch pod %s --type=merge -p '{\"metadata\":{\"finalizers\":null}}'", pod.Name), Risk: answer.Destructive},
	}, v.Fixes...)
}
