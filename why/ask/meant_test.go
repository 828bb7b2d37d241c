package ask

import (
	"fmt"
	"strings"
	"testing"
)

// A pod that waits for a ConfigMap, a Secret or a key is told which one is meant.
func TestMeant(t *testing.T) {
	for _, c := range []struct{ env, message, want string }{
		{`{"configMapKeyRef":{"name":"app-confg","key":"mode"}}`, `configmap \"app-confg\" not found`, "use ConfigMap app-config, which exists, instead of app-confg"},
		{`{"configMapKeyRef":{"name":"app-config","key":"mod"}}`, `couldn't find key mod in ConfigMap shop/app-config`, "use key mode of ConfigMap app-config instead of mod"},
		{`{"secretKeyRef":{"name":"db-passwrod","key":"p"}}`, `secret \"db-passwrod\" not found`, "use Secret db-password, which exists"},
		{`{"configMapKeyRef":{"name":"of-prod-alone","key":"x"}}`, `configmap \"of-prod-alone\" not found`, "as in namespace prod"},
		{`{"configMapKeyRef":{"name":"quite-different","key":"x"}}`, `configmap \"quite-different\" not found`, ""},
	} {
		from := shop(t,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"app-config"},"data":{"mode":"x","level":"y"}}`,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"prod","name":"of-prod-alone"}}`,
			`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"shop","name":"db-password"},"data":{"p":""}}`,
			fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web-1","uid":"w","creationTimestamp":"2026-11-20T09:00:00Z"},
				"spec":{"nodeName":"node-1","containers":[{"name":"c","image":"i","env":[{"name":"X","valueFrom":%s}]}]},
				"status":{"phase":"Pending","containerStatuses":[{"name":"c","state":{"waiting":{"reason":"CreateContainerConfigError","message":"%s"}}}]}}`, c.env, c.message))
		all, err := from.About(t.Context(), Target{Kind: "pod", Name: "web-1"})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		text := ""
		for _, f := range all[0].Verdicts[0].Fixes {
			text += f.Text + "\n"
		}
		if !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "if that is meant") {
			t.Errorf("%s: proposed\n%s", c.message, text)
		}
	}
}
