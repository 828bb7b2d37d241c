package why

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// asksItself is a readiness probe by a command that asks a port of loopback.
func asksItself(command ...string) func(*v1.Container) {
	return func(c *v1.Container) {
		ready(c)
		c.ReadinessProbe.ProbeHandler = v1.ProbeHandler{Exec: &v1.ExecAction{Command: command}}
	}
}

// A command that asks the container where it does not listen.
func TestCommandAsksElsewhere(t *testing.T) {
	code := 1
	refuses := attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "ask itself", ExitCode: &code, Output: "wget: can't connect to remote host (127.0.0.1): Connection refused"})
	on := func(ports ...string) fact.Looked {
		look := fact.Looked{PID: 1, State: "S", Processes: 1, Over: time.Second}
		for _, port := range ports {
			look.Listeners = append(look.Listeners, fact.Listener{Address: "0.0.0.0:" + port, PID: 1, Command: "caddy"})
		}
		return look
	}
	asks := web(asksItself("wget", "-q", "--spider", "http://127.0.0.1:3000/"))
	moved := attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "pg_isready -h 127.0.0.1 -p 5432", ExitCode: &code, Output: "127.0.0.1:5432 - no response"})
	management := attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "ask itself", ExitCode: &code, Output: "wget: can't connect to remote host (127.0.0.1): Connection refused"})
	broker := on("5672")
	broker.Listeners[0].Command = "beam.smp"
	for _, q := range []question{
		{name: "pg_isready at the port of before", pod: web(asksItself("pg_isready", "-h", "127.0.0.1", "-p", "5432")), cause: answer.AppListensElse, says: "0.0.0.0:9000", tale: func(s *tale) {
			s.probe("app", 3, moved)
			s.in("app", on("9000"))
			s.probe("app", 3, moved)
		}},
		{name: "a plugin of RabbitMQ that is not enabled", pod: web(asksItself("wget", "http://127.0.0.1:15672/api/healthchecks/node")), cause: answer.AppNotListening, says: "port 15672", tale: func(s *tale) {
			s.probe("app", 3, management)
			s.in("app", broker)
			s.probe("app", 3, management)
		}},
		{name: "nobody is there", pod: asks, cause: answer.AppListensElse, says: "port 3000", tale: func(s *tale) {
			s.probe("app", 3, refuses)
			s.in("app", on("443"))
			s.probe("app", 3, refuses)
		}},
		{name: "somebody listens since", pod: asks, cause: answer.AppUnhealthy, tale: func(s *tale) {
			s.probe("app", 3, refuses)
			s.in("app", on("443", "3000"))
			s.probe("app", 3, refuses)
		}},
		{name: "two ports", pod: web(asksItself("sh", "-c", "wget http://127.0.0.1:3000/ && wget http://127.0.0.1:443/")), cause: answer.AppUnhealthy, tale: func(s *tale) {
			s.probe("app", 3, refuses)
			s.in("app", on("443"))
			s.probe("app", 3, refuses)
		}},
		{name: "it worked once", pod: asks, cause: answer.AppUnhealthy, tale: func(s *tale) {
			s.probe("app", 3, good(fact.Readiness, time.Millisecond))
			s.probe("app", 3, refuses)
			s.in("app", on("443"))
			s.probe("app", 3, refuses)
		}},
	} {
		q.symptom = answer.NotReady
		t.Run(q.name, q.run)
	}
}

// pair is a pod with a proxy in front, which is probed, and an application beside it.
func pair() *v1.Pod {
	p := web(ready)
	p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "php", Image: "php:1"})
	return p
}

// A proxy that finds nobody in its own pod is not to blame where the other container is down.
func TestSiblingDown(t *testing.T) {
	look := fact.Looked{
		PID: 1, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 1, Command: "nginx"}},
		Said: []string{"[error] connect() failed (111: Connection refused) while connecting to upstream, upstream: \"fastcgi://127.0.0.1:9000\""},
	}
	tell := func(down bool) func(*tale) {
		return func(s *tale) {
			if down {
				s.exit("php", fact.Exited{ExitCode: 78, OOMKnown: true, LastLines: []string{"ALERT: [pool www] user has not been defined"}})
			}
			s.probe("app", 3, status(fact.Readiness, 502, "502 Bad Gateway"))
			s.in("app", look)
			s.probe("app", 1, status(fact.Readiness, 502, "502 Bad Gateway"))
		}
	}
	for name, down := range map[string]bool{"down": true, "up": false} {
		t.Run(name, func(t *testing.T) {
			s := tellTale(t, tell(down))
			for i, symptom := range s.Symptoms {
				want := answer.AppNotListening
				if down {
					want = answer.AppExitError
				}
				if symptom.Kind == answer.NotReady && symptom.Container == "app" && s.Verdicts[i].Cause != want {
					t.Errorf("%s, not %s: %s", s.Verdicts[i].Cause, want, s.Verdicts[i].Text)
				}
			}
		})
	}
}

func tellTale(t *testing.T, happens func(*tale)) answer.Answer {
	s := tell(t, pair())
	happens(s)
	return s.ask()
}

// Words of the container itself say that it was asked: who stands in front of it handed that on.
func TestFrontHandsOn(t *testing.T) {
	said := []string{"NOTICE: PHP message: PHP Parse error: syntax error in /srv/functions.php on line 8"}
	for name, lines := range map[string][]string{"it says why": said, "it says nothing": nil} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, web(ready))
			s.probe("app", 2, status(fact.Readiness, 500, ""))
			s.in("app", fact.Looked{
				PID: 1, State: "S", Processes: 1, Over: time.Second, Said: lines, SaidAt: times(s.now, len(lines)),
				Listeners: []fact.Listener{{Address: "0.0.0.0:8080", Other: true, Command: "apache2"}, {Address: "127.0.0.1:9000", PID: 1, Command: "php-fpm"}},
			})
			s.probe("app", 1, status(fact.Readiness, 500, ""))
			want := answer.MeshSidecarAnswered
			if lines != nil {
				want = answer.AppUnhealthy
			}
			if v := s.ask().Verdicts[0]; v.Cause != want {
				t.Errorf("%s, not %s: %s", v.Cause, want, v.Text)
			}
		})
	}
}

func times(at time.Time, n int) []time.Time {
	all := make([]time.Time, n)
	for i := range all {
		all[i] = at
	}
	return all
}

// Workers that end as they start leave a main process that serves nobody: their words say why.
func TestWorkersGoneAtStart(t *testing.T) {
	said := []string{"ERROR:    Traceback (most recent call last):", "KeyError: 'EXPORT_BUCKET'", "ERROR:    Application startup failed. Exiting."}
	for _, q := range []question{
		{name: "they are gone", cause: answer.ChildProcessEnded, says: "EXPORT_BUCKET", tale: func(s *tale) { gone(s, 4, said) }},
		{name: "there were no more", cause: answer.AppNotListening, says: "EXPORT_BUCKET", tale: func(s *tale) { gone(s, 2, said) }},
		{name: "without a word", cause: answer.AppNotListening, tale: func(s *tale) { gone(s, 4, nil) }},
	} {
		q.symptom, q.pod = answer.NotReady, web(ready)
		t.Run(q.name, q.run)
	}
}

// gone is a container that had so many processes, and has two of them that idle.
func gone(s *tale, had int, said []string) {
	for _, n := range []int{had, 2} {
		s.wait(10 * time.Second)
		s.probe("app", 3, connectionRefused(fact.Readiness))
		s.in("app", fact.Looked{PID: 1, State: "S", Processes: n, Commands: []string{"python3"}, Over: 3 * time.Second, CPUTotal: time.Second, Age: 20 * time.Second, Said: said, SaidAt: times(s.now, len(said))})
		s.in("app", fact.Sampled{PIDs: int64(n), CPUUsage: time.Second})
	}
	s.probe("app", 3, connectionRefused(fact.Readiness))
}

// A command that asks at the pod's address, and a server that listens on loopback alone.
func TestCommandAsksTheAddress(t *testing.T) {
	code := 2
	away := attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c pg_isready -h $POD_IP -p 5432", ExitCode: &code, Output: "10.42.0.3:5432 - no response"})
	for name, test := range map[string]struct {
		listens string
		cause   answer.Cause
	}{
		"on loopback":        {"127.0.0.1:5432", answer.AppListensElse},
		"on all addresses":   {"0.0.0.0:5432", answer.AppUnhealthy},
		"on another port":    {"127.0.0.1:5433", answer.AppUnhealthy},
		"on its address too": {"10.42.0.3:5432", answer.AppUnhealthy},
	} {
		q := question{name: name, pod: web(asksItself("sh", "-c", "pg_isready -h $POD_IP -p 5432")), symptom: answer.NotReady, cause: test.cause, tale: func(s *tale) {
			s.probe("app", 3, away)
			s.in("app", fact.Looked{PID: 1, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: test.listens, PID: 1, Command: "postgres"}}})
			s.probe("app", 3, away)
		}}
		t.Run(name, q.run)
	}
}
