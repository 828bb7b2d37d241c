package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// What a probe's grep kept back tells whether the application or the command is at fault.
func TestProbeCommandFilter(t *testing.T) {
	one := 1
	for name, test := range map[string]struct {
		command string
		verdict fact.Verdict
		says    string
		cause   answer.Cause
		text    string
	}{
		"another greeting than it looks for": {"nc -w 2 127.0.0.1 25 | grep 'ESMTP Postfix'", fact.Success, "220 relay ESMTP", answer.ProbeCommandFailed, "ends well, and says “220 relay ESMTP”"},
		"a client that asks nothing":         {"redis-cli -h 127.0.0.1 | grep -q PONG", fact.Success, "", answer.ProbeCommandFailed, "says nothing at all"},
		"it gives no password":               {"redis-cli ping | grep PONG", fact.Success, "NOAUTH Authentication required.", answer.ProbeCommandFailed, "gives the server of container app no password"},
		"the application loads":              {"redis-cli ping | grep PONG", fact.Success, "LOADING Redis is loading the dataset in memory", answer.AppUnhealthy, "LOADING Redis"},
		"the application says no":            {"curl -s localhost:8080/health | grep UP", fact.Success, `{"status":"DOWN","db":"no route"}`, answer.AppUnhealthy, "DOWN"},
		"the client fails":                   {"mysqladmin status | grep Uptime", fact.Failure, "mysqladmin: the table of users is damaged", answer.AppUnhealthy, "the table of users is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, web(func(c *v1.Container) {
				c.LivenessProbe, c.ReadinessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", test.command}}}}
			}))
			silent := attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c " + test.command, ExitCode: &one})
			s.probe("app", 2, silent)
			s.in("app", fact.AskedAgain{Probe: fact.Readiness, Unfiltered: true, Verdict: test.verdict, Patience: time.Second, Evidence: &fact.Evidence{Handler: fact.Exec, Output: test.says}})
			s.probe("app", 2, silent)
			if v := s.ask().Verdicts[0]; v.Cause != test.cause || !strings.Contains(v.Text, test.text) {
				t.Errorf("%s: %s", v.Cause, v.Text)
			}
		})
	}
}

// A command that greps for what does not come, and shows what there is in its place.
func TestGrepsForAnother(t *testing.T) {
	one := 1
	const command = "grep -E 'zk_peer_state.*leading' /tmp/mntr || { grep _state /tmp/mntr; exit 1; }"
	for output, want := range map[string]bool{"zk_server_state\tstandalone": true, "zk_server_state\tnot serving": false, "cluster_state:fail": false, "": false} {
		s := tell(t, web(func(c *v1.Container) {
			c.LivenessProbe, c.ReadinessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", command}}}}
		}))
		fails := attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c " + command, Output: output, ExitCode: &one})
		s.probe("app", 3, fails)
		s.in("app", fact.Looked{PID: 1, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:2181", PID: 1, Command: "java"}}})
		s.probe("app", 3, fails)
		v := s.ask().Verdicts[0]
		if may := slices.Contains(v.Possible, answer.ProbeCommandFailed); may != want {
			t.Errorf("%q: %s, %v: %s", output, v.Cause, v.Possible, v.Text)
		}
		if told := slices.ContainsFunc(v.Fixes, func(f answer.Fix) bool { return strings.Contains(f.Text, "leave the grep away") }); told != want {
			t.Errorf("%q: %+v", output, v.Fixes)
		}
	}
}
