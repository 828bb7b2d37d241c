package kubectl

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
)

// Command returns a command line about a namespace, with strings among args as words ([shell.Linef]). kubectl takes
// flags before the name of one of its own commands, and not before that of a plugin.
func Command(namespace, format string, args ...any) string {
	command, plugin, space := string(shell.Linef(format, args...)), "", shell.Line("")
	if rest, ok := strings.CutPrefix(command, "why "); ok {
		command, plugin = rest, "why "
	}
	if namespace != "" && namespace != "default" {
		space = shell.Linef("-n %s ", namespace)
	}
	return "kubectl " + plugin + string(space) + command
}

// Threads shows the name of each thread of a container, and what in the kernel it waits in.
const Threads = "sh -c 'grep -s . /proc/[0-9]*/task/*/comm /proc/[0-9]*/task/*/wchan'"

// Sockets shows the ports on which the containers of a pod listen, also where the image has no tool for that.
const Sockets = "sh -c 'netstat -ltn || ss -ltn || cat /proc/net/tcp /proc/net/tcp6'"

// Inspect is a command that changes nothing.
func Inspect(text, command string) answer.Fix {
	return answer.Fix{Text: text, Command: command, Risk: answer.Inspect}
}

// Exec runs a command in a container, which changes nothing.
func Exec(text, namespace, pod, container string, command shell.Line) answer.Fix {
	return Inspect(text, Command(namespace, "exec %s -c %s -- %s", pod, container, command)).As(answer.StepExec, answer.Slots{answer.SlotContainer: container})
}

// Why asks kubectl why about an object, by its kind as kubectl takes it.
func Why(text, kind, namespace, name string) answer.Fix {
	f := Inspect(text, Command(namespace, "why %s/%s", kind, name))
	f.ID, f.Target = answer.StepExplain, kind+"/"+namespace+"/"+name
	return f
}

// Edit changes an object that a pod reads when it starts, and restarts the pod, which may be nil. A running program
// seldom reads its configuration again, and kubelet never renews variables and what is mounted by subPath.
func Edit(text, kind, namespace, name string, pod *v1.Pod) answer.Fix {
	return EditEach(text, kind, namespace, []string{name}, pod)
}

// EditEach is [Edit] for several objects of a kind, in one command; the first is the step's target.
func EditEach(text, kind, namespace string, names []string, pod *v1.Pod) answer.Fix {
	kind = strings.ToLower(kind)
	command := Command(namespace, "edit %s %s", kind, shell.Words(names...))
	if restart := Restart(namespace, pod); restart != "" {
		command += " && " + restart
	}
	return answer.Fix{Text: text, Command: command, Risk: answer.Restarts, ID: answer.StepEdit, Target: kind + "/" + namespace + "/" + names[0]}
}

// GiveAddress words the step that gives a container the address of what it needs in place of one of its own pod: by the
// slots of [answer.StepGiveAddress], and where that is set.
func GiveAddress(s answer.Slots, where string) string {
	return fmt.Sprintf("give container %s the address of what it needs (its Service's name) in place of %s, %s%s", s[answer.SlotContainer], s[answer.SlotPlace], where, s[answer.SlotRest])
}

// OnNode runs a command on the pod's node, which changes nothing.
func OnNode(text string, command shell.Line) answer.Fix {
	return Inspect(text, string(command)+"   # on the node").As(answer.StepOnNode, answer.Slots{answer.SlotCommand: string(command)})
}

// NameNode names the node on which a step is to be run, where it is one of those.
func NameNode(f answer.Fix, node string) answer.Fix {
	if f.ID != answer.StepOnNode {
		return f
	}
	f.Command = string(shell.Linef("%s   # on node %s", shell.Line(f.Slots[answer.SlotCommand]), node))
	return f
}

// EditTemplate is a change of the template of what makes a pod, which makes new
// pods. What nothing makes, or a Job, whose template cannot be changed, is made anew. pod may be nil.
func EditTemplate(namespace string, pod *v1.Pod, text string) answer.Fix {
	if workload := Workload(pod); pod != nil && workload != "" && Editable(pod) == "" {
		text += fmt.Sprintf(" (in a new Job: the template of %s cannot be changed)", workload)
	}
	if pod != nil && strings.HasPrefix(Workload(pod), "statefulset/") && notReady(pod) {
		text += fmt.Sprintf("; if pod %s is not replaced then, delete it: a StatefulSet with OrderedReady waits for a pod that is not Ready", pod.Name)
	}
	return answer.Fix{Text: text, Risk: answer.Restarts, Command: EditTemplateCommand(namespace, pod)}
}

func notReady(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodPending || slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionFalse })
}

// evicted is the reason of a pod that kubelet has evicted (pkg/kubelet/eviction).
const evicted = "Evicted"

// EditTemplateCommand is the command of such a change; empty for a Job's pod, and for none.
func EditTemplateCommand(namespace string, pod *v1.Pod) string {
	switch {
	case pod == nil:
		return ""
	case Workload(pod) == "":
		get := "get pod %[1]s -o yaml >%[2]s"
		if pod.Status.Reason == evicted { // on the node that it names, it would be evicted again
			get = "get pod %[1]s -o yaml | grep -v '^  nodeName:' >%[2]s"
		}
		return Command(namespace, get+" && vi %[2]s && kubectl replace --force -f %[2]s", pod.Name, pod.Name+".yaml")
	case Editable(pod) == "":
		return ""
	}
	return Command(namespace, "edit %s", Workload(pod))
}
