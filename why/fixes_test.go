package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// What the answer shows is no look to take: neither the end of a log that it quotes, nor the
// answer that a probe got. The node goes by its name.
func TestFitting(t *testing.T) {
	fix := func(f answer.Fix) string { return strings.TrimSuffix(f.Text+": "+f.Command, ": ") }
	all := func(v answer.Verdict) (all []string) {
		for _, f := range v.Fixes {
			if !changes(f) || f.ID == answer.StepOnNode {
				all = append(all, fix(f))
			}
		}
		return all
	}
	pod := web(ready)
	pod.Spec.NodeName = "n7"
	tests := map[string]struct {
		tale func(*tale)
		want []string
	}{
		"last words that are shown": {
			func(s *tale) {
				s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, LastLines: []string{"ERROR: oops"}})
			},
			[]string{"read more of its log: kubectl -n shop logs web-1 -c app -p --tail=100"},
		},
		"last words of which nobody knows": {
			func(s *tale) { s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true}) },
			[]string{"see whether its log has lines that the agent did not record: kubectl -n shop logs web-1 -c app -p --tail=20"},
		},
		"an answer that is quoted": {
			func(s *tale) { s.probe("app", 3, status(fact.Readiness, 500, "no room")) },
			[]string{"read its log: kubectl -n shop logs web-1 -c app --tail=20"},
		},
		"an answer without a word": {
			func(s *tale) { s.probe("app", 3, status(fact.Readiness, 500, "")) },
			[]string{
				"read the whole answer, which usually says what fails: kubectl -n shop exec web-1 -c app -- sh -c 'curl -iksS -m 30 http://10.0.0.1:8080/ || wget -S -O- -T 30 http://10.0.0.1:8080/'",
				"if it names another program, or a proxy answers for it: see what else is unhealthy in the namespace, and mend that first; if nothing is, restart the pod: kubectl why -n shop --all",
				"read its log: kubectl -n shop logs web-1 -c app --tail=20",
			},
		},
		"on the node": {
			func(s *tale) {
				s.probe("app", 2, good(fact.Readiness, time.Millisecond))
				s.probe("app", 3, noAnswer(fact.Readiness))
				s.in("app", fact.Looked{PID: 100, State: "T"})
				s.probe("app", 1, noAnswer(fact.Readiness))
			},
			[]string{"let the process go on: kill -CONT 100   # on node n7"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := tell(t, pod.DeepCopy())
			tt.tale(s)
			a := s.ask()
			check(t, a)
			got := all(a.Verdicts[0])
			if len(got) > len(tt.want) && name == "on the node" {
				got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "let the") })
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q\n%s", got, a.Text(answer.Style{}))
			}
		})
	}
}

// A change of a probe names its field, and the value where the evidence has it.
func TestFieldsOfFixes(t *testing.T) {
	listens := func(at ...string) func(*tale) {
		look := fact.Looked{PID: 100, State: "S", Over: time.Second}
		for _, a := range at {
			look.Listeners = append(look.Listeners, fact.Listener{Address: a, PID: 100})
		}
		return func(s *tale) {
			s.probe("app", 2, connectionRefused(fact.Readiness))
			s.in("app", look)
			s.probe("app", 2, connectionRefused(fact.Readiness))
		}
	}
	for want, tell1 := range map[string]func(*tale){
		"set readinessProbe.httpGet.port of container app to 9090, where it listens":                                 listens("0.0.0.0:9090", "[::]:9090"),
		"set readinessProbe.httpGet.port of container app to that of its ports which is to be asked: 9090 or 9091":   listens("0.0.0.0:9090", "0.0.0.0:9091"),
		"probe a path that needs no login (readinessProbe.httpGet.path), or have its configuration let that path in": func(s *tale) { s.probe("app", 3, status(fact.Readiness, 401, "no")) },
	} {
		s := tell(t, web(ready))
		tell1(s)
		a := s.ask()
		check(t, a)
		if f := a.Verdicts[0].Fixes; len(f) == 0 || !strings.HasPrefix(f[0].Text, want) {
			t.Errorf("%s:\n%s", want, a.Text(answer.Style{}))
		}
	}
}

// Where the log says why the answer is 403, nothing is told of a login.
func TestNoLoginWhereTheLogSaysWhy(t *testing.T) {
	for said, login := range map[string]bool{"INFO: GET / 403": true, "[error] directory index of /usr/share/nginx/html/ is forbidden": false} {
		s := tell(t, web(ready))
		s.probe("app", 3, status(fact.Readiness, 403, "Forbidden"))
		s.said([]time.Duration{2 * time.Second}, said)
		s.probe("app", 1, status(fact.Readiness, 403, "Forbidden"))
		told := slices.ContainsFunc(s.ask().Verdicts[0].Fixes, func(f answer.Fix) bool { return strings.Contains(f.Text, "login") })
		if told != login {
			t.Errorf("%s: a login is advised: %v", said, told)
		}
	}
}

// Credentials that are refused are named by the Secret that they are of; a limit of a database is
// changed there, and not in the pod that asks it.
func TestWhereMeaningsLead(t *testing.T) {
	pod := web(ready)
	pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "DB_PASSWORD", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "shop-db"}, Key: "password"}}}}
	for said, want := range map[string]string{
		`psycopg2.OperationalError: FATAL: password authentication failed for user "shop"`:               "compare the user and password that it is given (look for a newline at the end) with those that the server has, and change either (at the server: ALTER ROLE shop PASSWORD '…'): DB_PASSWORD is password of Secret shop-db: kubectl -n shop edit secret shop-db && kubectl -n shop get pod web-1 -o yaml | kubectl replace --force -f -",
		"etcdmain: member c918224843a046dc has already been bootstrapped":                                "take its old entry from the others' list and let it join as a new one (etcd: etcdctl member remove and member add, then --initial-cluster-state=existing; Cassandra: -Dcassandra.replace_address_first_boot); and have volume data outlive the pod: ",
		"redis.exceptions.ResponseError: OOM command not allowed when used memory > 'maxmemory'":         "in that database, delete what is not needed, or raise its limit",
		"psycopg2.errors.ReadOnlySqlTransaction: cannot execute CREATE TABLE in a read-only transaction": "have who writes ask the primary, or let the database that it asks take writes again: ",
	} {
		s := tell(t, pod.DeepCopy())
		s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{said}})
		if f := s.ask().Verdicts[0].Fixes[0]; !strings.HasPrefix(f.Text+": "+f.Command, want) {
			t.Errorf("%s: %s: %s", said, f.Text, f.Command)
		}
	}
}

// What is known of a program's settings goes before what is true of all.
func TestFixesOfSettings(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*v1.Container)
		exit       fact.Exited
		want, none string
	}{
		"RabbitMQ's guest": {
			func(c *v1.Container) {
				c.Env = []v1.EnvVar{{Name: "AMQP_URL", Value: "amqp://guest:guest@rabbitmq:5672/"}}
			},
			fact.Exited{ExitCode: 1, LastLines: []string{"pika.exceptions.ProbableAuthenticationError: ConnectionClosedByBroker: (403) 'ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile.'"}},
			"RabbitMQ lets user guest in from its own host alone", "",
		},
		"guest beside it": {
			func(c *v1.Container) {
				c.Env = []v1.EnvVar{{Name: "AMQP_URL", Value: "amqp://guest:guest@localhost:5672/"}}
			},
			fact.Exited{ExitCode: 1, LastLines: []string{"pika.exceptions.ProbableAuthenticationError: (403) 'ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN.'"}},
			"", "RabbitMQ lets user guest",
		},
		"a least heap": {
			func(c *v1.Container) { c.Command = []string{"java", "-Xms320m", "-Xmx320m", "Main"} },
			fact.Exited{ExitCode: 137, OOMKills: 1, MainOOMKilled: true},
			", and -Xms with it", "",
		},
		"no least heap": {
			func(c *v1.Container) { c.Command = []string{"java", "-Xmx320m", "Main"} },
			fact.Exited{ExitCode: 137, OOMKills: 1, MainOOMKilled: true},
			"at most: all else", "-Xms",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, web(silentProbe, test.change))
			if test.exit.OOMKills > 0 {
				o := oomOfMain
				o.Limit = 320 << 20
				s.in("app", o)
			}
			test.exit.StatusKnown, test.exit.OOMKnown = true, true
			s.exit("app", test.exit)
			text := ""
			for _, f := range s.ask().Verdicts[0].Fixes {
				text += f.Text + "\n"
			}
			if !strings.Contains(text, test.want) || test.none != "" && strings.Contains(text, test.none) {
				t.Errorf("%s", text)
			}
		})
	}
}

// What a container advises about the pod's own address does not last: the next pod has another one.
func TestAdviceThatDoesNotLast(t *testing.T) {
	s := tell(t, web())
	s.see("", 0, fact.SetUpDone{SandboxID: "s", IPs: []string{"10.0.0.1"}})
	h := &inquiry{History: history.New(s.key, s.facts, s.node, s.near)}
	advice, host := answer.Fix{ID: answer.StepAdvice, Slots: answer.Slots{answer.SlotAdvice: `"add '10.0.0.1' to ALLOWED_HOSTS"`}, Risk: answer.Restarts}, answer.Fix{Text: "have the probe send a Host header", Risk: answer.Restarts}
	if left := h.lasting([]answer.Fix{advice, host}); len(left) != 1 || left[0].Text != host.Text {
		t.Errorf("%+v", left)
	}
	if left := h.lasting([]answer.Fix{advice}); len(left) != 1 {
		t.Errorf("nothing is left to do: %+v", left)
	}
}
