package why

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// The setting of its spec that allows more memory than the limit has is what to lower first.
func TestRoomier(t *testing.T) {
	c := &v1.Container{Command: []string{"redis-server", "--maxmemory", "512mb", "--save", ""}}
	if s, allows := roomier(c, 256<<20); s.name != "--maxmemory" || allows != 512<<20 {
		t.Errorf("%+v %d", s, allows)
	}
	if s, allows := roomier(c, 1<<30); allows != 0 {
		t.Errorf("%+v %d", s, allows)
	}
}

// An exit code that Node.js has for an end of its own is told as that, of node alone.
func TestNodeCodes(t *testing.T) {
	for command, told := range map[string]bool{"node": true, "/usr/bin/node": true, "python3": false} {
		s := tell(t, web(func(c *v1.Container) { c.Command = []string{command, "/srv/server.mjs"} }))
		s.exit("app", fact.Exited{ExitCode: 13, OOMKnown: true, StatusKnown: true, LastLines: []string{"waiting for settings"}})
		if text := s.ask().Verdicts[0].Text; strings.Contains(text, "an await at the top of a module was not settled") != told {
			t.Errorf("%s: %s", command, text)
		}
	}
}

// What the pod gives a container stands beside the words that are about it, and nothing else does.
func TestGiven(t *testing.T) {
	env := func(all ...v1.EnvVar) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.Containers[0].Env = all }
	}
	user := func(id int64) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: &id, FSGroup: &id} }
	}
	runs := func(command ...string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.Containers[0].Command = command }
	}
	secret := &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "bank"}, Key: "token.txt"}}
	jars := func(p *v1.Pod) {
		mount := []v1.VolumeMount{{Name: "jars", MountPath: "/otel"}}
		p.Spec.Volumes = []v1.Volume{{Name: "jars", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		p.Spec.Containers[0].VolumeMounts = mount
	}
	for name, test := range map[string]struct {
		change            func(*v1.Pod)
		said, want, fixes string
	}{
		"a secret's value":            {env(v1.EnvVar{Name: "BANK_TOKEN", ValueFrom: secret}), "ERROR: invalid header from BANK_TOKEN", "Variable BANK_TOKEN is key token.txt of Secret bank.", `get secret bank -o jsonpath='{.data.token\.txt}' | base64 -d | od -c`},
		"a value":                     {env(v1.EnvVar{Name: "APP_MODE", Value: "prod"}), "ERROR: APP_MODE is not one of dev, test", `The pod sets APP_MODE to "prod".`, ""},
		"one that may be secret":      {env(v1.EnvVar{Name: "APP_PASSWORD", Value: "x"}), "ERROR: APP_PASSWORD is too short", "", ""},
		"another name":                {env(v1.EnvVar{Name: "SHOP_UPSTREAM", Value: "a:1"}), "ERROR: environment variable SHOP_UPSTREAMS is not set", "The pod sets no variable SHOP_UPSTREAMS in container app, but SHOP_UPSTREAM.", "name variable SHOP_UPSTREAM of container app as its program asks for it: SHOP_UPSTREAMS"},
		"none":                        {env(), "ERROR: environment variable SHOP_UPSTREAMS is not set", "The pod sets no variable SHOP_UPSTREAMS in container app.", "give container app variable SHOP_UPSTREAMS, in its env"},
		"one dash before a word":      {runs("prometheus", "-config.file=/etc/p.yml"), "Error parsing commandline arguments: unknown short flag '-c'", "The pod gives it -config.file=/etc/p.yml.", "write -config.file with two dashes (--config.file)"},
		"an option that is not known": {runs("server", "--log-format", "json"), "error: unrecognized option '--log-format'", "The pod gives it --log-format.", "take --log-format out of command or args of container app"},
		"an option of a shell's":      {runs("sh", "-c", "serve --fast"), "serve: unknown option '--fast'", "", ""},
		"an option that is missing":   {runs("memcached", "-m", "64"), "can't run as root without the -u switch", "The pod gives it no -u: its command is memcached -m 64.", ""},
		"an option that is there":     {runs("memcached", "-unobody"), "can't run as root without the -u switch", "", ""},
		"an option of who knows what": {runs("sh", "-c", "exec memcached -m 64"), "can't run as root without the -u switch", "", ""},
		"a user":                      {user(1000660000), "initdb: error: could not look up effective user ID 1000660000: user does not exist", "The pod has it run with runAsUser 1000660000, fsGroup 1000660000.", ""},
		"no word of a user":           {user(1000660000), "ERROR: no such table", "", ""},
		"a file of no volume":         {jars, "ERROR: /opt/agent.jar: No such file or directory", "No volume is mounted at /opt/agent.jar: the image has to bring it, or the program to write it.", "--image=app:1 --command -- ls -la /opt"},
		"a file that another makes": {
			jars, "ERROR: Error opening zip file or JAR manifest missing : /otel/agent.jar: No such file or directory",
			"/otel/agent.jar is in volume jars, an emptyDir: it has nothing at first but what containers of this pod write there.", "",
		},
		"a host alias": {
			func(p *v1.Pod) {
				p.Spec.HostAliases = []v1.HostAlias{{IP: "192.0.2.44", Hostnames: []string{"ledger-db"}}}
			},
			`psycopg2.OperationalError: connection to server at "ledger-db" (192.0.2.44), port 5432 failed: Network is unreachable`,
			"The pod's hostAliases say that ledger-db is 192.0.2.44, so DNS is not asked for it.", "take ledger-db out of hostAliases",
		},
		"a limit in words": {
			func(p *v1.Pod) { p.Spec.Containers[0].Command = []string{"console", "consume", "--time-limit=10"} },
			"ERROR Worker stopped due to time limit of 10s exceeded", "", "container app has it from --time-limit (10)",
		},
		"another number": {
			func(p *v1.Pod) { p.Spec.Containers[0].Command = []string{"console", "consume", "--time-limit=10"} },
			"ERROR Worker stopped due to time limit of 100s exceeded", "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := web()
			test.change(pod)
			s := tell(t, pod)
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, StatusKnown: true, LastLines: []string{test.said}})
			v := s.ask().Verdicts[0]
			_, rest, _ := strings.Cut(v.Text, test.said)
			rest = strings.TrimLeft(rest, ". ")
			var steps []string
			for _, f := range v.Fixes {
				steps = append(steps, f.Text+": "+f.Command)
			}
			if test.want == "" && strings.Contains(rest, "he pod ") || !strings.Contains(rest, test.want) {
				t.Errorf("text %q", rest)
			}
			if !strings.Contains(strings.Join(steps, "\n"), test.fixes) {
				t.Errorf("steps %q", steps)
			}
		})
	}
}
