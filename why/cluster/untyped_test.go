package cluster

import (
	"reflect"
	"testing"

	"whylet.dev/whylet/why/answer"
)

// An agent of before told its steps in text alone.
func TestTypedSteps(t *testing.T) {
	for name, c := range map[string]struct{ before, now answer.Fix }{
		"a Service": {
			answer.Fix{Text: "see why it does not answer", Command: "kubectl why -n shop svc/db"},
			answer.Fix{ID: answer.StepExplain, Target: "svc/shop/db"},
		},
		"in the namespace default": {answer.Fix{Command: "kubectl why pod/db-0"}, answer.Fix{ID: answer.StepExplain, Target: "pod/default/db-0"}},
		"more than an object":      {answer.Fix{Command: "kubectl why -n shop pod/db-0 --suggest"}, answer.Fix{}},
		"a ConfigMap":              {answer.Fix{Text: "if it is wrong, correct it", Command: "kubectl -n shop edit configmap conf"}, answer.Fix{Target: "configmap/shop/conf"}},
		"whose user may not":       {answer.Fix{Text: "let its user read /etc/key"}, answer.Fix{ID: answer.StepAllowUser}},
		"an address": {
			answer.Fix{Text: "give container web the address of what it needs (its Service's name) in place of localhost:80, in its configuration or variables; many programs ask there"},
			answer.Fix{ID: answer.StepGiveAddress, Slots: answer.Slots{answer.SlotContainer: "web", answer.SlotPlace: "localhost:80", answer.SlotRest: "; many programs ask there"}},
		},
		"a variable": {answer.Fix{Text: "give container web variable DB_HOST, in its env"}, answer.Fix{Variables: []string{"DB_HOST"}}},
		"another":    {answer.Fix{Text: "raise the limit", Command: "kubectl -n shop edit deployment/web"}, answer.Fix{}},
	} {
		a := answer.Answer{Verdicts: []answer.Verdict{{Fixes: []answer.Fix{c.before}}}}
		Typed(&a)
		c.now.Text, c.now.Command = c.before.Text, c.before.Command
		if got := a.Verdicts[0].Fixes[0]; !reflect.DeepEqual(got, c.now) {
			t.Errorf("%s: %+v", name, got)
		}
		a.Verdicts[0].Fixes = []answer.Fix{c.before}
		if Typed(&a); !reflect.DeepEqual(a.Verdicts[0].Fixes[0], c.before) {
			t.Errorf("%s: it is taken for one of before, and is not", name)
		}
	}
}
