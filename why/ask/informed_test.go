package ask

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
)

const noShift = `- id: acme.no-shift
  speaker: Acme
  seen: {version: "3", source: acme/shift.go}
  match: ['no shift is planned for (?P<store>\S+), ending']
  samples: ['E no shift is planned for store-7, ending']
  means: nobody planned the shifts of {store}
  steps:
    - {do: inspect, text: see its plan, kubectl: 'get configmap {store}'}
    - {do: change-spec, text: or name another store}
`

// An entry of a ConfigMap counts in its own namespace alone, changes no cause, and one with a fault or a command stops
// nothing.
func TestInformed(t *testing.T) {
	with := func(name, namespace, text string) *v1.ConfigMap {
		return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{KnowledgeLabel: ""}}, Data: map[string]string{"acme.yaml": text, "readme.md": "{"}}
	}
	bad := strings.ReplaceAll(noShift, "acme.no-shift", "acme.bad")
	client := fake.NewClientset(with("acme", "shop", noShift), with("broken", "shop", strings.ReplaceAll(bad, "ending'", "(ending'")), with("running", "shop", strings.ReplaceAll(bad, "kubectl: 'get", "command: 'rm")))
	said := []string{"12:00 I store-9 opens", "12:01 E no shift is planned for store-9, ending"}
	ask := func(namespace string, own *knowledge.Base) (answer.Answer, []string) {
		all := []answer.Answer{{
			Subject:    answer.Subject{Kind: "Pod", Namespace: namespace, Name: "web-1"},
			Verdicts:   []answer.Verdict{{Cause: answer.AppExitError, Text: "It ended.", LastWords: said}},
			Complaints: []answer.Complaint{{Container: "app", Text: said[1]}},
		}}
		var warned []string
		i := &Known{Own: own, ConfigMaps: true, Warn: func(err error) { warned = append(warned, err.Error()) }}
		i.inform(t.Context(), client, all)
		i.inform(t.Context(), client, all) // as a client does with what a front informed
		return all[0], warned
	}
	const means = "That means: nobody planned the shifts of store-9 (by acme.no-shift)."
	a, warned := ask("shop", nil)
	v := a.Verdicts[0]
	if v.Text != "It ended. "+means || v.Cause != answer.AppExitError || a.Complaints[0].Means != means || len(v.Fixes) != 2 || v.Fixes[0].Command != "kubectl -n shop get configmap store-9" || v.Fixes[0].Risk != answer.Inspect || v.Fixes[1].Risk != answer.Restarts {
		t.Errorf("%+v", a)
	}
	slices.Sort(warned)
	warned = slices.Compact(warned)
	if len(warned) != 2 || !strings.HasPrefix(warned[0], "configmap shop/broken, acme.yaml:4: acme.bad: error parsing") || !strings.HasPrefix(warned[1], "configmap shop/running, acme.yaml:8: acme.bad: a ConfigMap's step has no command") {
		t.Errorf("%q", warned)
	}
	if a, warned := ask("other", nil); a.Verdicts[0].Text != "It ended." || len(warned) > 0 {
		t.Errorf("in another namespace: %+v, %v", a, warned)
	}
	own, err := knowledge.Load("acme.yaml", []byte(noShift))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := knowledge.Embedded().With(own)
	if a, _ := ask("other", b); a.Verdicts[0].Text != "It ended. "+means {
		t.Errorf("the asker's own: %+v", a)
	}
}

// A namespace's ConfigMaps may hold so much and no more; what is too much is refused by name, and the rest counts.
func TestInformedIsBounded(t *testing.T) {
	many := map[string]string{"a.yaml": noShift, "b.yaml": strings.ReplaceAll(noShift, "no-shift", "second") + strings.Repeat("# .\n", mostKnown/4)}
	client := fake.NewClientset(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "acme", Namespace: "shop", Labels: map[string]string{KnowledgeLabel: ""}}, Data: many})
	all := []answer.Answer{{
		Subject:  answer.Subject{Kind: "Pod", Namespace: "shop", Name: "web-1"},
		Verdicts: []answer.Verdict{{Cause: answer.AppExitError, Text: "It ended.", LastWords: []string{"E no shift is planned for store-9, ending"}}},
	}}
	var warned []string
	i := &Known{ConfigMaps: true, Warn: func(err error) { warned = append(warned, err.Error()) }}
	i.inform(t.Context(), client, all)
	if len(warned) != 1 || !strings.HasPrefix(warned[0], "configmap shop/acme, b.yaml: ") || !strings.Contains(all[0].Verdicts[0].Text, "acme.no-shift") {
		t.Errorf("%q %+v", warned, all)
	}
}
