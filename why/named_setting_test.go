package why

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// What a program's words name is found where its spec gives it that, and only as a whole.
func TestNamedSetting(t *testing.T) {
	run := func(command ...string) func(*v1.Container) {
		return func(c *v1.Container) { c.Command = command }
	}
	for name, test := range map[string]struct {
		change func(*v1.Container)
		said   string
		want   string
	}{
		"a flag": {
			run("etcd", "--data-dir=/data", "--listen-client-urls=http://etcd:2379", "--advertise-client-urls=http://etcd:2379"),
			`expected IP in URL for binding (http://etcd:2379)`, "has it from --listen-client-urls (http://etcd:2379), --advertise-client-urls (http://etcd:2379)",
		},
		"two that do not fit each other": {
			func(c *v1.Container) {
				c.Env = []v1.EnvVar{{Name: "ETCD_NAME", Value: "orders-etcd-0"}, {Name: "ETCD_INITIAL_CLUSTER", Value: "etcd-0=http://etcd-0:2380"}}
			},
			`couldn't find local name "orders-etcd-0" in the initial cluster configuration`,
			"has it from variable ETCD_NAME (orders-etcd-0), and variable ETCD_INITIAL_CLUSTER (etcd-0=http://etcd-0:2380) is what its words speak of, too",
		},
		"the flag that they name": {
			run("etcd", "--listen-client-urls=http://etcd:2379", "--advertise-client-urls=http://etcd:2379"),
			`listen-client-urls: expected IP in URL for binding (http://etcd:2379)`, "has it from --listen-client-urls (http://etcd:2379)",
		},
		"a flag and its value apart": {run("app", "--level", "verbose-2"), `FATAL unknown level "verbose-2"`, "has it from --level (verbose-2)"},
		"a variable": {
			func(c *v1.Container) { c.Env = []v1.EnvVar{{Name: "APP_LOCALE", Value: "de_DE.utf-9"}} },
			`FATAL: locale "de_DE.utf-9" is not known`, "has it from variable APP_LOCALE (de_DE.utf-9)",
		},
		"a part of another": {run("app", "--dir=/data/db"), "FATAL: cannot use /data/db2", ""},
		"a plain word in quotes": {
			func(c *v1.Container) { c.Env = []v1.EnvVar{{Name: "WEB_CONCURRENCY", Value: "auto"}} },
			`invalid value for Integer(): "auto" (ArgumentError)`, "has it from variable WEB_CONCURRENCY (auto)",
		},
		"a secret": {
			func(c *v1.Container) { c.Env = []v1.EnvVar{{Name: "DB_PASSWORD", Value: "hunter-2"}} },
			`FATAL: "hunter-2" is no password`, "has it from variable DB_PASSWORD",
		},
		"a plain word":            {run("app", "--mode=server"), "FATAL: server failed", ""},
		"a script":                {run("sh", "-c", "exec app --dir=/data/x-1"), "FATAL: --dir=/data/x-1 is bad", ""},
		"whom it does not reach":  {run("app", "--db=db-1:5432"), "FATAL: dial tcp db-1:5432: connection refused", ""},
		"what stands in too many": {run("app", "--a=/x/y-1", "--b=/x/y-1", "--c=/x/y-1"), "FATAL: /x/y-1 is bad", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, web(test.change))
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, StatusKnown: true, LastLines: []string{test.said}})
			var found string
			for _, f := range s.ask().Verdicts[0].Fixes {
				if strings.Contains(f.Text, "if that value is wrong") {
					found = f.Text
				}
			}
			if found == "" && test.want != "" || !strings.HasSuffix(found, test.want) || test.want == "" && found != "" {
				t.Errorf("%q", found)
			}
		})
	}
}

// What they name may stand in another container of the pod, in a probe's command, or be whom it asks.
func TestNamedSettingElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		own, other func(*v1.Container)
		said, want string
	}{
		"another container": {
			nil, func(c *v1.Container) { c.Env = []v1.EnvVar{{Name: "SOCKET", Value: "/run/app-1.sock"}} },
			"FATAL: no such name: app-1.sock (/run/app-1.sock)", "container other has it from variable SOCKET (/run/app-1.sock)",
		},
		"its own goes first": {
			func(c *v1.Container) { c.Args = []string{"app", "--name=app-1"} }, func(c *v1.Container) { c.Args = []string{"app", "--name=app-1"} },
			"FATAL: bad name: app-1", "container app has it from --name (app-1)",
		},
		"whom it does not reach": {
			func(c *v1.Container) { c.Env = []v1.EnvVar{{Name: "DB_HOST", Value: "db-1"}} }, nil,
			"FATAL: dial tcp db-1:5432: connection refused", "if the address is wrong, correct it: container app has it from variable DB_HOST (db-1)",
		},
		"whom nothing names": {nil, nil, "FATAL: dial tcp db-1:5432: connection refused", "is wrong: correct it"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := web(silentProbe)
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "other"})
			if test.own != nil {
				test.own(&pod.Spec.Containers[0])
			}
			if test.other != nil {
				test.other(&pod.Spec.Containers[1])
			}
			s := tell(t, pod)
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, StatusKnown: true, LastLines: []string{test.said}})
			fixes := s.ask().Verdicts[0].Fixes
			if !slices.ContainsFunc(fixes, func(f answer.Fix) bool { return strings.HasSuffix(f.Text, test.want) }) {
				t.Errorf("%+v", fixes)
			}
		})
	}
}

func FuzzNames(f *testing.F) {
	f.Add("binding (http://etcd:2379)", "http://etcd:2379")
	f.Add("é-value-1", "value-1")
	f.Fuzz(func(t *testing.T, said, value string) {
		if names(said, value) && !strings.Contains(said, value) {
			t.Errorf("%q has no %q", said, value)
		}
	})
}

// Several arguments that are given as one are told where the words are about an option among them.
func TestOneString(t *testing.T) {
	const said = "report: error: the following arguments are required: --out"
	for name, test := range map[string]struct {
		args []string
		want bool
	}{
		"one string":     {[]string{"--since 7d --out /reports"}, true},
		"each by itself": {[]string{"--since", "7d", "--out", "/reports"}, false},
		"a script":       {[]string{"-c", "exec report --since 7d --out /reports"}, false},
		"others":         {[]string{"--since 7d --until 8d"}, false},
	} {
		s := tell(t, web(silentProbe, func(c *v1.Container) { c.Command, c.Args = []string{"report"}, test.args }))
		s.exit("app", fact.Exited{ExitCode: 2, OOMKnown: true, StatusKnown: true, LastLines: []string{said}})
		if v := s.ask().Verdicts[0]; strings.Contains(v.Text, "as one argument") != test.want {
			t.Errorf("%s: %s", name, v.Text)
		}
	}
}

// An init container waits in vain for what its own pod starts after it.
func TestNotBegunYet(t *testing.T) {
	pod := web(silentProbe, func(c *v1.Container) { c.Ports = []v1.ContainerPort{{ContainerPort: 6432}} })
	pod.Spec.InitContainers = []v1.Container{{Name: "migrate"}}
	h := &inquiry{History: history.New(fact.Pod{}, nil, nil, nil)}
	h.Object = pod
	for place, want := range map[string]string{"127.0.0.1:6432": "container app does not run yet", "localhost:99": "what serves there does not run yet", "db:5432": ""} {
		if why, _ := h.notBegunYet("migrate", place, ""); want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("%s: %s", place, why)
		}
	}
	if why, _ := h.notBegunYet("app", "127.0.0.1", `server at "127.0.0.1", port 6432 failed`); why != "" {
		t.Errorf("not an init container: %s", why)
	}
}
