package ask

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
)

// KnowledgeLabel marks ConfigMaps whose keys that end in .yaml are files of knowledge, for their own namespace.
const KnowledgeLabel = "whylet.dev/knowledge"

// mostKnowing is how many ConfigMaps of a namespace are read, and mostKnown how many bytes of them together.
const mostKnowing, mostKnown = 20, 1 << 20

// Known adds to answers what a user's entries know of the lines that they quote: of files that the asker named, and of
// ConfigMaps in the pod's own namespace, read with the asker's rights. No cause is changed.
type Known struct {
	// Own are the entries that count in every namespace: the embedded base, and what the asker added to it.
	Own *knowledge.Base
	// ConfigMaps has those of a pod's namespace count, too.
	ConfigMaps bool
	// Warn is told of each entry that is refused, and why. It may be nil.
	Warn func(error)
}

// inform adds to answers what is known of the lines that they quote, with one LIST a namespace. A nil client lists
// nothing.
func (k *Known) inform(ctx context.Context, client kubernetes.Interface, all []answer.Answer) {
	if k == nil {
		return
	}
	bases := map[string]*knowledge.Base{}
	for a := range pointers(all) {
		if !slices.ContainsFunc(a.Verdicts, func(v answer.Verdict) bool { return len(v.LastWords) > 0 }) && len(a.Complaints) == 0 {
			continue
		}
		space := a.Subject.Namespace
		if bases[space] == nil {
			bases[space] = k.base(ctx, client, space)
		}
		if bases[space] != knowledge.Embedded() {
			explain(a, bases[space])
		}
	}
}

// base are all entries that count in a namespace.
func (k *Known) base(ctx context.Context, client kubernetes.Interface, namespace string) *knowledge.Base {
	own := cmp.Or(k.Own, knowledge.Embedded())
	if client == nil || !k.ConfigMaps || namespace == "" {
		return own
	}
	entries, faults := knowledge.OfNamespace.Within(k.fromConfigMaps(ctx, client, namespace))
	b, more := own.With(entries)
	warn(k, append(faults, more...)...)
	return b
}

func warn[E error](k *Known, all ...E) {
	for _, err := range all {
		if k.Warn != nil {
			k.Warn(err)
		}
	}
}

// fromConfigMaps are the entries of a namespace's ConfigMaps; none where the asker may not list them.
func (k *Known) fromConfigMaps(ctx context.Context, client kubernetes.Interface, namespace string) (entries []*knowledge.Entry) {
	list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: KnowledgeLabel, Limit: mostKnowing})
	if err != nil {
		return nil
	}
	if list.Continue != "" {
		warn(k, fmt.Errorf("namespace %s has more than %d ConfigMaps with the label %s; the first count", namespace, mostKnowing, KnowledgeLabel))
	}
	size := 0
	for _, m := range list.Items {
		for _, key := range slices.Sorted(maps.Keys(m.Data)) {
			name := fmt.Sprintf("configmap %s/%s, %s", namespace, m.Name, key)
			if !strings.HasSuffix(key, ".yaml") {
				continue
			}
			if size += len(m.Data[key]); size > mostKnown {
				warn(k, fmt.Errorf("%s: the ConfigMaps with entries of a namespace may hold %d bytes; this file and those after it do not count", name, mostKnown))
				return entries
			}
			of, err := knowledge.Load(name, []byte(m.Data[key]))
			if err != nil {
				warn(k, err)
			}
			of, faults := knowledge.Harmless(of)
			warn(k, faults...)
			entries = append(entries, of...)
		}
	}
	return entries
}

// explain adds what a user's entries know of the lines that an answer quotes.
func explain(a *answer.Answer, b *knowledge.Base) {
	for n := range a.Verdicts {
		v := &a.Verdicts[n]
		m, ok := b.Meaning(strings.Join(v.LastWords, "\n"))
		if !ok || !m.FromUser() || slices.Contains(v.Entries, m.ID) {
			continue
		}
		v.Entries = append(v.Entries, m.ID)
		means := fmt.Sprintf("That means: %s (by %s).", knowledge.Fill(m.Means, m.Slots), m.ID)
		v.SayBecause(means)
		v.Fixes = append(advice(a.Subject, v.Container, m), v.Fixes...)
	}
	for c := range pointers(a.Complaints) {
		if m, ok := b.Meaning(c.Text); ok && m.FromUser() && !slices.Contains(c.Entries, m.ID) {
			c.Entries = append(c.Entries, m.ID)
			c.Means = strings.TrimSpace(c.Means + fmt.Sprintf(" That means: %s (by %s).", knowledge.Fill(m.Means, m.Slots), m.ID))
			c.Fixes = append(advice(a.Subject, c.Container, m), c.Fixes...)
		}
	}
}

// advice are the steps of a user's entry.
func advice(pod answer.Subject, container string, m knowledge.Hit) (fixes []answer.Fix) {
	slots := maps.Clone(m.Slots)
	slots["pod"], slots["namespace"], slots["container"] = pod.Name, pod.Namespace, container
	for _, s := range m.Steps {
		if slot, without := strings.CutPrefix(s.When, "!"); s.When != "" && (slots[slot] != "") == without {
			continue
		}
		f := answer.Fix{Text: knowledge.Fill(s.Text, slots), Command: knowledge.FillCommand(s.Command, slots), Risk: answer.Restarts}
		if s.Kubectl != "" {
			f.Command = kubectl.Command(pod.Namespace, "%s", shell.Line(knowledge.FillCommand(s.Kubectl, slots)))
		}
		if s.Do == "inspect" {
			f.Risk = answer.Inspect
		}
		f.Risk = answer.Risk(cmp.Or(s.Risk, string(f.Risk)))
		fixes = append(fixes, f)
	}
	return fixes
}
