package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// A command that fails for itself says nothing of the application, and one that tells of it does.
func TestCommandsThatFailForThemselves(t *testing.T) {
	one := 1
	for name, test := range map[string]struct {
		command, output string
		cause           answer.Cause
		does            string
	}{
		"a shell without /dev/tcp":         {"cat < /dev/null > /dev/tcp/127.0.0.1/8080", "sh: 1: cannot create /dev/tcp/127.0.0.1/8080: Directory nonexistent", answer.ProbeCommandFailed, "tcpSocket"},
		"a variable that its script reads": {"bash /scripts/ready.sh", "/scripts/ready.sh: line 13: DELAY_APPLIED_FILE: unbound variable", answer.ProbeCommandFailed, "give it that setting"},
		"a program that its script lacks":  {"sh /scripts/ready.sh", "/scripts/ready.sh: line 3: curl: command not found", answer.ProbeCommandFailed, "correct curl in readinessProbe's command"},
		"a program that crashes":           {"sh /srv/health.sh", "Segmentation fault", answer.ProbeCommandFailed, "httpGet"},
		"a file of another image":          {"pg_isready -U postgres\n[ -f /opt/tmp/.initialized ]", "127.0.0.1:5432 - accepting connections", answer.ProbeCommandFailed, "/opt/tmp/.initialized"},
		"a file of the application":        {"test -f /tmp/healthy", "", answer.AppUnhealthy, "/tmp/healthy"},
		"another cookie":                   {"rabbitmq-diagnostics ping", "Error: unable to perform an operation on node 'rabbit@web'\n * Authentication failed (rejected by the remote node), please check the Erlang cookie", answer.ProbeCommandFailed, "cookie"},
		"no password":                      {"mysql -u root -e 'SELECT 1'", "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: NO)", answer.ProbeCommandFailed, "MYSQL_PWD"},
		"a password that is not right":     {"mysql -u root -px -e 'SELECT 1'", "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)", answer.ProbeCommandFailed, "compare the user and password"},
		"a user that there is none of":     {"psql -U --port=5432 -c 'select 1'", `psql: error: connection to server on socket "/tmp/.s.PGSQL.5432" failed: FATAL:  role "--port=5432" does not exist`, answer.ProbeCommandFailed, "which variables it is given"},
		"Airflow's job of another name":    {"airflow jobs check --job-type SchedulerJob --hostname $(hostname)", "No alive jobs found.", answer.ProbeCommandFailed, "hostname_callable"},
		"a server that is not well":        {"redis-cli ping", "LOADING Redis is loading the dataset in memory", answer.AppUnhealthy, ""},
		"no password, after another one":   {"redis-cli -a x ping", "AUTH failed: WRONGPASS invalid username-password pair or user is disabled.\nNOAUTH Authentication required.", answer.ProbeCommandFailed, "compare the user and password"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, web(func(c *v1.Container) {
				c.LivenessProbe, c.ReadinessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", test.command}}}}
			}))
			s.probe("app", 4, attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c " + test.command, Output: test.output, ExitCode: &one}))
			v := s.ask().Verdicts[0]
			var does strings.Builder
			for _, f := range v.Fixes {
				does.WriteString(f.Text)
			}
			if v.Cause != test.cause || !strings.Contains(does.String(), test.does) {
				t.Errorf("%s: %s\n%s", v.Cause, v.Text, does.String())
			}
		})
	}
}

// A variable that has its value from elsewhere is empty in a probe's command.
func TestEmptiedInTheProbe(t *testing.T) {
	one := 1
	s := tell(t, web(func(c *v1.Container) {
		c.Env = []v1.EnvVar{{Name: "MY_POD_IP", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}
		c.LivenessProbe, c.ReadinessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "wget -q -O - http://$(MY_POD_IP):2379/health"}}}}
	}))
	s.probe("app", 4, attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c wget -q -O - http://:2379/health", ExitCode: &one}))
	if v := s.ask().Verdicts[0]; v.Cause != answer.ProbeCommandFailed || !strings.Contains(v.Text, "puts nothing in place of $(MY_POD_IP)") || !strings.Contains(v.Fixes[0].Text, "write $MY_POD_IP") {
		t.Errorf("%s: %s: %+v", v.Cause, v.Text, v.Fixes)
	}
}

// A client that looks for its server's socket where that has another.
func TestSocketElsewhere(t *testing.T) {
	one := 1
	const command = "mariadb -u root -e 'SELECT 1'"
	for own, want := range map[string]answer.Cause{"/data/db/mysql.sock": answer.ProbeCommandFailed, "/run/mysqld/mysqld.sock": answer.AppUnhealthy, "": answer.AppUnhealthy} {
		s := tell(t, web(func(c *v1.Container) {
			c.LivenessProbe, c.ReadinessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", command}}}}
		}))
		away := attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c " + command, Output: "ERROR 2002 (HY000): Can't connect to local server through socket '/run/mysqld/mysqld.sock' (2)", ExitCode: &one})
		s.probe("app", 3, away)
		look := fact.Looked{PID: 1, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:3306", PID: 1, Command: "mariadbd"}}}
		if own != "" {
			look.Said = []string{"mariadbd: ready for connections.", "Version: '10.11.14-MariaDB-0+deb12u2' socket: '" + own + "' port: 3306 Debian 12"}
		}
		s.in("app", look)
		s.probe("app", 3, away)
		v := s.ask().Verdicts[0]
		if v.Cause != want || want == answer.ProbeCommandFailed && !strings.Contains(v.Fixes[0].Text, own) {
			t.Errorf("%q: %s: %s: %+v", own, v.Cause, v.Text, v.Fixes)
		}
	}
}

// A file that nothing makes is the command's fault where the log says that all is ready, and the application's elsewhere.
func TestFileThatNothingMakes(t *testing.T) {
	one := 1
	const missing = "find: /tmp/worker_heartbeat: No such file or directory"
	for _, test := range []struct {
		command, output, said string
		want                  answer.Cause
	}{
		{"find /tmp/worker_heartbeat -mmin -1 | grep -q .", missing, "celery@worker-1 ready.", answer.ProbeCommandFailed},
		{"test -f /tmp/worker_heartbeat", "", "celery@worker-1 ready.", answer.ProbeCommandFailed},
		{"find /tmp/worker_heartbeat -mmin -1 | grep -q .", "", "celery@worker-1 ready.", answer.AppUnhealthy},
		{"test -f /tmp/worker_heartbeat", "", "loading the model", answer.AppUnhealthy},
		{"test -f /tmp/worker_heartbeat", "", "ERROR: consumer: cannot connect to redis://broker:6379/0", answer.DependencyDown},
	} {
		s := tell(t, web(func(c *v1.Container) {
			c.LivenessProbe, c.ReadinessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", test.command}}}}
		}))
		failed := attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c " + test.command, Output: test.output, ExitCode: &one})
		s.probe("app", 3, failed)
		s.in("app", fact.Looked{PID: 1, State: "S", Processes: 1, Over: time.Second, Said: []string{test.said}})
		s.probe("app", 3, failed)
		if v := s.ask().Verdicts[0]; v.Cause != test.want {
			t.Errorf("%q: %s: %s", test, v.Cause, v.Text)
		}
	}
}

// A shell that is given its command in several words runs the first of them alone.
func TestTakenApart(t *testing.T) {
	code := 64
	for _, test := range []struct {
		command []string
		want    answer.Cause
	}{
		{[]string{"sh", "-c", "rabbitmq-diagnostics", "-q", "ping"}, answer.ProbeCommandFailed},
		{[]string{"sh", "-c", "rabbitmq-diagnostics -q ping"}, answer.AppUnhealthy},
		{[]string{"sh", "-c", "test $1 = up", "sh", "down"}, answer.AppUnhealthy},
	} {
		s := tell(t, web(func(c *v1.Container) {
			c.LivenessProbe, c.ReadinessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: test.command}}}
		}))
		s.probe("app", 4, attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: strings.Join(test.command, " "), Output: "Usage", ExitCode: &code}))
		if v := s.ask().Verdicts[0]; v.Cause != test.want || v.Cause == answer.ProbeCommandFailed && !strings.Contains(v.Fixes[0].Text, `[sh, -c, "rabbitmq-diagnostics -q ping"]`) {
			t.Errorf("%q: %s: %s: %+v", test.command, v.Cause, v.Text, v.Fixes)
		}
	}
}

// What is slow to begin is known by its name, in a shell's quotes, too.
func TestSlowToBegin(t *testing.T) {
	for command, want := range map[string]bool{"rabbitmq-diagnostics -q ping": true, "sleep 5": false} {
		p := &probing{run: &history.Run{Container: "app"}, spec: &v1.Probe{TimeoutSeconds: 1, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"/bin/bash", "-ec", command}}}}}
		if got := p.slowToBegin() != ""; got != want {
			t.Errorf("%s: %t", command, got)
		}
	}
}
