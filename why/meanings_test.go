package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
)

// What many have met comes with what to do, in the first steps, where a container ended with it: of
// words that may mean several things the one that is meant counts.
func TestFirstSteps(t *testing.T) {
	for _, q := range []struct{ said, fix string }{
		{`FATAL:  no pg_hba.conf entry for host "10.42.0.9", user "shop", database "shop", no encryption`, "pg_reload_conf"},
		{`FATAL:  no pg_hba.conf entry for host "10.42.0.32", user "u", database "d"`, "host d u 10.42.0.0/16 scram-sha-256"},
		{`FATAL:  no pg_hba.conf entry for host "10.42.0.32", user "u", database "d", no encryption`, "sslmode=require"},
		{`FATAL:  no pg_hba.conf entry for host "fd00:10::9", user "u", database "d"`, "host d u fd00:10::9/128 scram-sha-256"},
		{`FATAL:  no pg_hba.conf entry for replication connection from host "10.42.0.32", user "u", no encryption`, "host replication u 10.42.0.0/16 scram-sha-256; then select pg_reload_conf(); a line for database \"all\" does not match replication"},
		{`FATAL:  no pg_hba.conf entry for host "[local]", user "u", database "d"`, "local d u scram-sha-256 (or trust, while it is set up)"},
		{"ERROR 1130 (HY000): Host '10.42.0.9' is not allowed to connect to this MySQL server", "name@'%'"},
		{"[ERROR] Slave I/O: Got fatal error 1236 from master when reading data from binary log: 'Error: connecting slave requested to start from GTID 0-1-12, which is not in the master's binlog', Internal MariaDB error code: 1236", "SET GLOBAL gtid_slave_pos"},
		{"[ERROR] Slave I/O: Got fatal error 1236 from master when reading data from binary log: 'Could not find first log file name in binary log index file'", "mariadb-backup"},
		{`FATAL:  could not open directory "pg_notify": No such file or directory`, "mkdir -m 0700 -p $PGDATA/pg_notify"},
		{"[Thu Nov 26 21:06:51.773693 2026] [core:warn] [pid 1] AH00111: Config variable ${APACHE_RUN_DIR} is not defined\napache2: Syntax error on line 80 of /etc/apache2/apache2.conf: DefaultRuntimeDir must be a valid directory, absolute or relative to ServerRoot", "apache2ctl -D FOREGROUND"},
		{"java.lang.RuntimeException: My id 3 not in the peer list", "server.3=HOST:2888:3888"},
		{"2026-11-26 21:06:51.773693 E | etcdserver: the member has been permanently removed from the cluster", "etcdctl member add"},
		{"yaml: unmarshal errors: line 3: cannot unmarshal !!str `tcp://1...` into int", "enableServiceLinks: false"},
		{"invalid port tcp://10.43.0.9:6379", "enableServiceLinks: false"},
		{"Error: 'tcp' is not a valid port number.", "enableServiceLinks: false"},
		{"port is deprecated. Please use KAFKA_ADVERTISED_LISTENERS instead.", "enableServiceLinks: false"},
		{"ModuleNotFoundError: No module named 'gunicorn.app'; 'gunicorn' is not a package", "rename gunicorn.py"},
		{"Kernel pid terminated (application_controller) ({application_start_failure,rabbitmq_prelaunch,{auth,{\"Too short cookie string\",[{auth,init_no_setcookie,0}]}}})", "RABBITMQ_ERLANG_COOKIE"},
		{"554 5.7.1 <a@example.org>: Relay access denied", "mynetworks"},
		{"could not put the result of /usr into scan-results: JOB_TOO_BIG in answer to 'put 1024 0 600 310099'", "beanstalkd: -z"},
		{"initdb: could not look up effective user ID 1000680000: user does not exist", "runAsUser"},
		{"sed: cannot rename /etc/app/sedX1: Device or resource busy", "into an emptyDir"},
		{"mv: cannot move '/tmp/app.conf' to '/etc/app/app.conf': Device or resource busy", "into an emptyDir"},
		{"CLIENT_ERROR unauthenticated", "without -Y"},
		{"meters: Connection refused: not authorised.", "mosquitto_passwd -U"},
		{"ingest: connection refused by mqtt:1883: Not authorized", "mosquitto_passwd -U"},
		{"ERR max number of clients reached", "config set maxclients"},
		{"cluster_state:fail", "--cluster add-node"},
		{"2026-11-26 21:06:52,973 WARN exited: redis (exit status 0; not expected)\n2026-11-26 21:06:53,973 INFO gave up: redis entered FATAL state, too many start retries too quickly", "daemonize no"},
		{"Error:\nRabbitMQ on node rabbit@rabbit-0 has alarms in effect: [{resource_limit,disk,'rabbit@rabbit-0'}]", "list_queues"},
		{"ERROR:  permission denied for schema public", "GRANT CREATE ON SCHEMA public"},
		{"pq: SSL is not enabled on the server", "sslmode=disable"},
		{"FATAL:  sorry, too many clients already", "pg_stat_activity"},
		{"Error: ER_NOT_SUPPORTED_AUTH_MODE: Client does not support authentication protocol requested by server", "mysql2"},
		{"error: Dirty database version 12. Fix and force version.", "migrate force VERSION"},
		{"FAILED: Can't locate revision identified by 'a1b2c3'", "newer image"},
		{`ERROR:  type "vector" does not exist`, "CREATE EXTENSION"},
		{`ERROR:  prepared statement "S_1" already exists`, "prepareThreshold=0"},
		{"liquibase.exception.LockException: Could not acquire change log lock.  Currently locked by shop-5d7c9b6f4-9zxkq (10.42.0.31) since 11/22/26, 9:58 PM", "UPDATE DATABASECHANGELOGLOCK"},
		{`ERROR:  relation "users" already exists`, "migrate --fake"},
		{"Validation Failed: 1: this action would add [2] total shards, but this cluster currently has [1000]/[1000] maximum shards open;", "fewer shards"},
		{"*** Publishers will be blocked until this alarm clears ***", "list_queues"},
		{"Unhandled exception. System.IO.IOException: The configured user limit (128) on the number of inotify instances has been reached, or the per-process limit on the number of open file descriptors has been reached.", "max_user_instances"},
		{"/entrypoint.sh: line 9: /usr/local/bin/shop-server: cannot execute binary file: Exec format error", "kubernetes.io/arch"},
		{"billiard.exceptions.WorkerLostError: Worker exited prematurely: signal 9 (SIGKILL) Job: 0.", "--max-memory-per-child"},
		{"[ActionDispatch::HostAuthorization::DefaultResponseApp] Blocked hosts: 10.42.0.8:3000", "config.hosts"},
		{"jwt.exceptions.ImmatureSignatureError: The token is not yet valid (iat)", "timedatectl"},
		{"ERROR:  canceling statement due to statement timeout", "EXPLAIN"},
		{"ERROR 1153 (08S01): Got a packet bigger than 'max_allowed_packet' bytes", "max_allowed_packet"},
		{"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", "stop-writes-on-bgsave-error"},
		{"redis.exceptions.ResponseError: MOVED 12182 10.42.1.9:6379", "RedisCluster"},
		{"master not discovered or elected yet, an election requires at least 2 nodes", "kubectl -n shop get pods -o wide"},
		{"kafka.common.InconsistentClusterIdException: The Cluster ID abc doesn't match stored clusterId Some(def)", "volume that belongs to this cluster"},
		{"java.lang.RuntimeException: No readable meta.properties files found.", "kafka-storage.sh format"},
		{"FATAL:  data directory \"/var/lib/postgresql/data\" has wrong ownership", "fsGroup"},
		{"java.lang.RuntimeException: can not run elasticsearch as root", "runAsUser"},
		{"You are connecting to Redis 5.0.7, Sidekiq requires Redis 6.2.0 or greater", "image of 6.2.0 or later"},
		{"RequestTimeTooSkewed: The difference between the request time and the current time is too large.", "timedatectl"},
		{"ERROR: no valid license found", "licence that is valid"},
		{"Error: Mismatching encryption keys.", "the key again"},
		{"ValueError: Fernet key must be 32 url-safe base64-encoded bytes.", "--from-literal"},
		{"tls: failed to find any PEM data in certificate input", "tls.crt"},
		{"ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid for 'db'.", "subject alternative names"},
		{"Host key verification failed.", "ssh-keyscan"},
		{"AccessDenied: User: arn:aws:sts::1:assumed-role/x is not authorized to perform: route53:ListHostedZones", "role-arn"},
		{"TokenExpiredError: jwt expired", "get a new one"},
		{"ThrottlingException: Rate exceeded", "send fewer requests"},
		{"OSError: You are trying to access a gated repo.", "HF_TOKEN"},
		{"fatal: detected dubious ownership in repository at '/srv/app'", "safe.directory"},
		{"unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined", "automountServiceAccountToken"},
		{"Failed to list *v1beta1.Ingress: the server could not find the requested resource (get ingresses.extensions)", "kubectl api-versions"},
		{`Internal error occurred: failed calling webhook "validate.x.io": no endpoints available for service "x"`, "grep -A20 validate.x.io"},
		{"nginx: [emerg] socket() [::]:80 failed (97: Address family not supported by protocol)", "0.0.0.0"},
		{"listen tcp 192.168.1.7:8080: bind: cannot assign requested address", "status.podIP"},
		{"RuntimeError: DataLoader worker (pid 17) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.", "medium: Memory at /dev/shm"},
		{"ImportError: /usr/lib/libgomp.so.1: cannot allocate memory in static TLS block", "LD_PRELOAD"},
		{"open /data/x: stale NFS file handle", "delete pod web-1"},
		{"OSError: [Errno 5] Input/output error: '/data/x'", "dmesg -T"},
		{"fuse: device not found, try 'modprobe fuse' first", "CharDevice"},
		{"[1:1:1123/100000.1:ERROR:zygote_host_impl_linux.cc(100)] Running as root without --no-sandbox is not supported.", "--disable-dev-shm-usage"},
		{"java.awt.HeadlessException: No X11 DISPLAY variable was set", "java.awt.headless=true"},
		{"EOFError: EOF when reading a line", "--non-interactive"},
		{"exec /usr/bin/env: argument list too long", "enableServiceLinks: false"},
		{"RuntimeError: Found no NVIDIA driver on your system.", "nvidia.com/gpu: 1"},
		{"ImportError: libcuda.so.1: cannot open shared object file: No such file or directory", "nvidia.com/gpu: 1"},
		{"RuntimeError: CUDA driver version is insufficient for CUDA runtime version", "nvidia-smi"},
		{"RuntimeError: CUDA error: no kernel image is available for execution on the device", "nodeSelector"},
		{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB.", "--max-model-len"},
		{"Initial heap size set to a larger value than the maximum heap size", "MaxRAMPercentage=75"},
		{"Process terminated. Couldn't find a valid ICU package installed on the system.", "INVARIANT=1"},
		{`java.lang.reflect.InaccessibleObjectException: module java.base does not "opens java.lang" to unnamed module @1b`, "--add-opens"},
		{"SyntaxError: Cannot use import statement outside a module", "package.json"},
		{"AttributeError: module 'numpy' has no attribute 'bool'", "pin the version"},
		{`/entrypoint.sh: line 2: $'\r': command not found`, "dos2unix"},
		{"/entrypoint.sh: 7: Bad substitution", "#!/bin/bash"},
		{`npm error Missing script: "start:prod"`, "npm run lists"},
		{"PDOException: could not find driver", "pdo_mysql"},
		{"yaml: line 12: mapping values are not allowed in this context", "yamllint"},
		{"line 7: field scrape_intervall not found in type config.plain", "correct the name"},
		{"AttributeError: 'NoneType' object has no attribute 'id'", "the place in its code"},
	} {
		s := tell(t, web(silentProbe))
		s.wait(10 * time.Second)
		s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: strings.Split(q.said, "\n")})
		v := s.ask().Verdicts[0]
		if !slices.ContainsFunc(v.Fixes[:min(len(v.Fixes), 2)], func(f answer.Fix) bool { return strings.Contains(f.Text+" "+f.Command, q.fix) }) {
			t.Errorf("%s: %s\n%+v", q.said, v.Text, v.Fixes)
		}
	}
}

// What only sounds like one of them means nothing.
func TestMeansNothing(t *testing.T) {
	for _, said := range []string{
		"permission denied for user shop on the pager", "the token is used by two", "rate limit is 100 requests a minute", "licence checked, valid until 2030", "clock set by NTP", "moved 12 files", "ASK the operator",
		"migration 7 was applied", "listening on [::]:8080", "no devices are configured", "terminal size is 80x24", "requires Redis", "has no leader board", "a webhook was called", "display name is missing",
		"the server has found the requested resource", "prepared statement cache is on", "script start ran", "yaml: 12 files were read", "key length is 32", "bucket list is empty",
		"OutOfMemory handling is off", "CUDA 12.4 is used", "the pool has 5 clients", "connected with SSL off-loading", "undefined behaviour is allowed", "version 12 is dirty", "the table is full of orders that exist already", `NOTICE:  relation "_sqlx_migrations" already exists, skipping`, "the database system is ready to accept connections", "waiting for messages", "a worker started", "cluster_state:ok", "cluster_known_nodes:12", "exited: mailer (exit status 0; expected)", "member 4 was removed from the list", "connected to tcp://10.43.0.9:6379", "moved 3 files, resources are busy", "not authorised to fly", "server.3 is in the peer list",
	} {
		if m, ok := knowledge.Embedded().Meaning(said); ok {
			t.Errorf("%s: %s", said, m.Means)
		}
	}
}

// Where one ConfigMap is all that configures a container, the step leads to it; a second one leaves that open,
// and a Secret beside it does not.
func TestStepNamesConfigMap(t *testing.T) {
	for name, test := range map[string]struct {
		maps []string
		want string
	}{
		"one":  {[]string{"zoo"}, "kubectl -n shop edit configmap zoo && kubectl -n shop get pod web-1 -o yaml | kubectl replace --force -f -"},
		"two":  {[]string{"zoo", "env"}, ""},
		"none": {nil, ""},
	} {
		pod := web(silentProbe)
		c := &pod.Spec.Containers[0]
		for _, m := range test.maps {
			c.EnvFrom = append(c.EnvFrom, v1.EnvFromSource{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: m}}})
		}
		c.EnvFrom = append(c.EnvFrom, v1.EnvFromSource{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "keys"}}})
		s := tell(t, pod)
		s.wait(10 * time.Second)
		s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{"java.lang.RuntimeException: My id 3 not in the peer list"}})
		f := s.ask().Verdicts[0].Fixes[0]
		if named := strings.HasSuffix(f.Text, ", in ConfigMap zoo"); !strings.Contains(f.Text, "server.3=HOST") || named != (test.want != "") || named && (f.Command != test.want || f.Risk != answer.Restarts) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// An end with exit code 0 is a failure where etcd calls it an error, and quotes that and no goodbye.
func TestSuccessOfRemovedMember(t *testing.T) {
	s := tell(t, web(silentProbe))
	s.wait(10 * time.Second)
	s.exit("app", fact.Exited{StatusKnown: true, OOMKnown: true, LastLines: []string{
		"2026-11-26 21:06:51.773693 E | etcdserver: the member has been permanently removed from the cluster",
		"2026-11-26 21:06:51.773702 I | etcdserver: the data-dir used by this member must be removed.",
		"2026-11-26 21:06:51.773709 I | etcdserver: aborting publish because server is stopped",
	}})
	v := s.ask().Verdicts[0]
	if v.Cause != answer.AppExitError || !strings.Contains(v.Text, "permanently removed from the cluster") || strings.Contains(v.Text, "aborting publish") || v.Fixes[0].Risk != answer.Destructive {
		t.Errorf("%s %s %+v", v.Cause, v.Text, v.Fixes)
	}
}

// Each verb that an entry may use is carried out.
func TestVerbs(t *testing.T) {
	for name := range knowledge.Verbs {
		if verbs[name] == nil {
			t.Errorf("nothing carries out %s", name)
		}
	}
	if len(verbs) != len(knowledge.Verbs) {
		t.Errorf("%d verbs, and entries may use %d", len(verbs), len(knowledge.Verbs))
	}
}

// A message is known by one entry of knowledge/base/minio.yaml, and by nothing else: it explains an end, a probe that
// fails and the complaint of a Ready pod alike.
func TestOneEntry(t *testing.T) {
	const line, means, step = "ERROR Storage backend has reached its minimum free drive threshold. Please delete a few objects to proceed.", "That means: MinIO's drives are nearly full", "delete objects in MinIO"
	has := func(fixes []answer.Fix) bool {
		return slices.ContainsFunc(fixes, func(f answer.Fix) bool { return strings.Contains(f.Text, step) })
	}
	ended := tell(t, web(silentProbe))
	ended.wait(10 * time.Second)
	ended.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{line}})
	probed := tell(t, web(ready))
	probed.probe("app", 2, good(fact.Readiness, time.Millisecond))
	probed.probe("app", 3, status(fact.Readiness, 502, "bad gateway"))
	probed.said([]time.Duration{time.Second}, line)
	probed.probe("app", 1, status(fact.Readiness, 502, "bad gateway"))
	for name, s := range map[string]*tale{"an end": ended, "a probe": probed} {
		if v := s.ask().Verdicts[0]; !strings.Contains(v.Text, means) || !has(v.Fixes) {
			t.Errorf("%s: %s %+v", name, v.Text, v.Fixes)
		}
	}
	well := tell(t, web(ready))
	well.probe("app", 2, good(fact.Readiness, time.Millisecond))
	well.in("app", fact.Looked{PID: 100, State: "S", Over: time.Second, Said: []string{line}, SaidAt: []time.Time{well.now}})
	if all := well.ask().Complaints; len(all) != 1 || !strings.Contains(all[0].Means, means) || !has(all[0].Fixes) {
		t.Errorf("a Ready pod: %+v", all)
	}
}
