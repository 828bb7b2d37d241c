package why

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Who has more work than it takes, by its words or by what it waits for.
func TestFull(t *testing.T) {
	waiting := func(change func(*fact.Listener), said ...string) func(*tale) {
		return func(s *tale) {
			l := fact.Listener{Address: "0.0.0.0:8080", PID: 100, Command: "haproxy", Backlog: 2, Taken: 4}
			change(&l)
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			s.probe("app", 1, noAnswer(fact.Readiness))
			s.in("app", fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{l}, From: []string{"10.42.0.7"}, Said: said})
			s.probe("app", 3, noAnswer(fact.Readiness))
		}
	}
	for _, q := range []question{
		{name: "its event loop takes no more", cause: answer.AppOverloaded, says: "goes on with the 4 that it has", tale: waiting(func(l *fact.Listener) { l.Paused = true })},
		{name: "whose they are", cause: answer.AppOverloaded, says: "Its connections are from 10.42.0.7", tale: waiting(func(l *fact.Listener) { l.Paused = true })},
		{name: "its event loop would take them", cause: answer.AppHang, tale: waiting(func(*fact.Listener) {})},
		{name: "it has none", cause: answer.AppHang, tale: waiting(func(l *fact.Listener) { l.Paused, l.Taken = true, 0 })},
		{name: "it says so", cause: answer.AppOverloaded, says: "a limit of its own is reached (server reached MaxRequestWorkers", tale: waiting(func(*fact.Listener) {}, "server reached MaxRequestWorkers setting, consider raising it")},
		{name: "it ends its workers", cause: answer.AppHang, says: "WORKER TIMEOUT (pid:7)", tale: waiting(func(*fact.Listener) {}, "[2026-11-23 06:54:18 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:7)")},
		{name: "it ends its workers, and its connections break off", cause: answer.AppHang, says: "worked on one request for longer than it allows", tale: func(s *tale) {
			cut := attempt(fact.Readiness, fact.Evidence{Connect: time.Millisecond, Errno: "ECONNRESET"})
			s.probe("app", 2, cut)
			s.in("app", fact.Looked{PID: 100, State: "S", Over: time.Second, Said: []string{"[CRITICAL] WORKER TIMEOUT (pid:7)", "[INFO] Booting worker with pid: 9"}})
			s.probe("app", 2, cut)
		}},
	} {
		q.pod, q.symptom = web(ready), answer.NotReady
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// What no probe asks looks well and may serve nobody, for one reason or the other.
func TestFullUnseen(t *testing.T) {
	for paused, want := range map[bool]answer.Cause{true: answer.AppOverloaded, false: answer.AppHang} {
		s := tell(t, web(silentProbe))
		l := fact.Listener{Address: "0.0.0.0:8080", PID: 100, Backlog: 2, Taken: 4, Paused: paused}
		look := fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{l}}
		s.wait(2 * time.Minute)
		s.in("app", look)
		s.wait(5 * time.Second)
		s.in("app", look)
		a := s.ask()
		s.rests(a)
		if v := a.Verdicts[0]; v.Cause != want {
			t.Errorf("paused %v: %s", paused, a.Text(answer.Style{}))
		}
	}
}

// What an answer tells of a pod beside its verdicts, for who asks about one that asks it.
func TestSeenAround(t *testing.T) {
	s := tell(t, web(ready))
	s.probe("app", 2, good(fact.Readiness, time.Millisecond))
	s.in("app", fact.Sampled{CPUUsage: time.Second})
	s.wait(2 * time.Second)
	s.in("app", fact.Sampled{CPUUsage: 2 * time.Second})
	s.in("app", fact.Looked{
		PID: 100, State: "S", Processes: 2, From: []string{"10.42.0.7"}, Lately: []string{"10.43.0.9:8000"},
		Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100}},
		Said:      []string{`  File "/srv/app.py", line 9, in index`, "    urlopen(x)", "urllib.error.HTTPError: HTTP Error 500: INTERNAL SERVER ERROR"},
	})
	a := s.ask()
	if l := a.Listening; l == nil || len(l.From) != 1 || l.Busy == nil || *l.Busy < 0.4 || *l.Busy > 0.6 {
		t.Errorf("%+v", l)
	}
	if len(a.Complaints) != 1 || !a.Complaints[0].Another {
		t.Errorf("%+v", a.Complaints)
	}
	if len(a.Reaches) != 1 || a.Reaches[0].How != answer.ReachLately || a.Reaches[0].Place != "10.43.0.9:8000" {
		t.Errorf("%+v", a.Reaches)
	}
	s.in("app", fact.Looked{PID: 100, State: "S", Said: []string{`recv() failed (104: Connection reset by peer) while 10.42.0.9:45678`, "jinja2.exceptions.TemplateNotFound: index.html"}})
	if a := s.ask(); len(a.Complaints) != 1 || a.Complaints[0].Another {
		t.Errorf("%+v", a.Complaints)
	}
	s.see("", 0, fact.ConfigChanged{Object: "ConfigMap", Name: "settings", Keys: []string{"app.conf"}})
	s.said([]time.Duration{time.Hour, 4 * time.Second, 3 * time.Second, 2 * time.Second, time.Second}, "CRITICAL: long ago", "append: write: No space left on device", "GET /healthz", "GET /healthz", "GET /healthz")
	a = s.ask()
	if len(a.Complaints) != 1 || a.Complaints[0].Cause != answer.DiskFull || a.Complaints[0].Before || len(a.Changes) != 1 {
		t.Errorf("%+v %+v", a.Complaints, a.Changes)
	}
	s.wait(10 * time.Minute)
	if a = s.ask(); len(a.Complaints) != 1 || !a.Complaints[0].Before {
		t.Errorf("%+v", a.Complaints)
	}
	const full = "6 [Warning] mariadbd: Disk is full writing './binlog.000001' (Errcode: 28 \"No space left on device\"). Waiting for someone to free space... (Expect up to 60 secs delay for server to continue after freeing disk space)"
	for ago, before := range map[time.Duration]bool{time.Minute: false, 5 * time.Minute: true} {
		s.said([]time.Duration{time.Hour, ago, time.Second}, "starting", full, "7 [Warning] Aborted connection 7 to db: 'unconnected'")
		if a = s.ask(); len(a.Complaints) != 1 || a.Complaints[0].Cause != answer.DiskFull || a.Complaints[0].Before != before || a.Complaints[0].At.IsZero() {
			t.Errorf("%s: %+v", ago, a.Complaints)
		}
	}
	s.said([]time.Duration{time.Hour, time.Minute}, "CRITICAL: long ago", "waiting for the lock that worker-1 holds")
	if a = s.ask(); len(a.Complaints) != 1 || !a.Complaints[0].Another || a.Complaints[0].Before {
		t.Errorf("%+v", a.Complaints)
	}
}
