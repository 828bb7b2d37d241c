package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
)

// mounting is a pod that mounts ConfigMap conf at /etc/shop and has its variables from env.
func mounting() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: v1.PodSpec{
		Volumes: []v1.Volume{{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}},
		Containers: []v1.Container{{
			Name: "web", VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/etc/shop"}},
			EnvFrom: []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "env"}}}},
		}},
	}}
}

func configMap(name string, data map[string]string) v1.ConfigMap {
	return v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: data}
}

func TestShowLine(t *testing.T) {
	conf := map[string]string{
		"nginx.conf":     "events {}\nhttp {\n  server {\n    listen 8080 htpp2;\n    proxy_pass http://api:80;\n  }\n}\n",
		"app.py":         "import os\nlimit = int(os.environ['LIMIT'])\nraise RuntimeError('too many open_things')\n",
		"settings.ini":   "[db]\n# max_conns was 10\nmax_conns = ten-thousand\npath = /var/lib/shop/db\npassword = hunter-2-hunter\n",
		"prometheus.yml": "global:\n  scrape_interval: \"\"\n  # evaluation_interval: \"\"\nscrape_configs:\n- job_name: shop\n",
		"twice.ini":      "a = /srv/one\nb = /srv/one\nc = /srv/one\n",
	}
	env := map[string]string{"WORKERS": "four-ish", "BROKER": "amqp://mq"}
	for name, c := range map[string]struct {
		said  []string
		text  string
		wants []string // of the first step; none: there is none
	}{
		"a server names file and line": {
			[]string{`nginx: [emerg] invalid parameter "htpp2" in /etc/shop/nginx.conf:4`},
			"",
			[]string{"line 4 of nginx.conf in ConfigMap conf", "listen 8080 htpp2;"},
		},
		"file and line in words": {
			[]string{`FATAL: syntax error in file "/etc/shop/settings.ini" line 3, near token "thousand"`},
			"",
			[]string{"line 3 of settings.ini in ConfigMap conf"},
		},
		"line before file": {
			[]string{"error on line 4 of /etc/shop/nginx.conf"}, "", []string{"line 4 of nginx.conf"},
		},
		"haproxy's brackets": {
			[]string{"[ALERT] (1) : config : parsing [/etc/shop/nginx.conf:5] : unknown keyword 'proxy_pass'"},
			"",
			[]string{"line 5 of nginx.conf", "http://api:80"},
		},
		"an empty value": {
			[]string{`ts=2026-11-25T20:55:33Z caller=main.go:456 level=error msg="Error loading config" file=/etc/shop/prometheus.yml err="parsing YAML file /etc/shop/prometheus.yml: empty duration string"`}, "", []string{"line 2 of prometheus.yml", "scrape_interval"},
		},
		"the innermost frame of a stack": {
			[]string{`Traceback (most recent call last):`, `  File "/etc/shop/app.py", line 1, in <module>`, `  File "/etc/shop/app.py", line 2, in load`, `  File "/usr/lib/python3.11/os.py", line 680, in __getitem__`, `ValueError: invalid literal for int() with base 10: 'lots'`},
			"",
			[]string{"set LIMIT, which line 2 of app.py reads"},
		},
		"a value, and the frame where it is read": {
			[]string{`  File "/etc/shop/app.py", line 2, in load`, `ValueError: invalid literal for int() with base 10: 'ten-thousand'`},
			"",
			[]string{"line 3 of settings.ini", "max_conns = ten-thousand"},
		},
		"a value in quotes": {
			[]string{`Error: bad value 'ten-thousand' for max_conns`},
			"",
			[]string{"line 3 of settings.ini", "max_conns = ten-thousand"},
		},
		"a variable of a ConfigMap": {
			[]string{`Error: "four-ish" is not a valid port number`},
			"",
			[]string{"key WORKERS in ConfigMap env", "four-ish"},
		},
		"a path": {
			[]string{"Error: cannot open /var/lib/shop/db: Input/output error"},
			"",
			[]string{"line 4 of settings.ini", "path = /var/lib/shop/db"},
		},
		"what is secret is not shown": {
			[]string{"Error: bad value 'hunter-2-hunter'"}, "", []string{"line 5 of settings.ini in ConfigMap conf"},
		},
		"what stands on many lines": {[]string{"Error: cannot open /srv/one"}, "", nil},
		"only a script has it":      {[]string{"RuntimeError: too many open_things"}, "", nil},
		"nothing has it":            {[]string{"Error: out of luck at /elsewhere/x.py:12"}, "", nil},
		"a file of the image":       {[]string{"Error in /etc/other/nginx.conf:4"}, "", nil},
		"a line that is not there":  {[]string{"Error in /etc/shop/nginx.conf:400"}, "", nil},
		"what an answer quotes": {
			nil, `The application says that it is unhealthy: it answers 503 ("cannot write /var/lib/shop/db").`,
			[]string{"line 4 of settings.ini"},
		},
		"what a log says": {
			nil, `The application says that it is unhealthy. Its log says: cannot write /var/lib/shop/db.`,
			[]string{"line 4 of settings.ini"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := answer.Verdict{Cause: answer.AppExitError, Container: "web", LastWords: c.said, Text: c.text}
			v.Fixes = []answer.Fix{kubectl.Edit("if /etc/shop/nginx.conf is at fault", "ConfigMap", "shop", "conf", nil)}
			quoteText(&v)
			if m, _ := MatterOf(v); !m.line {
				t.Fatal("it is not asked for")
			}
			shownIn(&v, mounting(), []v1.ConfigMap{configMap("conf", conf), configMap("env", env), configMap("other", map[string]string{"x": "/elsewhere/x.py"})}).showLine()
			got := v.Fixes[0].Text
			if len(c.wants) == 0 && strings.Contains(got, "which the error is about") {
				t.Errorf("it shows %q", got)
			}
			for _, want := range c.wants {
				if !strings.Contains(got, want) {
					t.Errorf("%q has no %q", got, want)
				}
			}
			if strings.Contains(got, "hunter") {
				t.Errorf("it tells a password: %q", got)
			}
		})
	}
}

func TestNotOfAnotherContainer(t *testing.T) {
	v := answer.Verdict{Cause: answer.AppExitError, Container: "sidecar", LastWords: []string{"Error in /etc/shop/nginx.conf:1"}}
	pod := mounting()
	pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "sidecar"})
	shownIn(&v, pod, []v1.ConfigMap{configMap("conf", map[string]string{"nginx.conf": "oops"})}).showLine()
	if len(v.Fixes) > 0 {
		t.Errorf("it shows %q, which another container mounts", v.Fixes[0].Text)
	}
}

// Whatever a program says and a ConfigMap holds, what is shown is a step that can be taken.
func FuzzShowLine(f *testing.F) {
	f.Add("Error in /etc/shop/nginx.conf:1", "listen 80", "Error: 'abcd-1'")
	f.Add("line 2 of /etc/shop/a(3", "password = abcd-1", "“abcd-1”=x")
	f.Fuzz(func(t *testing.T, said, text, last string) {
		v := answer.Verdict{Cause: answer.AppUnhealthy, Text: said + " Its log says: " + last, LastWords: []string{said, last}}
		quoteText(&v)
		shownIn(&v, mounting(), []v1.ConfigMap{configMap("conf", map[string]string{"nginx.conf": text})}).showLine()
		for _, fix := range v.Fixes {
			if fix.Command == "" || fix.Text == "" {
				t.Errorf("an empty step: %+v", fix)
			}
		}
	})
}
