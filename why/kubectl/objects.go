package kubectl

import (
	"cmp"
	"fmt"
	"strings"

	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
)

// CreateObject returns the step that creates a ConfigMap or Secret, its target as kind/namespace/name, with the keys that
// are taken from it; then says what follows. The kind may be "configmaps,secrets", and the name empty, where only a
// message tells them.
func CreateObject(target string, keys []string, then string) answer.Fix {
	kind, namespace, name := splitTarget(target)
	f := answer.Fix{Text: "create " + kind + " " + name, Risk: answer.Safe, Target: target}.As(answer.StepCreateObject, answer.Slots{answer.SlotThen: then})
	if name == "" {
		f.Text = fmt.Sprintf("create the %s that is missing", kind)
	}
	if len(keys) > 0 {
		command := shell.Linef("create %s %s", shell.Line(map[string]string{"secret": "secret generic"}[kind]), name)
		if kind == "configmap" {
			command = shell.Linef("create configmap %s", name)
		}
		for _, key := range keys {
			command += shell.Linef(` --from-literal=%s="$%s"`, key, shell.Line(variable(key)))
		}
		f.Text += ": apply the manifest or chart that has it, or run this with its values in these variables"
		f.Command = Command(namespace, "%s", command)
	}
	f.Text += "; " + then
	return f
}

// AddKey returns the step that adds a key to a ConfigMap or Secret, its target as kind/namespace/name; key is empty where
// only a message tells it.
func AddKey(target, key, then string) answer.Fix {
	kind, namespace, name := splitTarget(target)
	f := answer.Fix{Text: fmt.Sprintf("add the key to %s %s; %s", kind, name, then), Command: Command(namespace, "edit %s %s", kind, name), Risk: answer.Safe, Target: target}
	if key != "" {
		field := map[string]string{"secret": "stringData"}[kind]
		f.Text = fmt.Sprintf("add key %s to %s %s (below %s); %s", key, kind, name, cmp.Or(field, "data"), then)
	}
	return f.As(answer.StepAddKey, answer.Slots{answer.SlotThen: then})
}

// variable returns the name of a shell variable for a key.
func variable(key string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(key))
}

// splitTarget parts kind/namespace/name.
func splitTarget(target string) (kind, namespace, name string) {
	kind, rest, _ := strings.Cut(target, "/")
	namespace, name, _ = strings.Cut(rest, "/")
	return kind, namespace, name
}
