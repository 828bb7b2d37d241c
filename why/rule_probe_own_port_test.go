package why

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

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
