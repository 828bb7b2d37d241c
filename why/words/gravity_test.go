package words

import (
	"strings"
	"testing"
)

// What the log of a server that goes on says of what fails, in the forms in which servers,
// languages and loggers really say it, whatever they say of requests and of themselves after it.
func TestTrouble(t *testing.T) {
	for name, test := range map[string]struct{ log, want string }{
		"nginx":               {"2026/11/23 10:29:31 [alert] 6#6: *5 12 worker_connections are not enough while connecting to upstream, client: 10.42.0.1, server: , request: \"GET / HTTP/1.1\"\n10.42.0.1 - - [23/Nov/2026:10:29:33 +0000] \"GET / HTTP/1.1\" 200 2 \"-\" \"kube-probe/1.36\"", "[alert] 12 worker_connections are not enough while connecting to upstream"},
		"nginx, a warning":    {"2026/11/23 10:29:31 [warn] 6#6: 1024 worker_connections exceed open file resource limit: 256\n2026/11/23 10:29:31 [notice] 6#6: start worker process 7", "[warn] 1024 worker_connections exceed open file resource limit: 256"},
		"Apache":              {"[Mon Nov 23 01:53:26.123456 2026] [mpm_prefork:error] [pid 1] AH00161: server reached MaxRequestWorkers setting, consider raising the MaxRequestWorkers setting\n10.42.0.1 - - [23/Nov/2026:01:53:26 +0000] \"GET / HTTP/1.1\" 200 5", "[mpm_prefork:error] [pid 1] AH00161: server reached MaxRequestWorkers setting, consider raising the MaxRequestWorkers setting"},
		"etcd 3.4":            {"2026-11-23 09:31:13.618 W | etcdserver: /health error due to alarm:NOSPACE\n2026-11-23 09:31:14.000 I | etcdserver: compacted revision 5", "etcdserver: /health error due to alarm:NOSPACE"},
		"etcd 3.5":            {`{"level":"warn","ts":"2026-11-23T09:31:13.618Z","caller":"etcdhttp/metrics.go:79","msg":"/health error due to alarm","alarm":"NOSPACE"}` + "\n" + `{"level":"info","ts":"2026-11-23T09:31:14Z","msg":"compacted"}`, "/health error due to alarm: NOSPACE"},
		"etcd's peers":        {"2026-11-23 11:36:49.788084 W | rafthttp: health check for peer d51beb6d920fec27 could not connect: dial tcp: lookup subject-1.subject on 10.43.0.10:53: server misbehaving\nraft2026/11/23 11:36:49 INFO: c918224843a046dc became candidate at term 37", "rafthttp: health check for peer d51beb6d920fec27 could not connect: dial tcp: lookup subject-1.subject on 10.43.0.10:53: server misbehaving"},
		"Node, console":       {"GET https://payments:8443/health failed: Error: certificate has expired\n    at TLSSocket.onConnectSecure (node:_tls_wrap:1540:34)\n    at TLSSocket.emit (node:events:517:28) {\n  code: 'CERT_HAS_EXPIRED'\n}", "GET https://payments:8443/health failed: Error: certificate has expired"},
		"Node, an object":     {"GET / [Error: EMFILE: too many open files, open '/srv/server.js'] {\n  errno: -24,\n  code: 'EMFILE',\n  syscall: 'open',\n  path: '/srv/server.js'\n}", "GET / [Error: EMFILE: too many open files, open '/srv/server.js'] {"},
		"Node, pino":          {`{"level":50,"time":1795429539000,"pid":1,"hostname":"a","msg":"query failed","err":{"type":"Error","message":"connection terminated"}}` + "\n" + `{"level":30,"time":1795429539001,"msg":"request completed"}`, "query failed: connection terminated"},
		"Java, Spring":        {"2026-11-23 10:00:00.123 ERROR 1 --- [nio-8080-exec-1] o.h.engine.jdbc.spi.SqlExceptionHelper   : FATAL: sorry, too many clients already\n2026-11-23 10:00:00.124  INFO 1 --- [main] c.example.App : request", "ERROR FATAL: sorry, too many clients already"},
		"Java, logback":       {"10:00:00.123 [main] WARN  com.zaxxer.hikari.pool.PoolBase - HikariPool-1 - Failed to validate connection\n10:00:01.000 [main] INFO  c.e.App - up", "[main] WARN  com.zaxxer.hikari.pool.PoolBase - HikariPool-1 - Failed to validate connection"},
		"Java, util":          {"23-Nov-2026 01:53:26.123 SEVERE [main] org.apache.catalina.core.StandardService.initInternal Failed to initialize connector\n23-Nov-2026 01:53:26.200 INFO [main] org.apache.catalina.startup.Catalina.start Server startup", "SEVERE [main] org.apache.catalina.core.StandardService.initInternal Failed to initialize connector"},
		"gunicorn":            {"[2026-11-23 10:00:00 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:7)\n[2026-11-23 10:00:01 +0000] [1] [INFO] Booting worker with pid: 9", "[CRITICAL] WORKER TIMEOUT (pid:7)"},
		"Django":              {"Internal Server Error: /healthz\nTraceback (most recent call last):\n  File \"/srv/a.py\", line 3, in get\n    cur.execute(q)\ndjango.db.utils.OperationalError: FATAL: the database system is in recovery mode\n10.42.0.1 - - [23/Nov/2026] \"GET /healthz HTTP/1.1\" 500 145", "django.db.utils.OperationalError: FATAL: the database system is in recovery mode"},
		"Celery":              {"[2026-11-23 09:37:14,279: ERROR/MainProcess] consumer: Cannot connect to redis://redis-master:6379/0: Error -3 connecting to redis-master:6379. Temporary failure in name resolution..\nTrying again in 2.00 seconds... (1/100)", "ERROR consumer: Cannot connect to redis://redis-master:6379/0: Error -3 connecting to redis-master:6379. Temporary failure in name resolution.."},
		"Ruby":                {"<internal:/usr/lib/ruby/kernel_require.rb>:85:in `require': cannot load such file -- pg (LoadError)\n\tfrom /srv/config.ru:in `new'\n\tfrom /srv/config.ru:in `<main>'", "cannot load such file -- pg (LoadError)"},
		"Ruby's logger":       {"E, [2026-11-23T10:00:00.123456 #1] ERROR -- : PG::ConnectionBad: connection is closed\nI, [2026-11-23T10:00:01.1 #1]  INFO -- : done", "ERROR: PG::ConnectionBad: connection is closed"},
		"zap, a word":         {`{"level":"error","ts":1795444311.35,"logger":"http.log.error","msg":"EOF","request":{"method":"GET"},"status":502,"err_id":"abc","err_trace":"reverseproxy.statusError (reverseproxy.go:1299)"}`, "EOF: reverseproxy.statusError (reverseproxy.go:1299)"},
		"zap, console":        {"2026-11-23T10:00:00.000Z\tERROR\tcontroller/main.go:12\tReconciler error\t{\"error\": \"x509: certificate has expired or is not yet valid\"}\n2026-11-23T10:00:01Z\tINFO\tcontroller\tStarting", "ERROR\tcontroller/main.go:12\tReconciler error: x509: certificate has expired or is not yet valid"},
		"Caddy's access log":  {`{"level":"error","logger":"http.log.error","msg":"no upstreams available","status":503}` + "\n" + `{"level":"error","logger":"http.log.access","msg":"handled request","status":503}`, "no upstreams available"},
		"pino-http":           {`{"level":50,"msg":"no quorum"}` + "\n" + `{"level":50,"req":{"method":"GET","url":"/healthz"},"res":{"statusCode":500},"err":{"message":"failed with status code 500"},"msg":"request errored"}`, "no quorum"},
		"pino-http's error":   {`{"level":50,"req":{"method":"GET"},"err":{"type":"Error","message":"connect ECONNREFUSED 10.0.0.7:5432"},"msg":"request errored"}`, "request errored: connect ECONNREFUSED 10.0.0.7:5432"},
		"logrus":              {`time="2026-11-23T10:00:00Z" level=warning msg="upstream slow" error="context deadline exceeded"` + "\n" + `time="2026-11-23T10:00:01Z" level=info msg=served`, "upstream slow: context deadline exceeded"},
		"slog":                {`time=2026-11-23T10:00:00Z level=WARN msg="cache lost" err="EOF"` + "\n" + `time=2026-11-23T10:00:01Z level=INFO msg=served`, "cache lost: EOF"},
		"klog":                {"E1123 10:00:00.000000       1 leaderelection.go:330] error retrieving resource lock: Unauthorized\nI1123 10:00:01.000000       1 main.go:3] healthy", "error retrieving resource lock: Unauthorized"},
		"PostgreSQL":          {"2026-11-23 10:00:00.123 UTC [7] ERROR:  cannot execute INSERT in a read-only transaction\n2026-11-23 10:00:00.123 UTC [7] STATEMENT:  insert into beat values (now())\n2026-11-23 10:00:01 UTC [1] LOG:  checkpoint complete", "ERROR:  cannot execute INSERT in a read-only transaction"},
		"MariaDB":             {"2026-11-23 10:00:00 5 [Warning] Aborted connection 5 to db: 'shop' user: 'shop' host: '10.42.0.3' (Got timeout reading communication packets)\n2026-11-23 10:00:01 0 [Note] ready", "[Warning] Aborted connection 5 to db: 'shop' user: 'shop' host: '10.42.0.3' (Got timeout reading communication packets)"},
		"Redis":               {"1:M 23 Nov 2026 01:53:26.123 # Error opening /data/temp-7.rdb: Permission denied\n1:M 23 Nov 2026 01:53:27.123 * 1 changes in 3600 seconds. Saving...", "Error opening /data/temp-7.rdb: Permission denied"},
		"RabbitMQ":            {"2026-11-23 11:35:06.189235+00:00 [warning] <0.400.0> disk resource limit alarm set on node rabbit@queue.\n2026-11-23 11:35:24.974518+00:00 [info] <0.700.0> accepting AMQP connection <0.700.0>", "[warning] disk resource limit alarm set on node rabbit@queue."},
		"HAProxy":             {"[ALERT]    (7) : backend 'app' has no server available!\nbackend app has no server available!\n10.42.0.1:38952 [23/Nov/2026:11:41:27.341] web app/<NOSRV> 0/-1/-1/-1/0 503 217 - - SC-- 1/1/0/0/0 0/0 \"GET /api/health HTTP/1.1\"", "[ALERT]    (7) : backend 'app' has no server available!"},
		"php-fpm":             {"[23-Nov-2026 10:00:00] WARNING: [pool www] server reached pm.max_children setting (1), consider raising it\n[23-Nov-2026 10:00:01] NOTICE: ready to handle connections", "WARNING: [pool www] server reached pm.max_children setting (1), consider raising it"},
		"Envoy":               {"[2026-11-23 10:00:00.000][1][warning][config] [source/common/config/grpc_stream.h:191] StreamListeners gRPC config stream to xds closed: 14, connection refused\n[2026-11-23 10:00:01.000][1][info][main] all clusters initialized", "[warning] StreamListeners gRPC config stream to xds closed: 14, connection refused"},
		"Squid":               {"2026/11/23 10:25:39| WARNING: Cannot write log file: /var/log/squid/cache.log\n2026/11/23 10:25:39| Accepting HTTP Socket connections", "WARNING: Cannot write log file: /var/log/squid/cache.log"},
		"syslog":              {"Nov 23 01:53:26 web systemd[1]: web.service: Failed with result 'exit-code'.\nNov 23 01:53:27 web systemd[1]: Started Daily Cleanup.", ""},
		"zerolog, Serilog":    {"10:00AM INF up\n10:00AM ERR no quorum\n10:01AM INF served", "10:00AM ERR no quorum"},
		"Android":             {"E/Gateway: no route\nI/Gateway: up", "E/Gateway: no route"},
		"a mark":              {"[!] no entropy\n[ ] served", "[!] no entropy"},
		"a warning's letter":  {"2026-11-23T01:53:26Z W! [outputs] buffer is full\n2026-11-23T01:53:27Z I! served", "W! [outputs] buffer is full"},
		"a thing of the past": {"DeprecationWarning: WARNING: the flag --logger is deprecated\nserving", ""},
		"sshd":                {"Connection closed by 10.42.0.1 port 48600\nAuthentication refused: bad ownership or modes for directory /home/feed/.ssh\nConnection closed by authenticating user feed 10.42.0.9 port 4711 [preauth]\nkex_exchange_identification: Connection closed by remote host\nConnection closed by 10.42.0.1 port 48608", "Authentication refused: bad ownership or modes for directory /home/feed/.ssh"},
		"all is well":         {"starting\n10.42.0.1 - - \"GET /error HTTP/1.1\" 200", ""},
	} {
		if got := Trouble(strings.Split(test.log, "\n"), true); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
