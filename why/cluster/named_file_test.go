package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

// A line is found where words call its file or its port otherwise than its ConfigMap does.
func TestShowLineOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		key, text string
		said      string
		env       []v1.EnvVar
		wants     []string // of the first step; none: it names no line
		not       string   // what it is not to have
	}{
		"a port, where a name stands in place of the address": {
			key: "app.yaml", text: "store: db:5432\n# was :8088\nlisten: shop.example:8088\n",
			said: "listen tcp 10.43.150.84:8088: bind: cannot assign requested address", wants: []string{"line 3 of app.yaml", "shop.example:8088"},
		},
		"a port in another form": {
			key: "app.yaml", text: "listen: \":8080\"\nmore: 1\n", said: "bind(): Address already in use (0.0.0.0:8080)", wants: []string{"line 1 of app.yaml"},
		},
		"the address goes before the port": {
			key: "app.yaml", text: "a: 10.43.150.84:8088\nb: web:8088\n",
			said: "listen tcp 10.43.150.84:8088: bind: cannot assign requested address", wants: []string{"line 1 of app.yaml"},
		},
		"a port on two lines":         {key: "app.yaml", text: "a: one:8088\nb: two:8088\n", said: "listen tcp 10.43.150.84:8088: bind: cannot assign requested address"},
		"a longer port":               {key: "app.yaml", text: "a: one:80880\n", said: "listen tcp 10.43.150.84:8088: bind: cannot assign requested address"},
		"a port of whom it asks":      {key: "app.yaml", text: "a: one:8088\n", said: "dial tcp 10.43.150.84:8088: connect: connection refused"},
		"a file without its folder":   {key: "nginx-content.conf", text: "a\nb\nc oops;\n", said: `nginx: [emerg] unknown directive "oo" in nginx-content.conf:3`, wants: []string{"line 3 of nginx-content.conf", "c oops;"}},
		"haproxy's, without a folder": {key: "haproxy.cfg", text: "a\nb oops\n", said: "[ALERT] parsing [haproxy.cfg:2] : unknown keyword", wants: []string{"line 2 of haproxy.cfg"}},
		"in words":                    {key: "config.yml", text: "a: 1\nb\nc: 2\n", said: "Error in config.yml line 2: could not find expected ':'", wants: []string{"line 2 of config.yml"}},
		"the line first":              {key: "config.yml", text: "a: 1\nb\nc: 2\n", said: "Error: bad indent on line 2 of config.yml", wants: []string{"line 2 of config.yml"}},
		"a file of a folder that no ConfigMap has": {
			key: "config.yml", text: "a: 1\nb\nc: 2\n", said: "Error in /opt/config.yml:2",
		},
		"a template": {
			key: "default.conf.template", text: "server {\n  proxy_pass http://${BACKEND}:$PORT;\n}\n", env: []v1.EnvVar{{Name: "PORT", Value: "80"}},
			said:  `nginx: [emerg] unknown "backend" variable in /etc/nginx/conf.d/default.conf:2`,
			wants: []string{"line 2 of default.conf.template", "variable BACKEND, which the line has, is not set in the container's env"},
		},
		"a template whose variables are set": {
			key: "default.conf.j2", text: "server {\n  proxy_pass http://$BACKEND;\n}\n", env: []v1.EnvVar{{Name: "BACKEND", Value: "oops"}},
			said: `nginx: [emerg] host not found in upstream in /etc/nginx/conf.d/default.conf:2`, wants: []string{"line 2 of default.conf.j2"}, not: "not set",
		},
		"a template that is shorter": {key: "default.conf.tmpl", text: "server {\n}\n", said: `nginx: [emerg] oops in /etc/nginx/conf.d/default.conf:12`},
	} {
		t.Run(name, func(t *testing.T) {
			v := answer.Verdict{Cause: answer.AppExitError, Container: "web", Text: "It ended with exit code 1; its last message: " + c.said + "."}
			quoteText(&v)
			pod := mounting()
			pod.Spec.Containers[0].EnvFrom, pod.Spec.Containers[0].Env = nil, c.env
			shownIn(&v, pod, []v1.ConfigMap{configMap("conf", map[string]string{c.key: c.text, "other": "x"})}).showLine()
			got := ""
			if len(v.Fixes) > 0 {
				got = v.Fixes[0].Text
			}
			if len(c.wants) == 0 && got != "" || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("it shows %q", got)
			}
			for _, want := range c.wants {
				if !strings.Contains(got, want) {
					t.Errorf("%q has no %q", got, want)
				}
			}
		})
	}
}

// What lets one in at a database is a line that is not there yet.
func TestNameEntries(t *testing.T) {
	const says = `no pg_hba.conf entry for host "10.42.0.9", user "shop"`
	for name, c := range map[string]struct {
		key     string
		hop     bool
		text    string
		command string
	}{
		"its own":     {"pg_hba.conf", false, "let it in (a line of pg_hba.conf) (key pg_hba.conf of ConfigMap conf)", "kubectl -n shop edit configmap conf"},
		"another pod": {"shop_pg_hba", true, "let it in (a line of pg_hba.conf) (key shop_pg_hba of ConfigMap conf)", "kubectl -n shop edit configmap conf"},
		"no such key": {"host.conf", false, "let it in (a line of pg_hba.conf)", ""},
	} {
		v := answer.Verdict{Cause: answer.AppExitError, Container: "web", Text: "It ended: " + says, Fixes: []answer.Fix{{Text: "see its log"}, {Text: "let it in (a line of pg_hba.conf)", ID: answer.StepAddEntry}}}
		if c.hop {
			v.Cause, v.Container, v.Text, v.Pod, v.Hops = answer.DependencyDown, "", "The reason is another.", "shop/web", []answer.Hop{{Text: "Its log says: " + says}}
		}
		quoteText(&v)
		if m, _ := MatterOf(v); !m.line {
			t.Fatalf("%s: it is not asked for", name)
		}
		shownIn(&v, mounting(), []v1.ConfigMap{configMap("conf", map[string]string{c.key: "local all all trust\n# x\nhost shop 10.42.0.9 x\n"})}).showLine()
		if f := v.Fixes[1]; len(v.Fixes) != 2 || f.Text != c.text || f.Command != c.command {
			t.Errorf("%s: %+v", name, v.Fixes)
		}
	}
}

func TestIsTemplate(t *testing.T) {
	for key, want := range map[string]bool{
		"default.conf.template": true, "default.conf.j2": true, "10-default.conf": true, "tpl.default.conf": true, "default.tmpl": true,
		"default.conf": false, "default.yaml": false, "mydefault.conf": false, "other.conf.template": false,
	} {
		if isTemplate(key, "default.conf") != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}
