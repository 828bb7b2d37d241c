package why

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// said is a look that reads the end of a log, of which each line is so old.
func (s *tale) said(ago []time.Duration, lines ...string) {
	look := fact.Looked{PID: 100, State: "S", Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100}}, Said: lines}
	for _, d := range ago {
		look.SaidAt = append(look.SaidAt, s.now.Add(-d))
	}
	s.in("app", look)
}

// Words are quoted that belong to the time of the failure, of any level where they are of
// now; what was said before the last success explains nothing.
func TestWordsOfTheFailure(t *testing.T) {
	refused := `2026/11/23 09:45:47 [error] 6#6: *1 connect() failed (111: Connection refused) while connecting to upstream, upstream: "http://10.43.13.137:8000/"`
	const s = time.Second
	fails := func(b fact.Probed, ago []time.Duration, lines ...string) func(*tale) {
		return func(t *tale) {
			t.probe("app", 2, good(fact.Readiness, time.Millisecond))
			t.probe("app", 3, b)
			t.said(ago, lines...)
			t.probe("app", 1, b)
		}
	}
	never := func(b fact.Probed, ago []time.Duration, lines ...string) func(*tale) {
		return func(t *tale) {
			t.probe("app", 3, b)
			t.said(ago, lines...)
			t.probe("app", 1, b)
		}
	}
	for _, q := range []question{
		{name: "of before the last success", says: "after it had answered well twice. So", tale: fails(status(fact.Readiness, 500, "oops"), []time.Duration{20 * s, 15 * s}, refused, refused)},
		{name: "of its own pod, where nobody else runs", cause: answer.DependencyDown, says: "asks port 5672 of its own pod (localhost:5672), in which nothing else runs and nobody listens there", tale: never(status(fact.Readiness, 503, "no"), []time.Duration{2 * s}, "ERROR dial tcp localhost:5672: connection refused")},
		{name: "of the failure", cause: answer.DependencyDown, says: "10.43.13.137:8000", tale: fails(status(fact.Readiness, 502, "Bad Gateway"), []time.Duration{20 * s, 3 * s}, "starting", refused)},
		{name: "nobody knows of when", cause: answer.DependencyDown, says: "10.43.13.137:8000", tale: fails(status(fact.Readiness, 502, "Bad Gateway"), nil, refused)},
		{name: "a warning of now", says: "Its log says: etcdserver: /health error due to alarm:NOSPACE.", tale: fails(status(fact.Readiness, 503, `{"health":"false"}`), []time.Duration{3 * s, 2 * s}, "2026-11-23 09:31:13.618 W | etcdserver: /health error due to alarm:NOSPACE", "2026-11-23 09:31:14.000 I | etcdserver: compacted revision 5")},
		{name: "a warning of the start", says: "it has never answered well. So", tale: never(status(fact.Readiness, 503, "no"), []time.Duration{40 * s}, "WARNING: no cache is configured")},
		{name: "an error, and the requests after it", says: "Its log says: GET https://payments:8443/health failed: Error: certificate has expired.", tale: never(status(fact.Readiness, 502, "bad gateway"), []time.Duration{3 * s, 3 * s, 3 * s, 3 * s}, "GET https://payments:8443/health failed: Error: certificate has expired", "    at TLSSocket.onConnectSecure (node:_tls_wrap:1540:34) {", "  code: 'CERT_HAS_EXPIRED'", "}")},
		{name: "the newest of its errors", says: "Its log says: [error] upstream sent too big header while reading response header from upstream.", tale: never(status(fact.Readiness, 502, "bad gateway"), []time.Duration{9 * s, 2 * s}, refused, "2026/11/23 09:45:55 [error] 6#6: *3 upstream sent too big header while reading response header from upstream")},
		{name: "a connection that breaks off", says: "Its log says: ERROR panic serving 10.42.0.1: runtime error: index out of range.", tale: fails(attempt(fact.Readiness, fact.Evidence{Connect: s, Error: "EOF"}), []time.Duration{2 * s}, "2026/11/23 10:00:00 ERROR panic serving 10.42.0.1: runtime error: index out of range")},
		{name: "what it says at each request that it breaks off", says: "Its log says: -- unavailable modifier requested: 0 --.", tale: never(attempt(fact.Readiness, fact.Evidence{Connect: s, Error: "EOF"}), []time.Duration{4 * s, 2 * s}, "-- unavailable modifier requested: 0 --", "-- unavailable modifier requested: 0 --")},
		{name: "an error of now, beside a 403", says: "Symbolic link not allowed", tale: never(status(fact.Readiness, 403, "Forbidden"), []time.Duration{2 * s}, "[Tue Nov 24 02:08:45.673293 2026] [core:error] [pid 7:tid 22] [client 10.42.0.1:52260] AH00032: Symbolic link not allowed or link target not accessible: /var/www/shop/index.html")},
		{name: "an error of the start, beside a 403", says: "it has never answered well. So", tale: never(status(fact.Readiness, 403, "Forbidden"), []time.Duration{50 * s}, "ERROR the cache is cold")},
		{name: "an error of now, beside a 404 of its root", says: "Primary script unknown", tale: never(status(fact.Readiness, 404, "File not found."), []time.Duration{2 * s}, `2026/11/24 02:36:04 [error] 7#7: *2 FastCGI sent in stderr: "Primary script unknown" while reading response header from upstream, client: 10.42.0.1, server: , request: "GET / HTTP/1.1", upstream: "fastcgi://127.0.0.1:9000", host: "10.42.0.30:8080"`)},
		{name: "the file of a path that is not there, beside a 404", cause: answer.ProbeWrongPath, tale: never(status(fact.Readiness, 404, "Not Found"), []time.Duration{2 * s}, `2026/11/24 02:36:04 [error] 7#7: *2 open() "/usr/share/nginx/html/healthz" failed (2: No such file or directory), client: 10.42.0.1`)},
		{name: "what it says of a signal, right before", says: "The first that its log says after it was last well: INFO: Received TSTP, no longer accepting new work.", tale: fails(status(fact.Readiness, 503, "worker is quiet"), []time.Duration{9 * s, 7 * s, 6500 * time.Millisecond}, "pid=1 tid=yh INFO: Booting", "pid=1 tid=yh INFO: Received TSTP, no longer accepting new work", "pid=1 tid=yh INFO: Terminating quiet workers")},
		{name: "what it says at each attempt, and calls no error", says: "What its log says at each attempt: health: waiting for prices, have 90 of 400.", tale: never(status(fact.Readiness, 503, `{"status":"DOWN"}`), []time.Duration{5990 * time.Millisecond, 4990 * time.Millisecond, 3990 * time.Millisecond, 1990 * time.Millisecond}, "health: waiting for prices, have 10 of 400", "loaded the currencies", "health: waiting for prices, have 50 of 400", "health: waiting for prices, have 90 of 400")},
		{name: "what it says at each attempt, and between them", says: "it has never answered well. So", tale: never(status(fact.Readiness, 503, "no"), []time.Duration{5990 * time.Millisecond, 4990 * time.Millisecond, 3990 * time.Millisecond, 1990 * time.Millisecond}, "tick 1", "tick 2", "tick 3", "tick 4")},
		{name: "a handshake that it gives up for another", cause: answer.DependencyDown, says: "step-ca", tale: never(attempt(fact.Readiness, fact.Evidence{Connect: s, Error: "remote error: tls: internal error"}), []time.Duration{3 * s}, `{"level":"error","ts":1764.1,"logger":"tls.obtain","msg":"could not get certificate from issuer","error":"dial tcp: lookup step-ca on 10.43.0.10:53: no such host"}`)},
		{name: "a handshake that it gives up", says: "gives up the handshake", tale: never(attempt(fact.Readiness, fact.Evidence{Connect: s, Error: "remote error: tls: handshake failure"}), nil)},
		{name: "a limit, at which connections break off", cause: answer.AppOverloaded, says: "12 worker_connections are not enough", tale: fails(attempt(fact.Readiness, fact.Evidence{Connect: s, Error: "EOF"}), []time.Duration{2 * s}, "2026/11/23 10:29:31 [alert] 6#6: 12 worker_connections are not enough")},
		{name: "a limit of before", says: "closes it without an answer", tale: fails(attempt(fact.Readiness, fact.Evidence{Connect: s, Error: "EOF"}), []time.Duration{60 * s}, "2026/11/23 10:29:31 [alert] 6#6: 12 worker_connections are not enough")},
	} {
		q.pod, q.symptom = web(ready), answer.NotReady
		if q.cause == "" {
			q.cause = answer.AppUnhealthy
		}
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}
