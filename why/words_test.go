package why

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/history"
)

// How a hook ended and what it said last is told however long its command is.
func TestHookSaid(t *testing.T) {
	const command = "sh -c until /usr/lib/postgresql/15/bin/pg_isready -q; do sleep 0.2; done; psql -v ON_ERROR_STOP=1 -c 'create extension if not exists postgis'"
	got := hookSaid("command '" + command + "' exited with 3: ERROR:  extension \"postgis\" is not available")
	if !strings.HasSuffix(got, `extension if not exists postgis'' exited with 3: ERROR: extension "postgis" is not available`) || !strings.HasPrefix(got, "command 'sh -c until ") || len([]rune(got)) > 2*kept {
		t.Error(got)
	}
	long := strings.Repeat("waits ", 100)
	if got := hookSaid("command 'a' exited with 1: " + long + "\nno such file"); got != "command 'a' exited with 1: no such file" {
		t.Error(got)
	}
	if got := hookSaid("not found"); got != "not found" {
		t.Error(got)
	}
}

// TestLinks: what was not measured, or says nothing, is left out.
func TestLinks(t *testing.T) {
	meter := "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n                                 Dload  Upload   Total   Spent    Left  Speed\n" +
		"\r  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0\ncurl: (22) The requested URL returned error: 503"
	for _, c := range []struct {
		body fact.Body
		want string
	}{
		{fact.HookRan{Hook: fact.PostStart, Error: "command 'curl -f http://db/' exited with 22: " + meter}, "PostStart hook failed: command 'curl -f http://db/' exited with 22: curl: (22) The requested URL returned error: 503"},
		{fact.HookRan{Hook: fact.PostStart, Error: fmt.Sprintf("Exec lifecycle hook ([false]) for Container \"c\" in Pod \"p\" failed - error: command 'false' exited with 1: , message: %q", "")}, "PostStart hook failed: command 'false' exited with 1"},
		{fact.HookRan{Hook: fact.PreStop, Took: 2 * time.Second, Error: "not found"}, "PreStop hook failed after 2 s: not found"},
		{fact.DeletionSeen{By: "kube-controller-manager", GraceSeconds: 30}, "it was deleted, grace period 30 s"},
		{fact.DeletionSeen{By: "kubectl-client-side-apply"}, "it was deleted"},
		{fact.DeletionSeen{Gone: true, By: "/etc/kubernetes/manifests"}, "the object is gone from the API server (/etc/kubernetes/manifests)"},
		{fact.OOMKilled{Main: true, AnonRSS: 133 << 20, Limit: 128 << 20}, "OOMKilled by the kernel, the main process, at a limit of 128Mi"},
		{fact.OOMKilled{Main: true, AnonRSS: 120 << 20, Limit: 128 << 20}, "OOMKilled by the kernel, the main process, which held 120Mi, at a limit of 128Mi"},
	} {
		if got, _ := describe(c.body); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestNoGrace: a container that was given no time to end did not use it up.
func TestNoGrace(t *testing.T) {
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	run := &history.Run{Container: "app", Kill: &fact.Fact{ID: 1, Seen: at}, Exit: &fact.Fact{ID: 3}, Hooks: []*fact.Fact{{ID: 2, Body: fact.HookRan{Hook: fact.PreStop, Took: time.Second}}}}
	e := ending{run: run, exit: fact.Exited{ExitCode: 137}, at: at.Add(time.Second), spec: &v1.Container{}}
	for grace, want := range map[int64]string{
		0: "",
		1: "the preStop hook of container app took all of the 1 s that it had to end, and left next to no time after the stop signal: exit code 137 comes from that",
	} {
		if n, ok := e.graceUsed(fact.Kill{GraceSeconds: grace}); ok != (want != "") || ok && n.Text != want {
			t.Errorf("%d s: %q", grace, n.Text)
		}
	}
}
