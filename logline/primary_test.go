package logline_test

import (
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/words"
)

const (
	stunnel = "[ ] Session resumption enabled\n[ ] No certificate or private key specified\n[!] No trusted certificates found\n[!] Service [redis]: Failed to initialize TLS context\n[!] Configuration failed\n[ ] Deallocating temporary section defaults\n[ ] Deallocating section [redis]"
	initdb  = "initdb: error: directory \"/var/lib/postgresql/data\" exists but is not empty\ninitdb: detail: It contains a lost+found directory, perhaps due to it being a mount point.\ninitdb: hint: Using a mount point directly as the data directory is not recommended.\nCreate a subdirectory under the mount point."
	rabbit  = "2026-11-23 19:06:39.171904+00:00 [error] <0.132.0> You've tried to set disk_free_limits.absolute, but there is no setting with that name.\n2026-11-23 19:06:39.203085+00:00 [error] <0.132.0>   Did you mean one of these?\n2026-11-23 19:06:40.326053+00:00 [error] <0.130.0> \n2026-11-23 19:06:40.330661+00:00 [notice] <0.44.0> Application rabbitmq_prelaunch exited with reason: {{shutdown,{failed_to_start_child,prelaunch,failed_to_prepare_configuration}},{rabbit_prelaunch_app,start,[normal,[]]}}\n{\"Kernel pid terminated\",application_controller,\"{application_start_failure,rabbitmq_prelaunch,{{shutdown,{failed_to_start_child,prelaunch,failed_to_prepare_configuration}},{rabbit_prelaunch_app,start,[normal,[]]}}}\"}\nKernel pid terminated (application_controller) ({application_start_failure,rabbitmq_prelaunch,{{shutdown,{failed_to_start_child,prelaunch,failed_to_prepare_configuration}},{rabbit_prelaunch_app,start,[normal,[]]}}})\nCrash dump is being written to: erl_crash.dump..."
	tomcat  = "23-Nov-2026 17:08:38.073 INFO [main] org.apache.catalina.startup.Catalina.start Server startup in [169] milliseconds\n23-Nov-2026 17:08:38.076 SEVERE [main] org.apache.catalina.core.StandardServer.await Failed to create server shutdown socket on address [localhost] and port [8005]\n\tjava.net.BindException: Address already in use\n23-Nov-2026 17:08:38.078 INFO [main] org.apache.coyote.AbstractProtocol.pause Pausing ProtocolHandler [\"http-nio-8081\"]\n23-Nov-2026 17:08:38.085 INFO [main] org.apache.catalina.core.StandardService.stopInternal Stopping service [Catalina]\n23-Nov-2026 17:08:38.086 INFO [main] org.apache.coyote.AbstractProtocol.stop Stopping ProtocolHandler [\"http-nio-8081\"]\n23-Nov-2026 17:08:38.092 INFO [main] org.apache.coyote.AbstractProtocol.destroy Destroying ProtocolHandler [\"http-nio-8081\"]"
)

func TestSaidAgain(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"the same":             {[]string{"-- unavailable modifier requested: 0 --", "-- unavailable modifier requested: 0 --"}, "-- unavailable modifier requested: 0 --"},
		"once":                 {[]string{"-- unavailable modifier requested: 0 --"}, ""},
		"several things":       {[]string{"spawned worker 1", "-- unavailable modifier requested: 0 --", "-- unavailable modifier requested: 0 --"}, ""},
		"that it was asked":    {[]string{`10.42.0.1 - - "GET / HTTP/1.1" 200 2`, `10.42.0.1 - - "GET / HTTP/1.1" 200 2`}, ""},
		"at a level of no ill": {[]string{"INFO heartbeat", "INFO heartbeat"}, ""},
	} {
		if got := words.Read(test.lines).SaidAgain(); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTelling(t *testing.T) {
	for name, test := range map[string]struct{ log, want string }{
		"the error before the goodbye":        {"[Note] Server socket created\n2026-11-23 1:53:26 0 [ERROR] Fatal error: Can't open and lock privilege tables\n2026-11-23 1:53:26 0 [ERROR] Aborting", "[ERROR] Fatal error: Can't open and lock privilege tables"},
		"node, above the stack":               {"node:internal/process/promises:288\nError: getaddrinfo EAI_AGAIN redis-master\n    at GetAddrInfoReqWrap.onlookup [as oncomplete] (node:dns:108:26) {\n  errno: -3001,\n  hostname: 'redis-master'\n}\n\nNode.js v18.20.4", "Error: getaddrinfo EAI_AGAIN redis-master"},
		"the deepest cause":                   {"Exception in thread \"main\" java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\nCaused by: java.net.ConnectException: Connection refused\n\tat a.B.c(B.java:1)\n\t... 12 more", "Caused by: java.net.ConnectException: Connection refused"},
		"a traceback's last line":             {"Traceback (most recent call last):\n  File \"/srv/app.py\", line 1, in <module>\n    import stripe\nModuleNotFoundError: No module named 'stripe'\n[2026-11-23 01:53:26 +0000] [7] [INFO] Worker exiting (pid: 7)\n[2026-11-23 01:53:26 +0000] [1] [ERROR] Reason: Worker failed to boot.", "ModuleNotFoundError: No module named 'stripe'"},
		"a class that is not called an error": {"[2026-11-23 06:54:13,391] ERROR in app: Exception on / [GET]\nTraceback (most recent call last):\n  File \"/srv/app.py\", line 6, in index\n    return render(x)\n           ^^^^^^^^^\nTemplateNotFound: index.html\n[INFO] a request", "TemplateNotFound: index.html"},
		"one whose traceback was not kept":    {"ERROR in app: Exception on / [GET]\njinja2.exceptions.TemplateNotFound: index.html\n[INFO] a request", "jinja2.exceptions.TemplateNotFound: index.html"},
		"a class that logs":                   {"com.example.Main: starting\nready", "ready"},
		"the system's words, in quotes":       {"[ERROR] mariadbd: Can't create/write to file './ddl_recovery.log' (Errcode: 30 \"Read-only file system\")\n[ERROR] DDL_LOG: Failed to create ddl log file: ./ddl_recovery.log\n[ERROR] Aborting", "[ERROR] mariadbd: Can't create/write to file './ddl_recovery.log' (Errcode: 30 \"Read-only file system\")"},
		"postgres":                            {"LOG:  starting PostgreSQL\n2026-11-23 01:53:26.123 UTC [1] FATAL:  data directory \"/data\" has invalid permissions\n2026-11-23 01:53:26.123 UTC [1] DETAIL:  Permissions should be u=rwx (0700).", "FATAL:  data directory \"/data\" has invalid permissions"},
		"the system's words":                  {"cp: can't stat '/none': No such file or directory\ngiving up", "cp: can't stat '/none': No such file or directory"},
		"an error that was survived":          {"ERROR: no cache\nlistening on 8080\nserving", "serving"},
		"logfmt":                              {`ts=2026-11-23T01:53:32.053Z caller=main.go:469 level=error msg="Error loading config (--config.file=/srv/p.yml)" file=/srv/p.yml err="parsing YAML file /srv/p.yml: field scrape_configz not found"`, "Error loading config (--config.file=/srv/p.yml): parsing YAML file /srv/p.yml: field scrape_configz not found"},
		"JSON":                                {`{"level":"fatal","ts":1.2,"msg":"cannot start","error":"listen tcp :80: bind: permission denied"}`, "cannot start: listen tcp :80: bind: permission denied"},
		"redis":                               {"1:M 23 Nov 2026 01:53:26.123 # Fatal error loading the DB, check server logs. Exiting.", "Fatal error loading the DB, check server logs. Exiting."},
		"nginx":                               {`2026/11/23 02:48:14 [error] 6#6: *5 connect() failed (111: Connection refused) while connecting to upstream, client: 10.42.0.1, server: , request: "GET / HTTP/1.1", upstream: "http://10.43.60.105:80/", host: "10.42.0.11:8080"`, `[error] connect() failed (111: Connection refused) while connecting to upstream, upstream: "http://10.43.60.105:80/"`},
		"what is said after the goodbye":      {"TLS: could not use private key file `/tls/tls.key`.\n6b045d38.22c753d7 0x7f26d745b200 main: TLS init def ctx failed: -1\n6b045d38.22dde593 0x7f26d745b200 slapd stopped.\n6b045d38.22de54b8 0x7f26d745b200 connections_destroy: nothing to destroy.", "main: TLS init def ctx failed: -1"},
		"a goodbye of another time":           {"main: TLS init failed: -1\nserver stopped\nstarting again\nserver stopped\nbye", "bye"},
		"a mark, and what is put away":        {stunnel, "[!] Configuration failed"},
		"an orderly stop":                     {tomcat, "java.net.BindException: Address already in use"},
		"a stop that says why":                {"starting\nStopped: the license is not valid", "Stopped: the license is not valid"},
		"one that says it otherwise":          {"starting\nClosing because the lease is lost", "Closing because the lease is lost"},
		"Telegraf":                            {"2026-11-23T01:53:26Z I! Loaded inputs: cpu\n2026-11-23T01:53:26Z E! [agent] Error running agent: could not start\n2026-11-23T01:53:26Z I! [agent] Stopping running outputs", "E! [agent] Error running agent: could not start"},
		"a priority of syslog's":              {"<6>starting\n<3>no such key in the ring\n<6>Closing files", "no such key in the ring"},
		"nothing":                             {" \n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(test.log, "\n")
			got := ""
			if i := words.Read(lines).Primary(); i >= 0 {
				got = logline.Message(lines[i])
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// What is said first is what the rest comes from, and what continues a line belongs to it.
func TestReason(t *testing.T) {
	const jvm = "Invalid maximum heap size: -Xmx4096g\nError: Could not create the Java Virtual Machine.\nError: A fatal exception has occurred. Program will exit."
	if got := words.Read(strings.Split(jvm, "\n")).Reason(); got != "Invalid maximum heap size: -Xmx4096g" {
		t.Errorf("the JVM's launcher: %s", got)
	}

	for name, test := range map[string]struct{ log, want string }{
		"several alarms":       {"[NOTICE]   (1) : haproxy version is 2.6.12\n[ALERT]    (1) : config : parsing [/srv/haproxy.cfg:3]: unknown keyword 'maxcon' in 'global' section\n[ALERT]    (1) : config : Error(s) found in configuration file : /srv/haproxy.cfg\n[ALERT]    (1) : config : Fatal errors found in configuration.", "[ALERT]    (1) : config : parsing [/srv/haproxy.cfg:3]: unknown keyword 'maxcon' in 'global' section / [ALERT]    (1) : config : Error(s) found in configuration file : /srv/haproxy.cfg / [ALERT]    (1) : config : Fatal errors found in configuration."},
		"the lines of a box":   {"\n*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\nReading the configuration file, at line 3\n>>> 'maxmemroy 10mb'\nBad directive or wrong number of arguments", "*** FATAL CONFIG FILE ERROR (Redis 7.0.15) *** / Reading the configuration file, at line 3 / >>> 'maxmemroy 10mb' / Bad directive or wrong number of arguments"},
		"a detail":             {"2026-11-23 01:53:26.123 UTC [1] FATAL:  database files are incompatible with server\n2026-11-23 01:53:26.123 UTC [1] DETAIL:  The data directory was initialized by PostgreSQL version 12.", "FATAL:  database files are incompatible with server / DETAIL:  The data directory was initialized by PostgreSQL version 12."},
		"a goodbye":            {"/etc/bind/named.conf:3: unknown option 'recursoin'\nloading configuration: failure\nexiting (due to fatal error)", "/etc/bind/named.conf:3: unknown option 'recursoin' / loading configuration: failure"},
		"a traceback":          {"ERROR in app: x\nTraceback (most recent call last):\n  File \"/srv/app.py\", line 1, in <module>\nKeyError: 'a'", "KeyError: 'a'"},
		"a server's own words": {"6b045d38.21cdeab7 0x7f26d745b200 @(#) $OpenLDAP: slapd 2.5.13+dfsg-5 $\n\tDebian OpenLDAP Maintainers\n6b045d38.22c6f91e 0x7f26d745b200 TLS: opening `/tls/tls.key' failed: Permission denied\n6b045d38.22c733af 0x7f26d745b200 TLS: could not use private key file `/tls/tls.key`.\n6b045d38.22c753d7 0x7f26d745b200 main: TLS init def ctx failed: -1\n6b045d38.22dde593 0x7f26d745b200 slapd stopped.\n6b045d38.22de54b8 0x7f26d745b200 connections_destroy: nothing to destroy.", "TLS: opening `/tls/tls.key' failed: Permission denied / TLS: could not use private key file `/tls/tls.key`. / main: TLS init def ctx failed: -1"},
		"the same, again":      {"[error] 6#6: *5 connect() failed\n[error] 6#6: *7 connect() failed", "[error] connect() failed"},
		"all is well":          {"starting\nlistening on 8080", "listening on 8080"},
		"two of a daemon's":    {"Error: Unknown configuration variable \"foo\".\nError found at /etc/mosquitto.conf:3.\nError: Unable to open configuration file.", "Error: Unknown configuration variable \"foo\". / Error found at /etc/mosquitto.conf:3. / Error: Unable to open configuration file."},
		"a mark of each":       {stunnel, "[!] No trusted certificates found / [!] Service [redis]: Failed to initialize TLS context / [!] Configuration failed"},
		"what was tried":       {tomcat, "SEVERE [main] org.apache.catalina.core.StandardServer.await Failed to create server shutdown socket on address [localhost] and port [8005] / java.net.BindException: Address already in use"},
		"a hint":               {"The files belonging to this database system will be owned by user \"postgres\".\n" + initdb, "initdb: error: directory \"/var/lib/postgresql/data\" exists but is not empty / initdb: detail: It contains a lost+found directory, perhaps due to it being a mount point. / initdb: hint: Using a mount point directly as the data directory is not recommended."},
		"what came of it":      {rabbit, "[error] You've tried to set disk_free_limits.absolute, but there is no setting with that name. / [error]   Did you mean one of these?"},
		"what came of nothing": {"Kernel pid terminated (application_controller) (shutdown)\nCrash dump is being written to: erl_crash.dump...", "Kernel pid terminated (application_controller) (shutdown) / Crash dump is being written to: erl_crash.dump..."},
		"a client's goodbye":   {"Warning: Permanently added '[sftp]:2222' (ED25519) to the list of known hosts.\nfeed@sftp: Permission denied (publickey).\nConnection closed", "feed@sftp: Permission denied (publickey)."},
		"errors of other days": {"ERROR: no cache\nlistening\nFATAL: out of room", "FATAL: out of room"},
	} {
		if got := words.Read(strings.Split(test.log, "\n")).Reason(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A program that goes on after the words of a failure has not ended for it.
func TestEndsFailed(t *testing.T) {
	for log, want := range map[string]bool{
		"starting\nKeyError: 'name'\nexiting":                                     true,
		"KeyError: 'name'\nbye\nclosing files":                                    true,
		"KeyError: 'name'\nagain\n5 records read\n5 records written\nall is done": false,
		"starting\nall is done":                                                   false,
		tomcat:                                                                    true,
		"":                                                                        false,
	} {
		if got := words.Read(strings.Split(log, "\n")).EndsFailed(); got != want {
			t.Errorf("%q: %v", log, got)
		}
	}
}

// A reason that stands above a long stack is kept, and the newest lines are.
func TestKeep(t *testing.T) {
	log := []string{"starting", "Error: getaddrinfo ENOTFOUND db"}
	for range 40 {
		log = append(log, "    at Object.<anonymous> (/srv/server.js:3:38)")
	}
	log = append(log, "", "Node.js v18.20.4")
	kept, _ := words.Keep(log, 10, 1<<10)
	if len(kept) != 10 || kept[0] != "starting" || kept[1] != log[1] || kept[9] != log[len(log)-1] {
		t.Errorf("%q", kept)
	}
	stack := []string{"SEVERE Failed to initialize component", "java.lang.Exception: failed", "\tat a.b(c.java:1)", "\tCaused by: java.io.IOException: keystore password was incorrect", "\tat a.b(c.java:2)", "\tCaused by: java.security.UnrecoverableKeyException: failed to decrypt"}
	for range 20 {
		stack = append(stack, "\tat a.b(c.java:3)", "INFO up")
	}
	if kept, _ := words.Keep(stack, 6, 1<<10); !slices.Contains(kept, stack[3]) || !slices.Contains(kept, stack[5]) {
		t.Errorf("%q", kept)
	}
	if got := words.Read(append([]string{stack[0], "java.lang.Exception: failed", "Caused by: java.lang.IllegalArgumentException: keystore password was incorrect"}, stack[3:7]...)).ErrorAt(0); got != stack[0]+" / Caused by: java.lang.IllegalArgumentException: keystore password was incorrect / Caused by: java.security.UnrecoverableKeyException: failed to decrypt" {
		t.Error(got)
	}
	if long, _ := words.Keep([]string{strings.Repeat("x", 2000)}, 10, 1<<10); len(long) != 1 || len(long[0]) != 1<<10 {
		t.Errorf("%d lines", len(long))
	}
}

func FuzzGist(f *testing.F) {
	f.Add(`{"msg":"x","error":{"message":"y"}}`)
	f.Add(`level=error msg="a \" b" err=c`)
	f.Add("1:M 23 Nov 2026 01:53:26.123 # Fatal")
	f.Fuzz(func(t *testing.T, line string) {
		lines := strings.Split(line, "\n")
		if kept, _ := words.Keep(lines, 3, 100); len(kept) > 3 {
			t.Errorf("%q", kept)
		}
		_, _ = logline.Message(line), words.Read(lines).Reason()
	})
}

// The error above a cause is quoted where it ends with what the cause says.
func TestFuller(t *testing.T) {
	const deepest = "sun.security.provider.certpath.SunCertPathBuilderException: unable to find valid certification path to requested target"
	for name, q := range map[string]struct{ log, want string }{
		"the nearest": {
			"javax.net.ssl.SSLHandshakeException: (certificate_unknown) PKIX path building failed: " + deepest + "\n\tat A.b(A.java:1)\nCaused by: sun.security.validator.ValidatorException: PKIX path building failed: " + deepest + "\n\t... 12 more\nCaused by: " + deepest + "\n\t... 18 more",
			"Caused by: sun.security.validator.ValidatorException: PKIX path building failed: " + deepest,
		},
		"frames left out": {
			"javax.net.ssl.SSLHandshakeException: (certificate_unknown) PKIX path building failed: " + deepest + "\nCaused by: " + deepest,
			"javax.net.ssl.SSLHandshakeException: (certificate_unknown) PKIX path building failed: " + deepest,
		},
		"the same again": {"java.io.IOException: no\n\tat A.b(A.java:1)\nCaused by: java.io.IOException: no", "Caused by: java.io.IOException: no"},
		"of another error": {
			"java.io.IOException: read: java.io.EOFException: no\nretrying at once\nException in thread main a.B: c\nCaused by: java.io.EOFException: no",
			"Caused by: java.io.EOFException: no",
		},
	} {
		if got := words.Read(strings.Split(q.log, "\n")).Reason(); got != q.want {
			t.Errorf("%s: %q, want %q", name, got, q.want)
		}
	}
}

// What each newer try comes to tells more than what those before did, which is over.
func TestTriesAgain(t *testing.T) {
	const refused, missing, line1 = "psql: error: connection to server at \"db\", port 5432 failed: Connection refused", "ERROR:  relation \"schema_version\" does not exist", "LINE 1: select version from schema_version"
	for name, q := range map[string]struct {
		lines []string
		want  string
	}{
		"again and again": {[]string{refused, refused, missing, line1, missing, line1, missing, line1}, "ERROR: relation \"schema_version\" does not exist / LINE 1: select version from schema_version"},
		"once":            {[]string{refused, missing, line1}, "relation"},
		"none since":      {[]string{missing, missing, missing, refused}, "Connection refused"},
	} {
		got := words.Read(q.lines).Trouble(true)
		if !strings.Contains(strings.Join(strings.Fields(got), " "), q.want) || name == "again and again" && strings.Contains(got, "refused") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Where a message of several lines ends with a reason that is but a word, the line with which a logger
// began it says what that is about, unless another line of the logger is between.
func TestHeading(t *testing.T) {
	const begin, end = "[2026-11-24 04:49:33,371: ERROR/MainProcess] Received unregistered task of type 'shop.quote'.", "KeyError: 'shop.quote'"
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"its message":        {[]string{begin, "The message has been ignored and discarded.", "", "Did you remember to import the module containing this task?", "Traceback (most recent call last):", end}, "ERROR Received unregistered task of type 'shop.quote'. / " + end},
		"whom it asked":      {[]string{"2026-11-24 19:36:45,307 ERROR shop: GET http://gateway/price", "Traceback (most recent call last):", "urllib.error.HTTPError: HTTP Error 504: Gateway Time-out"}, "ERROR shop: GET http://gateway/price / urllib.error.HTTPError: HTTP Error 504: Gateway Time-out"},
		"a line between":     {[]string{begin, "[2026-11-24 04:49:34,371: INFO/MainProcess] ready.", "Traceback (most recent call last):", end}, end},
		"a reason with more": {[]string{begin, "The message has been ignored.", "Traceback (most recent call last):", "ValueError: no price of tea is known"}, "ValueError: no price of tea is known"},
	} {
		if got := words.Read(test.lines).Trouble(false); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// An exception of Java without a message is told with the line above it, and not the line of its end.
func TestBareException(t *testing.T) {
	said := "[main] ERROR org.apache.zookeeper.server.ZooKeeperServerMain - Unexpected exception, exiting abnormally\njava.io.EOFException\n\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:397)\n\tat org.apache.jute.BinaryInputArchive.readInt(BinaryInputArchive.java:96)\n[main] INFO org.apache.zookeeper.audit.ZKAuditProvider - ZooKeeper audit is disabled.\n[main] ERROR org.apache.zookeeper.util.ServiceUtils - Exiting JVM with code 1"
	if got, want := words.Read(strings.Split(said, "\n")).Reason(), "Unexpected exception, exiting abnormally: java.io.EOFException"; !strings.HasSuffix(got, want) {
		t.Errorf("%q", got)
	}
}

// What servers end for is told from what they say of it before and after.
func TestServersReason(t *testing.T) {
	for name, test := range map[string]struct {
		log, want string
		failed    bool
	}{
		"a warning that the error comes from": {"[Thu Nov 26 21:06:51.773693 2026] [core:warn] [pid 1] AH00111: Config variable ${APACHE_RUN_DIR} is not defined\napache2: Syntax error on line 80 of /etc/apache2/apache2.conf: DefaultRuntimeDir must be a valid directory, absolute or relative to ServerRoot", "[core:warn] [pid 1] AH00111: Config variable ${APACHE_RUN_DIR} is not defined / apache2: Syntax error on line 80 of /etc/apache2/apache2.conf: DefaultRuntimeDir must be a valid directory, absolute or relative to ServerRoot", false},
		"etcd 3.4, removed":                   {"2026-11-26 21:06:51.773693 E | etcdserver: the member has been permanently removed from the cluster\n2026-11-26 21:06:51.773702 I | etcdserver: the data-dir used by this member must be removed.\n2026-11-26 21:06:51.773709 I | etcdserver: aborting publish because server is stopped", "etcdserver: the member has been permanently removed from the cluster", true},
		"etcd 3.4, the first of two errors":   {"2026-11-26 21:06:51.1 W | rafthttp: lost the TCP streaming connection with peer 91bc\n2026-11-26 21:06:51.2 E | etcdserver: the member has been permanently removed from the cluster\n2026-11-26 21:06:51.3 I | etcdserver: the data-dir used by this member must be removed.\n2026-11-26 21:06:51.4 E | etcdserver: publish error: etcdserver: request cancelled\n2026-11-26 21:06:51.5 I | etcdserver: aborting publish because server is stopped\n2026-11-26 21:06:51.6 I | rafthttp: stopped peer 91bc", "etcdserver: the member has been permanently removed from the cluster / etcdserver: publish error: etcdserver: request cancelled", true},
		"etcd 3.4, critical":                  {"2026-11-26 21:06:51.773693 C | etcdmain: listen tcp 10.42.0.9:2380: bind: cannot assign requested address", "etcdmain: listen tcp 10.42.0.9:2380: bind: cannot assign requested address", true},
		"etcd 3.4, told to end":               {"2026-11-26 21:06:51.1 N | pkg/osutil: received terminated signal, shutting down...\n2026-11-26 21:06:51.2 E | rafthttp: failed to dial 91bc on stream MsgApp v2 (peer is gone)\n2026-11-26 21:06:51.3 I | rafthttp: stopped peer 91bc", "rafthttp: failed to dial 91bc on stream MsgApp v2 (peer is gone)", false},
		"slapd 2.5":                           {"6b045d38.22c6f91e 0x7f26d745b200 @(#) $OpenLDAP: slapd 2.5.13 (Feb  8 2023 01:56:12) $\n6b045d38.22c6f91e 0x7f26d745b200 read_config: no serverID / URL match found. Check slapd -h arguments.\n6b045d38.22c6f91e 0x7f26d745b200 slapd stopped.\n6b045d38.22c6f91e 0x7f26d745b200 connections_destroy: nothing to destroy.", "read_config: no serverID / URL match found. Check slapd -h arguments.", false},
		"slapd, without a time":               {"read_config: no serverID / URL match found. Check slapd -h arguments.\nslapd stopped.\nconnections_destroy: nothing to destroy.", "read_config: no serverID / URL match found. Check slapd -h arguments.", false},
		"supervisord":                         {"2026-11-26 21:06:52,973 WARN exited: redis (exit status 0; not expected)\n2026-11-26 21:06:53,973 INFO gave up: redis entered FATAL state, too many start retries too quickly", "exited: redis (exit status 0; not expected) / gave up: redis entered FATAL state, too many start retries too quickly", true},
		"supervisord 3":                       {"2026-11-26 21:06:52,973 INFO exited: redis (exit status 0; not expected)\n2026-11-26 21:06:53,973 INFO gave up: redis entered FATAL state, too many start retries too quickly", "exited: redis (exit status 0; not expected) / gave up: redis entered FATAL state, too many start retries too quickly", true},
		"a heading":                           {"Error:\n\nRabbitMQ on node rabbit@x has alarms in effect: [{resource_limit,disk,'rabbit@x'}]", "Error: RabbitMQ on node rabbit@x has alarms in effect: [{resource_limit,disk,'rabbit@x'}]", false},
		"a heading of nothing":                {"connect failed: no such shop\nError:", "connect failed: no such shop", false},
	} {
		lines := strings.Split(test.log, "\n")
		if got := words.Read(lines).Reason(); got != test.want || words.Read(lines).EndsFailed() != test.failed {
			t.Errorf("%s: %q, failed %t", name, got, !test.failed)
		}
	}
}

// A probe's command answers with fields and headings, of which empty ones say nothing.
func TestToldHeadings(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"what follows":       {"Error:\nRabbitMQ on node rabbit@x has alarms in effect: [{resource_limit,disk,'rabbit@x'}]\n", "Error: RabbitMQ on node rabbit@x has alarms in effect: [{resource_limit,disk,'rabbit@x'}]"},
		"an empty field":     {"Slave_IO_Running: No\nLast_IO_Error: Got fatal error 1236 from master\nLast_SQL_Errno: 0\nLast_SQL_Error:\nReplicate_Ignore_Server_Ids:\n", "Last_IO_Error: Got fatal error 1236 from master"},
		"before another":     {"Last_IO_Error: Got fatal error 1236 from master\nLast_SQL_Error:\nMaster_Server_Id: 1\n", "Last_IO_Error: Got fatal error 1236 from master"},
		"at the very end":    {"could not ask the server\nError:\n", "could not ask the server"},
		"what fails of many": {"cluster_state:fail\ncluster_slots_assigned:0\ncluster_slots_ok:0\n", "cluster_state:fail"},
	} {
		if got := words.Told(test.output); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// What may become of something is no error.
func TestWhatMayBecome(t *testing.T) {
	lines := []string{"LOG:  database system is ready to accept connections", "initdb: hint: The data directory might become corrupt if the operating system crashes.", "the index is corrupt"}
	if words.Read(lines[:2]).Troubled() || !words.Read(lines).Troubled() {
		t.Errorf("%v, %v", words.Read(lines[:2]).Troubled(), words.Read(lines).Troubled())
	}
}

// What only follows from another's failure gives way to that, and what is wanted to what is wrong.
func TestPrimaryNamesTheOther(t *testing.T) {
	for name, test := range map[string]struct{ log, primary, reason string }{
		"a pool, with a logger": {
			"2026-11-28 10:00:00 INFO starting\n2026-11-28 10:00:01 ERROR Connection refused: prod-db:3333\n2026-11-28 10:00:03 ERROR Connection refused: prod-db:3333\n2026-11-28 10:00:04 ERROR connection pool exhausted",
			"Connection refused: prod-db:3333", "ERROR Connection refused: prod-db:3333",
		},
		"a pool, without": {
			"[ERROR] Failed to connect to database: Connection refused (prod-db:3333)\n[ERROR] Retry 1/3 failed: Connection refused (prod-db:3333)\n[ERROR] Retry 2/3 failed: Connection refused (prod-db:3333)\n[ERROR] Connection pool exhausted. Giving up",
			"Retry 2/3 failed: Connection refused (prod-db:3333)", "[ERROR] Failed to connect to database: Connection refused (prod-db:3333) / [ERROR] Retry 1/3 failed: Connection refused (prod-db:3333)",
		},
		"a pool alone": {
			"INFO up\nERROR connection pool exhausted", "ERROR connection pool exhausted", "ERROR connection pool exhausted",
		},
		"a lease": {
			"E1128 10:00:00.1 1 leaderelection.go:330] error retrieving resource lock kube-system/x: Get \"https://10.43.0.1:443/apis/leases/x\": dial tcp 10.43.0.1:443: i/o timeout\nF1128 10:00:01.1 1 main.go:1] leaderelection lost",
			"dial tcp 10.43.0.1:443: i/o timeout", "error retrieving resource lock kube-system/x: Get \"https://10.43.0.1:443/apis/leases/x\": dial tcp 10.43.0.1:443: i/o timeout",
		},
		"PostgreSQL as root": {
			"\"root\" execution of the PostgreSQL server is not permitted.\nThe server must be started under an unprivileged user ID to prevent\npossible system security compromise.  See the documentation for\nmore information on how to properly start the server.",
			"\"root\" execution", "\"root\" execution of the PostgreSQL server is not permitted. / The server must be started under",
		},
	} {
		s := words.Read(strings.Split(test.log, "\n"))
		if got := s.Text(s.Primary()); !strings.Contains(got, test.primary) {
			t.Errorf("%s: %q says most, not %q", name, got, test.primary)
		}
		if got := s.Reason(); !strings.HasPrefix(got, test.reason) || strings.Contains(got, "exhausted") && !strings.Contains(test.reason, "exhausted") {
			t.Errorf("%s: %q is why, want %q", name, got, test.reason)
		}
	}
}
