package words

import (
	"strings"
	"testing"

	"whylet.dev/whylet/knowledge"
)

// What stands around the words that matter goes.
func TestTrimmed(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Start(`failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "x": not found`), `exec: "x": not found`},
		{Start("the moon is full"), "the moon is full"},
		{Scheduler("0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes"), "0/1 nodes are available: 1 Insufficient cpu."},
		{Hook(`Exec lifecycle hook ([x]) for Container "app" failed - error: command 'x' exited with 1: no, message: ""`), "command 'x' exited with 1: no"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestUnreached(t *testing.T) {
	for line, want := range map[string]string{
		"dial tcp: lookup db on 10.96.0.10:53: no such host":                             "db",
		`connection to server at "db" (10.43.0.9), port 5432 failed: Connection refused`: "db",
		"curl: (7) Failed to connect to db port 80 after 2 ms: Connection refused":       "db:80",

		`HTTPConnectionPool(host='stock', port=8000): Max retries exceeded with url: / (Caused by NewConnectionError("[Errno 111] Connection refused"))`: "stock",

		`Get "http://stock:8000/v1": dial tcp: lookup stock on 10.96.0.10:53: no such host`:                "stock:8000",
		"ERROR 2002 (HY000): Can't connect to server on 'db' (115)":                                        "db",
		"consumer: Cannot connect to amqp://guest:**@queue:5672//: [Errno 111] Connection refused.":        "queue:5672",
		"org.postgresql.util.PSQLException: Connection to db:5432 refused. Check that the port is correct": "db:5432",

		"[ALERT] (1) : config : [/srv/haproxy.cfg:10] : 'server app/app1' : could not resolve address 'storefront'.": "storefront",
		"2026/11/23 02:00:00 main.go:42: dial tcp: lookup db on 10.96.0.10:53: no such host":                         "db",
		"(app/client.py:88) connecting to https://db.example.py:443 failed: Connection refused":                      "db.example.py:443",

		`orders cannot be read: connection to server at "db" (10.43.202.87), port 5432 failed: timeout expired`: "db",
		"[1] LOG S-0x5560f60e9c30: shop/shop@10.43.222.82:5432 closing because: connect failed (age=0s)":        "10.43.222.82:5432",

		"redis: connection refused": "",
	} {
		if _, where, ok := Unreached(line); !ok || where != want {
			t.Errorf("%q: %q, want %q", line, where, want)
		}
	}
	if _, where, ok := Unreached(`cannot bind to ldap://ldap:389: {'result': -1, 'desc': "Can't contact LDAP server", 'errno': 11}`); !ok || where != "ldap:389" {
		t.Errorf("%v, %q", ok, where)
	}
	if _, _, ok := Unreached("all is well"); ok {
		t.Error("nothing was said")
	}
}

// A failure of another is told from a server's own, which its log has as well.
func TestFailedBy(t *testing.T) {
	for line, want := range map[string]string{
		"urllib.error.HTTPError: HTTP Error 500: INTERNAL SERVER ERROR":                                    "",
		"requests.exceptions.HTTPError: 500 Server Error: INTERNAL SERVER ERROR for url: http://stock:80/": "stock:80",
		`upstream timed out (110: Connection timed out) while reading response header from upstream, client: 10.42.0.1, server: , request: "GET / HTTP/1.1", upstream: "http://10.43.0.9:8000/", host: "10.42.0.3:8080"`: "10.43.0.9:8000",
		"write tcp 10.42.0.9:56264->10.43.70.233:9000: write: connection reset by peer":                             "10.43.70.233:9000",
		"ERROR in app: database check failed: server closed the connection unexpectedly":                            "",
		"redis.exceptions.ConnectionError: Error while reading from queue:6379 : (104, 'Connection reset by peer')": "queue:6379",
	} {
		if _, where, ok := FailedBy(line); !ok || where != want {
			t.Errorf("%q: %v, %q, want %q", line, ok, where, want)
		}
	}
	for _, line := range []string{
		`10.42.0.1 - - [23/Nov/2026] "GET / HTTP/1.1" 500 265`, "Completed 500 Internal Server Error in 2ms", "request completed statusCode=500", "[ERROR] Exception on / [GET]",
		"recv() failed (104: Connection reset by peer) while reading client request headers", "json: unexpected EOF", "java.io.IOException: Broken pipe while writing response",
	} {
		if what, _, ok := FailedBy(line); ok {
			t.Errorf("%q: %s", line, what)
		}
	}
}

// Texts of others may be anything.
func FuzzWords(f *testing.F) {
	for _, e := range knowledge.Embedded().Entries() {
		for _, s := range e.Samples {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, where, ok := Unreached(text)
		if where != "" && (!ok || !strings.Contains(text, strings.Split(where, ":")[0])) {
			t.Errorf("%q is not in %q", where, text)
		}
		_ = NoFork(text)
		if !strings.Contains(text, Start(text)) || !strings.HasPrefix(text, Scheduler(text)) || !strings.Contains(text, Hook(text)) {
			t.Errorf("something was added to %q", text)
		}
	})
}

// What a line says of one thing is read from it, and nothing from lines that are alike.
func TestReads(t *testing.T) {
	for name, c := range map[string]struct {
		reads func(string) string
		want  map[string]string
	}{
		"a place is whom a line speaks of, and not who asked": {Place, map[string]string{
			"(gw_backend.c.274) establishing connection failed: socket: tcp:10.43.135.3:8000: Connection refused":                      "10.43.135.3:8000",
			"(70007)The timeout specified has expired: [client 10.42.0.1:45340] AH00878: read response failed from 10.43.108.135:8009": "10.43.108.135:8009",
			"connect() failed, client: 10.42.0.1, upstream: \"http://10.43.60.105:80/\"":                                               "10.43.60.105:80",
			"redis client db:6379 gave up": "db:6379",
			`[ERR] Error trying to connect to route (attempt 1): lookup for host "nats-1.nats": lookup nats-1.nats on 10.43.0.10:53: server misbehaving`: "nats-1.nats",
		}},
		"the socket": {Socket, map[string]string{
			"Error: listen EADDRINUSE: address already in use /run/app/app.sock":   "/run/app/app.sock",
			"listen unix /run/app.sock: bind: address already in use":              "/run/app.sock",
			"bind() to unix:/run/app/app.sock failed (98: Address already in use)": "/run/app/app.sock",
			"connect() failed, upstream: \"http://unix:/run/app/app.sock:/\"":      "/run/app/app.sock",
			"dial unix:///run/app/app.sock.":                                       "/run/app/app.sock",
			"java.net.BindException: Address already in use: /0.0.0.0:8080":        "",
			"Error: listen EADDRINUSE: address already in use :::8080":             "",
			"listen tcp :80: bind: address already in use":                         "",
			"address already in use /localhost:8080":                               "",
			"FATAL: see /var/log/app/error.log: [Errno 98] Address already in use": "",
		}},
		"the capability that is lacked": {LackedCapability, map[string]string{
			"Fatal error : adjtimex(0x8001) failed : Operation not permitted":            "SYS_TIME",
			"settimeofday: Operation not permitted":                                      "SYS_TIME",
			"clock_settime(): (1: Operation not permitted)":                              "SYS_TIME",
			"CAP_SYS_TIME not present":                                                   "SYS_TIME",
			"process is missing required capability NET_ADMIN":                           "NET_ADMIN",
			"RTNETLINK answers: Operation not permitted":                                 "NET_ADMIN",
			"ERROR: Cannot ioctl TUNSETIFF tun: Operation not permitted (errno=1)":       "NET_ADMIN",
			"sethostname: operation not permitted":                                       "SYS_ADMIN",
			"iopl: Operation not permitted":                                              "SYS_RAWIO",
			"mlockall(): Operation not permitted [1]":                                    "IPC_LOCK",
			"mlockall(): Cannot allocate memory":                                         "",
			"running with CAP_NET_ADMIN":                                                 "",
			"open /data/x: operation not permitted":                                      "",
			"adjtimex took 3 s":                                                          "",
			"Operation not permitted, ignoring: settimeofday will be tried again in 5 s": "",
		}},
		"the capability that is needed": {NeededCapability, map[string]string{
			"dnsmasq[1]: failed to change group-id to nogroup: Operation not permitted": "SETGID",
			"nginx: [emerg] bind() to 0.0.0.0:80 failed (13: Permission denied)":        "NET_BIND_SERVICE",
			"setuid: Operation not permitted":                                           "SETUID",
			"chown: /data: Operation not permitted":                                     "CHOWN",
			"mkdir: /data/pg: Permission denied":                                        "",
		}},
	} {
		for line, want := range c.want {
			if got := c.reads(line); got != want {
				t.Errorf("%s: %q: %q, want %q", name, line, got, want)
			}
		}
	}
}

func TestMountFailed(t *testing.T) {
	for message, want := range map[string][2]string{
		`error during container init: error mounting "/var/lib/kubelet/pods/u/volume-subpaths/proxy/haproxy/0" to rootfs at "/etc/haproxy/haproxy.cfg": mount src=/var/lib/kubelet/pods/u/volume-subpaths/proxy/haproxy/0, dst=/etc/haproxy/haproxy.cfg, dstFd=/proc/thread-self/fd/16, flags=MS_RDONLY|MS_BIND|MS_REC: not a directory`: {"/etc/haproxy/haproxy.cfg", "not a directory"},
		`error mounting "/a" to rootfs at "/srv": mount /a:/srv (via /proc/self/fd/6), flags: 0x5000: not a directory: unknown`: {"/srv", "not a directory"},
		`error mounting "/a" to rootfs at "/srv/x": create mountpoint for /srv/x mount: read-only file system`:                  {"/srv/x", "create mountpoint for /srv/x mount: read-only file system"},
		`failed to prepare subPath for volumeMount "data" of container "app"`:                                                   {"", ""},
	} {
		if at, why := MountFailed(message); [2]string{at, why} != want {
			t.Errorf("%q: %q, %q, want %q", message, at, why, want)
		}
	}
}

// A place that is asked is no line of a file.
func TestPlaceIsNoLineOfAFile(t *testing.T) {
	for text, want := range map[string]bool{
		"ERROR in app: sign-up: cannot write to ldap://ldap:389: txn_commit failed":            false,
		"ERROR in app: amqp://queue:5672/orders: ProbableAccessDeniedError":                    false,
		"ERROR: cannot reach http://db.shop.svc.cluster.local:5432: unknown error":             false,
		"db.shop.svc.cluster.local:5432: connection error":                                     false,
		`error: cannot open "/etc/app/app.conf:12"`:                                            true,
		"/etc/fail2ban/jail.local:7: invalid option":                                           true,
		"error loading configuration from /vault/config/vault.hcl: At 12:5: illegal character": true,
		"FATAL: Bungled /etc/squid/squid.conf line 14: acl localnet sr 10.0.0.0/8":             true,
		"[ALERT] config : parsing [/srv/haproxy.cfg:3]: unknown keyword 'maxcon'":              true,
		"error: cannot connect to unix:/run/app.sock:0":                                        false,
	} {
		if knowledge.BadConfig.In(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

func TestNoVolumeKey(t *testing.T) {
	for message, want := range map[string][2]string{
		`MountVolume.SetUp failed for volume "tls" : references non-existent secret key: ca.crt`:              {"tls", "ca.crt"},
		`MountVolume.SetUp failed for volume "conf" : configmap references non-existent config key: app.yaml`: {"conf", "app.yaml"},
		`MountVolume.SetUp failed for volume "tls" : secret "tls" not found`:                                  {},
	} {
		if volume, key := NoVolumeKey(message); volume != want[0] || key != want[1] {
			t.Errorf("%s: %q, %q", message, volume, key)
		}
	}
}

func FuzzNoVolumeKey(f *testing.F) {
	f.Add(`for volume "tls" : references non-existent secret key: ca.crt`)
	f.Fuzz(func(_ *testing.T, message string) { NoVolumeKey(message) })
}
