package ask

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTargets(t *testing.T) {
	pod := func(names ...string) (all []Target) {
		for _, n := range names {
			all = append(all, Target{Kind: "pod", Name: n})
		}
		return all
	}
	for _, c := range []struct {
		args  string
		alone bool
		want  []Target
		err   string
	}{
		{"", false, nil, ""},
		{"web-1", false, pod("web-1"), ""},
		{"web-1 web-2 web-3", false, pod("web-1", "web-2", "web-3"), ""},
		{"pod web-1", false, pod("web-1"), ""},
		{"po web-1 web-2", false, pod("web-1", "web-2"), ""},
		{"pod", false, pod("pod"), ""}, // a pod may be called so
		{"pods", true, []Target{{Kind: "pod"}}, ""},
		{"deployments.apps web", false, []Target{{Kind: "deployment", Name: "web"}}, ""},
		{"deploy/web svc/web no/n1", false, []Target{{Kind: "deployment", Name: "web"}, {Kind: "service", Name: "web"}, {Kind: "node", Name: "n1"}}, ""},
		{"deploy web/1", false, nil, "not a name"},
		{"pod/", false, nil, "a name is missing"},
		{"dragon/x", false, nil, `"dragon" is not a kind`},
		{"web-1 web-2", false, pod("web-1", "web-2"), ""},
		{"deploymnet/web", false, nil, "did you mean deployment?"},
		{"ing/web", false, nil, "kubectl why service/NAME"},
		{"hpa/web", false, nil, "kubectl why deployment/NAME"},
		{"pvc/data", false, nil, "kubectl why pod/NAME"},
		{"persistentvolumeclaims/data", false, nil, "kubectl why pod/NAME"},
		{"ns/shop", false, nil, "kubectl why --all -n NAME"},
		{"dragon", true, nil, `"dragon" is not a kind`},
	} {
		got, err := ParseTargets(strings.Fields(c.args), c.alone)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v\n%s", c.args, err, diff)
		}
	}
}
