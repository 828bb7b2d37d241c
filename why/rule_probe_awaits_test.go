package why

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// A server that answers nobody and waits for another is not hung.
func TestProbeAwaits(t *testing.T) {
	late := attempt(fact.Readiness, fact.Evidence{Connect: time.Millisecond, Timeout: true})
	holds := func(well bool, change func(*fact.Looked)) func(*tale) {
		l := fact.Looked{
			PID: 100, State: "S", Processes: 2, Over: 2 * time.Second,
			Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "app", Backlog: 3}},
		}
		change(&l)
		return func(s *tale) {
			if well {
				s.probe("app", 3, good(fact.Readiness, time.Millisecond))
			} else {
				s.wait(time.Minute)
			}
			s.probe("app", 2, late)
			s.in("app", l)
			s.probe("app", 1, late)
		}
	}
	asks := func(d fact.Dial) func(*fact.Looked) {
		return func(l *fact.Looked) { l.Open = []fact.Dial{d} }
	}
	says := func(lines ...string) func(*fact.Looked) {
		return func(l *fact.Looked) { l.Said = lines }
	}
	saysAt := func(at time.Duration, line string) func(*fact.Looked) {
		return func(l *fact.Looked) {
			l.Said, l.SaidAt = []string{line, "raft: candidate"}, []time.Time{dawn.Add(at), dawn.Add(time.Hour)}
		}
	}
	peer := "W | rafthttp: health check for peer d51 could not connect: dial tcp: lookup etcd-1.etcd on 10.43.0.10:53: no such host"
	for _, q := range []question{
		{name: "for an answer", cause: answer.DependencyDown, says: "waits for an answer of 10.43.0.7:3000: nothing has come back", tale: holds(true, asks(fact.Dial{Remote: "10.43.0.7:3000", PID: 100, Command: "app", Unanswered: 4 * time.Second}))},
		{name: "for an answer, from the start on", cause: answer.DependencyDown, tale: holds(false, asks(fact.Dial{Remote: "10.43.0.7:3000", PID: 100, Command: "app", Unanswered: time.Minute}))},
		{name: "a connection that idles", cause: answer.AppHang, tale: holds(true, asks(fact.Dial{Remote: "10.43.0.7:3000", PID: 100, Command: "app"}))},
		{name: "another container's question", cause: answer.AppHang, tale: holds(true, asks(fact.Dial{Remote: "10.43.0.7:3000", PID: 300, Other: true, Unanswered: 4 * time.Second}))},
		{name: "for work, as it did while it was well", cause: answer.AppHang, tale: holds(true, asks(fact.Dial{Remote: "10.43.0.7:3000", PID: 100, Unanswered: 2 * time.Minute}))},
		{name: "for itself", cause: answer.AppHang, tale: holds(true, asks(fact.Dial{Remote: "127.0.0.1:8080", PID: 100, Unanswered: 4 * time.Second}))},
		{name: "for a connection", cause: answer.DependencyDown, says: "192.0.2.7:5432, which has not answered yet", tale: holds(true, func(l *fact.Looked) { l.Dialing = []fact.Dial{{Remote: "192.0.2.7:5432", PID: 100}} })},
		{name: "for a peer, as it says again and again", cause: answer.DependencyDown, says: "etcd-1.etcd (there is no such name in DNS)", tale: holds(false, says(peer, "raft: became candidate", peer, "raft: became candidate"))},
		{name: "as it said once, and went on", cause: answer.AppHang, tale: holds(false, says(peer, "listening on :8080"))},
		{name: "as it says now", cause: answer.DependencyDown, says: "db:5432", tale: holds(true, says("listening", "dial tcp db:5432: connection refused"))},
		{name: "as it said before it was well", cause: answer.AppHang, tale: holds(true, saysAt(0, peer))},
		{name: "as it said while it failed", cause: answer.DependencyDown, says: "etcd-1.etcd", tale: holds(true, saysAt(8*time.Second, peer))},
		{name: "as it said long before", cause: answer.AppHang, tale: holds(false, saysAt(0, peer))},
		{name: "as it said lately", cause: answer.DependencyDown, says: "etcd-1.etcd", tale: holds(false, saysAt(time.Minute+4*time.Second, peer))},
		{name: "it computes", cause: answer.AppOverloaded, tale: holds(true, func(l *fact.Looked) {
			l.CPUUsed = l.Over
			l.Open = []fact.Dial{{Remote: "10.43.0.7:3000", PID: 100, Unanswered: 4 * time.Second}}
		})},
	} {
		q.pod, q.symptom = web(ready), answer.NotReady
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// What a command says of its own start is no illness.
func TestStillStarts(t *testing.T) {
	one := 1
	loading := attempt(fact.Liveness, fact.Evidence{Handler: fact.Exec, Target: "redis-cli ping", ExitCode: &one, Output: "LOADING Redis is loading the dataset in memory"})
	for _, q := range []question{
		{name: "never up", cause: answer.AppSlowStart, says: "LOADING Redis", tale: func(s *tale) { s.probe("app", 3, loading) }},
		{name: "it was up", cause: answer.AppUnhealthy, says: "LOADING Redis", tale: func(s *tale) {
			s.probe("app", 2, good(fact.Liveness, time.Millisecond))
			s.probe("app", 3, loading)
		}},
	} {
		q.pod, q.symptom = web(), answer.Restarted
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// A start that is ended in its midst was too slow, as its log says what it had begun.
func TestEndedWhileItLoads(t *testing.T) {
	question{
		pod: web(), symptom: answer.Restarted, cause: answer.AppSlowStart, says: "“loading court areas”",
		tale: func(s *tale) {
			s.probe("app", 2, connectionRefused(fact.Liveness))
			s.in("app", fact.Looked{PID: 100, State: "S", Over: time.Second, Said: []string{"Puma starting in single mode...", "loading court areas"}, SaidAt: []time.Time{s.now.Add(-4 * time.Second), s.now.Add(-4 * time.Second)}})
			s.probe("app", 1, connectionRefused(fact.Liveness))
		},
	}.run(t)
}

// Work of a start that has begun, as its log says, and of which no end is told.
func TestBegun(t *testing.T) {
	question{
		pod: web(ready), symptom: answer.NotReady, cause: answer.AppSlowStart, says: "The last that its log says is what it has begun: “Installing WordPress...”",
		tale: func(s *tale) {
			s.probe("app", 3, connectionRefused(fact.Readiness))
			s.in("app", fact.Looked{PID: 100, State: "S", Over: time.Second, Said: []string{"Installing WordPress..."}, SaidAt: []time.Time{s.now.Add(-9 * time.Second)}})
			s.probe("app", 1, connectionRefused(fact.Readiness))
		},
	}.run(t)
}
