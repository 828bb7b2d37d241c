package why

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// What a container needs from elsewhere, and does not reach.
func TestDependency(t *testing.T) {
	said := func(code int32, lines ...string) func(*tale) {
		return func(s *tale) {
			s.wait(2 * time.Second)
			s.exit("app", fact.Exited{ExitCode: code, OOMKnown: true, StatusKnown: true, LastLines: lines})
		}
	}
	idle := func(change func(*fact.Looked)) func(*tale) {
		l := fact.Looked{PID: 100, State: "S", Processes: 2, Over: 2 * time.Second, Commands: []string{"sleep"}}
		change(&l)
		return func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Readiness))
			s.in("app", l)
			s.probe("app", 4, connectionRefused(fact.Readiness))
		}
	}
	for _, q := range []question{
		{name: "no such name", symptom: answer.Restarted, cause: answer.DependencyDown, says: "db.shop.svc.cluster.local", tale: said(1, "starting", "dial tcp: lookup db.shop.svc.cluster.local on 10.96.0.10:53: no such host")},
		{name: "refused by a Service without endpoints", symptom: answer.Restarted, cause: answer.DependencyDown, says: "the connection is refused", tale: said(1, `psql: error: connection to server at "db" (10.43.0.9), port 5432 failed: Connection refused`)},
		{name: "Node, with its stack trace", symptom: answer.Restarted, cause: answer.DependencyDown, says: "10.0.0.9:6379", tale: said(1, "Error: connect ECONNREFUSED 10.0.0.9:6379", "    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1607:16)")},
		{name: "nginx", symptom: answer.Restarted, cause: answer.DependencyDown, says: "backend, which it needs", tale: said(1, `2026/11/22 14:27:52 [emerg] 1#1: host not found in upstream "backend" in /etc/nginx/nginx.conf:2`)},
		{name: "Python, which names nobody, after it said whom it asks", symptom: answer.Restarted, cause: answer.DependencyDown, says: "could not reach mqtt-edge:1883", tale: said(1, "2026-11-27 10:25:16,481 INFO connecting to local broker tcp://mqtt-edge:1883", "Traceback (most recent call last):", `  File "/srv/mqtt.py", line 15, in __init__`, "socket.gaierror: [Errno -3] Temporary failure in name resolution")},
		{name: "Python, which names nobody, after it asked another", symptom: answer.Restarted, cause: answer.DependencyDown, says: "could not reach something that it needs", tale: said(1, "INFO connecting to tcp://mqtt-edge:1883", "INFO connected", "Traceback (most recent call last):", `  File "/srv/mqtt.py", line 15, in __init__`, "socket.gaierror: [Errno -3] Temporary failure in name resolution")},
		{name: "waited in vain", symptom: answer.Restarted, cause: answer.DependencyDown, says: "katib-mysql", tale: said(1, `Ping to Katib db failed: (2003, "Can't connect to MySQL server on 'katib-mysql' ([Errno 111] Connection refused)")`, "Failed to open db connection: timeout waiting for Katib db successfully opened")},
		{name: "DNS is away", symptom: answer.Restarted, cause: answer.DependencyDown, says: "its name is not resolved", tale: said(1, "dial tcp: lookup db on 10.96.0.10:53: read udp 10.42.0.3:4711->10.96.0.10:53: i/o timeout")},
		{name: "another reason came after it", symptom: answer.Restarted, cause: answer.AppExitError, says: "KeyError", tale: said(1, "redis: connection refused, going on without", "KeyError: 'name'")},
		{name: "long ago", symptom: answer.Restarted, cause: answer.AppExitError, tale: said(1, "dial tcp 10.0.0.9:6379: connection refused, trying again", "connected", "ready", "serving", "bad configuration")},
		{name: "a start script waits, and says for what", pod: web(ready), symptom: answer.NotReady, cause: answer.DependencyDown, says: "db:5432", tale: idle(func(l *fact.Looked) { l.Said = []string{"waiting for db:5432"} })},
		{name: "what each try came to stands beside it", pod: web(ready), symptom: answer.NotReady, cause: answer.DependencyDown, says: "db:5432", tale: idle(func(l *fact.Looked) { l.Said = []string{"waiting for db:5432", "nc: timed out"} })},
		{name: "a connection that nobody answers", pod: web(ready), symptom: answer.NotReady, cause: answer.DependencyDown, says: "192.0.2.7:5432, which has not answered yet", tale: idle(func(l *fact.Looked) { l.Dialing = []fact.Dial{{Remote: "192.0.2.7:5432", PID: 100, Command: "java"}} })},
		{name: "of another container", pod: web(ready), symptom: answer.NotReady, cause: answer.AppNotListening, tale: idle(func(l *fact.Looked) { l.Dialing = []fact.Dial{{Remote: "192.0.2.7:5432", PID: 300, Other: true}} })},
		{name: "a worker waits for work", pod: web(ready), symptom: answer.NotReady, cause: answer.AppNotListening, tale: idle(func(l *fact.Looked) { l.Said = []string{" [*] Waiting for messages. To exit press CTRL+C"} })},
		{name: "it waits, and nobody knows for what", pod: web(ready), symptom: answer.NotReady, cause: answer.AppNotListening, says: "only waits (sleep)", tale: idle(func(*fact.Looked) {})},
		{name: "nobody comes up in so short a time", pod: web(), symptom: answer.Restarted, cause: answer.AppSlowStart, says: "too little time", tale: func(s *tale) {
			s.pod.Spec.Containers[0].LivenessProbe.FailureThreshold = 1
			s.see("", 0, fact.SpecSeen{Object: s.pod})
			s.in("app", fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second})
			s.probe("app", 1, connectionRefused(fact.Liveness))
		}},
		{name: "it works meanwhile", pod: web(ready), symptom: answer.NotReady, cause: answer.CauseUnknown, tale: idle(func(l *fact.Looked) {
			l.Said, l.CPUUsed = []string{"waiting for workers"}, 2*time.Second
		})},
		{name: "an expired certificate", symptom: answer.Restarted, cause: answer.AppExitError, says: "a TLS certificate has expired", tale: said(2, "tls: failed to verify certificate: x509: certificate has expired or is not yet valid")},
		{name: "a full table of watched files", symptom: answer.Restarted, cause: answer.AppExitError, says: "max_user_watches", tale: said(1, "Error: ENOSPC: System limit for number of file watchers reached, watch '/app'")},
		{name: "126 after a while", symptom: answer.Restarted, cause: answer.AppExitError, says: "may not execute", tale: func(s *tale) { s.wait(5 * time.Second); said(126, "sh: /app/run: Permission denied")(s) }},
		{name: "139 that it gave itself", symptom: answer.Restarted, cause: answer.AppExitError, says: "a child that died of SIGSEGV", tale: said(139)},
		{name: "a library that is not there", symptom: answer.Restarted, cause: answer.AppStartFailed, says: "lacks a library", tale: said(127, "/app: error while loading shared libraries: libssl.so.1.1: cannot open shared object file")},
	} {
		if q.pod == nil {
			q.pod = web(silentProbe)
		}
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// What a container waited for is told afterwards, too, if it took long.
func TestWaitedLong(t *testing.T) {
	for _, c := range []struct {
		attempts int
		symptom  answer.SymptomKind
		cause    answer.Cause
	}{{5, answer.Healthy, answer.None}, {40, answer.NotReady, answer.DependencyDown}} {
		s := tell(t, web(ready))
		s.probe("app", c.attempts-1, connectionRefused(fact.Readiness))
		s.in("app", fact.Looked{PID: 100, State: "S", Over: time.Second, Said: []string{"nc: bad address 'db'"}})
		s.probe("app", 1, connectionRefused(fact.Readiness))
		s.probe("app", 3, good(fact.Readiness, time.Millisecond))
		a := s.ask()
		s.laws(a)
		if a.Symptoms[0].Kind != c.symptom || a.Verdicts[0].Cause != c.cause {
			t.Errorf("%d attempts: %s", c.attempts, a.Text(answer.Style{}))
		}
	}
}

// A probe's shell that finds no program says nothing of the application.
func TestProbeCommandLacks(t *testing.T) {
	one := 1
	curl := attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c curl -fsS http://localhost:3000/ || exit 1", ExitCode: &one, Output: "sh: curl: not found"})
	for _, q := range []question{
		{name: "never there", cause: answer.ProbeCommandFailed, says: "its shell does not find curl", tale: func(s *tale) { s.probe("app", 4, curl) }},
		{name: "it worked before", cause: answer.AppUnhealthy, tale: func(s *tale) {
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			s.probe("app", 4, curl)
		}},
	} {
		q.pod, q.symptom = web(ready), answer.NotReady
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// A probe's command that fails itself says nothing of the application, and one that tells of
// the application does.
func TestProbeCommandFails(t *testing.T) {
	two := 2
	says := func(output string) fact.Probed {
		return attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c jcmd 1 VM.uptime", ExitCode: &two, Output: output})
	}
	taken := "Picked up JAVA_TOOL_OPTIONS: -agentlib:jdwp=address=*:5005\nERROR: transport error 202: bind failed: Address already in use\nERROR: JDWP Transport dt_socket failed to initialize, TRANSPORT_INIT(510)\nJDWP exit error AGENT_ERROR_TRANSPORT_INIT(197): No transports initialized"
	for _, q := range []question{
		{name: "a script whose interpreter is missing", cause: answer.ProbeCommandFailed, says: "what runs it is missing in the image", tale: func(s *tale) { s.probe("app", 4, says("exec /usr/bin/pg_isready: no such file or directory")) }},
		{name: "the port that it wants for itself", cause: answer.ProbeCommandFailed, says: "fails itself, before it asks anything, which says nothing of the application: ERROR: transport error 202", tale: func(s *tale) { s.probe("app", 4, says(taken)) }},
		{name: "its arguments", cause: answer.ProbeCommandFailed, says: "nc: unrecognized option: z", tale: func(s *tale) { s.probe("app", 4, says("nc: unrecognized option: z")) }},
		{name: "it worked before", cause: answer.AppUnhealthy, tale: func(s *tale) {
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			s.probe("app", 4, says(taken))
		}},
		{name: "words of the application", cause: answer.AppUnhealthy, tale: func(s *tale) { s.probe("app", 4, says("queue: 3 invalid jobs")) }},
		{name: "a port of the application's, by its words", cause: answer.AppUnhealthy, tale: func(s *tale) { s.probe("app", 4, says("cluster: bind failed: Address already in use")) }},
	} {
		q.pod, q.symptom = web(ready), answer.NotReady
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// A supervisor that is asked says which program it does not run; who only has such a word among others says
// no such thing.
func TestProbeProgramDown(t *testing.T) {
	three := 3
	says := func(output string) func(*tale) {
		return func(s *tale) {
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			s.probe("app", 4, attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "sh -c /check", ExitCode: &three, Output: output}))
		}
	}
	for _, q := range []question{
		{name: "supervisorctl", cause: answer.ChildProcessEnded, says: "Program mailer of container app does not run, says its supervisor", tale: says("web                              RUNNING   pid 12, uptime 0:00:11\nmailer                           EXITED    Nov 24 07:16 PM\n")},
		{name: "sv", cause: answer.ChildProcessEnded, says: "Program mailer of container app does not run", tale: says("down: mailer: 5s, normally up")},
		{name: "an old psql", cause: answer.AppUnhealthy, tale: says("psql: FATAL:  the database system is shutting down")},
		{name: "a logger's level", cause: answer.AppUnhealthy, tale: says("10:00:00 FATAL no quorum")},
		{name: "a list of checks", cause: answer.AppUnhealthy, tale: says("down: cache: no answer")},
	} {
		q.pod, q.symptom = web(ready), answer.NotReady
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// A failure of another is told by the words of who asked it.
func TestFailedByAnother(t *testing.T) {
	answers := func(said string) func(*tale) {
		return func(s *tale) {
			s.probe("app", 2, status(fact.Readiness, 500, "Internal Server Error"))
			s.in("app", fact.Looked{PID: 100, State: "S", Over: time.Second, Said: []string{"[ERROR] in app: Exception on / [GET]", said}})
			s.probe("app", 2, status(fact.Readiness, 500, "Internal Server Error"))
		}
	}
	for _, q := range []question{
		{name: "with a failure", cause: answer.DependencyDown, says: "because of stock:8000, which it needs (it answers with an error)", tale: answers("requests.exceptions.HTTPError: 500 Server Error: INTERNAL SERVER ERROR for url: http://stock:8000/")},
		{name: "at a socket", cause: answer.DependencyDown, says: "cannot reach socket /run/app/app.sock, which it needs", tale: answers("2026/11/23 19:47:57 [error] 6#6: *5 connect() to unix:/run/app/app.sock failed (111: Connection refused) while connecting to upstream, upstream: \"http://unix:/run/app/app.sock:/\"")},
		{name: "no answer", cause: answer.DependencyDown, says: "because it gets no answer in time from 10.43.0.2:8000, which it needs: [error] upstream timed out", tale: answers("2026/11/23 19:47:57 [error] 6#6: *5 upstream timed out (110: Connection timed out) while reading response header from upstream, client: 10.42.0.1, server: , request: \"GET / HTTP/1.1\", upstream: \"http://10.43.0.2:8000/\"")},
		{name: "too late", cause: answer.DependencyDown, says: "because of stock, which it needs (it does not answer in time)", tale: answers("requests.exceptions.ReadTimeout: HTTPConnectionPool(host='stock', port=8000): Read timed out. (read timeout=2)")},
		{name: "who, it does not say", cause: answer.AppUnhealthy, says: "HTTP Error 500", tale: answers("urllib.error.HTTPError: HTTP Error 500: INTERNAL SERVER ERROR")},
		{name: "its own", cause: answer.AppUnhealthy, says: "KeyError", tale: answers("KeyError: 'price'")},
	} {
		q.pod, q.symptom = web(ready), answer.NotReady
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// Exec probes that ask something else than the container.
func TestProbeAsksAnother(t *testing.T) {
	asks := func(code *int, target, output string) func(*tale) {
		return func(s *tale) {
			s.probe("app", 4, attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: target, ExitCode: code, Output: output, Timeout: code == nil}))
		}
	}
	one := 1
	for _, q := range []question{
		{name: "refused", pod: web(ready), symptom: answer.NotReady, cause: answer.DependencyDown, says: "asks api, and not container app itself: the connection is refused", tale: asks(&one, "curl -f http://api/health", "curl: (7) Failed to connect to api port 80: Connection refused")},
		{name: "late", pod: web(ready), symptom: answer.NotReady, cause: answer.DependencyDown, tale: asks(nil, "wget -q -O- http://api/health", "")},
		{name: "a Service by its variable", pod: web(ready), symptom: answer.NotReady, cause: answer.DependencyDown, says: "asks shop-db", tale: asks(&one, "sh -c wget http://$SHOP_DB_SERVICE_HOST:8080/", "")},
		{name: "a database by its client", pod: web(ready), symptom: answer.NotReady, cause: answer.DependencyDown, says: "asks db", tale: asks(&one, "pg_isready -U app -h db", "db:5432 - no response")},
		{name: "its own database", pod: web(ready), symptom: answer.NotReady, cause: answer.AppUnhealthy, tale: asks(&one, "pg_isready -h 127.0.0.1", "127.0.0.1:5432 - no response")},
		{name: "itself", pod: web(ready), symptom: answer.NotReady, cause: answer.AppUnhealthy, tale: asks(&one, "curl -f http://localhost:8080/health", "500")},
		{name: "nobody by name", pod: web(ready), symptom: answer.NotReady, cause: answer.AppUnhealthy, tale: asks(&one, "check --quick", "no")},
	} {
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// Connections that are taken and closed without a word, and who closes them.
func TestBrokenOff(t *testing.T) {
	reset := attempt(fact.Readiness, fact.Evidence{Connect: time.Millisecond, Errno: "ECONNRESET"})
	for _, q := range []question{
		{name: "once is nothing", pod: web(ready), symptom: answer.NotReady, cause: answer.CauseUnknown, tale: func(s *tale) { s.probe("app", 1, reset) }},
		{name: "always", pod: web(ready), symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "closes it without an answer; it has never answered well", tale: func(s *tale) { s.probe("app", 4, reset) }},
		{name: "in the middle of the answer", pod: web(ready), symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "in the middle of its answer", tale: func(s *tale) {
			s.probe("app", 4, fact.Probed{Probe: fact.Readiness, Verdict: fact.Unknown, Message: "unexpected EOF", Evidence: &fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.1:8080/"}})
		}},
		{name: "a worker dies of the question", pod: web(ready), symptom: answer.NotReady, cause: answer.ChildProcessEnded, says: "died of SIGSEGV", tale: func(s *tale) {
			s.probe("app", 3, good(fact.Readiness, time.Millisecond))
			s.in("app", reset)
			s.in("app", fact.ProcessEnded{PID: 117, Command: "worker", Signal: 11})
			s.wait(2 * time.Second)
			s.probe("app", 3, reset)
		}},
	} {
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// Ends by SIGSYS and by a limit that only another run shows.
func TestForbidden(t *testing.T) {
	profile := "profiles/strict.json"
	strict := func(c *v1.Container) {
		c.SecurityContext = &v1.SecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: &profile}}
	}
	sigsys := fact.Exited{ExitCode: 159, Signal: 31, StatusKnown: true, OOMKnown: true}
	killed := fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true, ByKernel: true}
	for _, q := range []question{
		{name: "the pod's own profile", pod: web(silentProbe, strict), symptom: answer.Restarted, cause: answer.SecurityRefused, says: profile, tale: func(s *tale) { s.exit("app", sigsys) }},
		{name: "a filter of the application's", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppCrashSignal, says: "the application set itself", tale: func(s *tale) { s.exit("app", sigsys) }},
		{name: "a limit of CPU time that a later run shows", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppCrashSignal, says: "RLIMIT_CPU", tale: func(s *tale) {
			s.exit("app", killed)
			s.wait(time.Minute)
			s.in("app", fact.Looked{PID: 200, MaxCPU: 2 * time.Second})
		}},
	} {
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// A seccomp profile that the runtime's own process does not outlive.
func TestProfileStopsRuntime(t *testing.T) {
	profile := "strict.json"
	s := tell(t, web(silentProbe, func(c *v1.Container) {
		c.SecurityContext = &v1.SecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: &profile}}
	}), func(s *tale) {
		s.fails = fact.StartFailed{Reason: "RunContainerError", Message: "OCI runtime start failed: /usr/bin/runc did not terminate successfully: exit status 1: cannot start a container that has stopped\n"}
	})
	a := s.ask()
	if v := a.Verdicts[0]; v.Cause != answer.SecurityRefused || v.Rule != "security-refused" {
		t.Error(a.Text(answer.Style{}))
	}
}

// An image that is there, and is asked for all the same.
func TestImageOnNode(t *testing.T) {
	s := tell(t, web(silentProbe), func(s *tale) {
		s.fails = fact.ImageFailed{Image: "app:1", Reason: "ErrImagePull", Message: "dial tcp 192.0.2.1:443: i/o timeout", OnNode: true}
	})
	a := s.ask()
	v := a.Verdicts[0]
	if v.Cause != answer.ImageRegistryUnreachable || len(v.Fixes) == 0 || v.Fixes[0].Text != "set imagePullPolicy to IfNotPresent, to use the image that is on the node" {
		t.Error(a.Text(answer.Style{}))
	}
}

// FuzzDependency feeds lines of logs: what is found of a place is part of the line.
func FuzzDependency(f *testing.F) {
	for _, line := range []string{"nc: bad address 'db'", "getaddrinfo EAI_AGAIN db", "curl: (7) Failed to connect to db port 80 after 0 ms: Connection refused", "java.net.UnknownHostException: db", ""} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		n, ok := dependency(line)
		if !ok && n != (needed{}) {
			t.Fatalf("%+v of no dependency", n)
		}
		if len(n.place) > len(line) {
			t.Fatalf("place %q of %q", n.place, line)
		}
		_ = n.fixes(&inquiry{History: &history.History{}})
	})
}

// A node that can keep track of no more connections drops the packets of new ones.
func TestTableFull(t *testing.T) {
	late := attempt(fact.Readiness, fact.Evidence{Timeout: true})
	s := tell(t, web(ready))
	s.probe("app", 2, good(fact.Readiness, time.Millisecond))
	s.probe("app", 3, late)
	s.node = append(s.node, fact.Fact{ID: 1 << 20, At: s.now, Seen: s.now, Body: fact.PacketsDropped{Message: "nf_conntrack: nf_conntrack: table full, dropping packet"}})
	a := s.ask()
	s.laws(a)
	if v := a.Verdicts[0]; v.Cause != answer.NetworkBlocked || v.Rule != "network-blocked" {
		t.Error(a.Text(answer.Style{}))
	}
	s.node[0].At = s.now.Add(-time.Hour)
	if v := s.ask().Verdicts[0]; v.Rule == "network-blocked" {
		t.Error("an hour before is not meanwhile")
	}
}

// What somebody sees once the probe succeeds again tells nothing of why it failed.
func TestALookAfterwards(t *testing.T) {
	s := tell(t, web(ready))
	s.probe("app", 1, connectionRefused(fact.Readiness))
	s.in("app", fact.Looked{PID: 100, State: "S", Processes: 2, Over: 2 * time.Second, Commands: []string{"sleep"}, Said: []string{"waiting for db:5432"}})
	s.probe("app", 34, connectionRefused(fact.Readiness))
	s.in("app", good(fact.Readiness, time.Millisecond))
	s.in("app", fact.Looked{PID: 100, State: "S", Processes: 1, Over: 2 * time.Second, Listeners: []fact.Listener{{Address: "[::]:8080", PID: 100, Command: "httpd"}}})
	a := Explain(history.New(s.key, s.facts, s.node, s.near), Options{Now: s.now})
	if a.Symptoms[0].Kind != answer.NotReady || a.Verdicts[0].Cause != answer.DependencyDown {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
}
