package words

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// formats are what Go modules of go.mod, and Go itself, make their messages of, each in the
// file that has it. A sample that fits one is what that version says.
var formats = []struct{ module, file, format string }{
	{"k8s.io/apiserver", "pkg/admission/plugin/resourcequota/controller.go", "exceeded quota: %s, requested: %s, used: %s, limited: %s"},
	{"k8s.io/apiserver", "pkg/admission/plugin/resourcequota/controller.go", "failed quota: %s: %v"},
	{"k8s.io/apiserver", "pkg/admission/plugin/namespace/lifecycle/admission.go", "unable to create new content in namespace %s because it is being terminated"},
	{"k8s.io/apiserver", "pkg/admission/plugin/webhook/errors/statuserror.go", "admission webhook %q denied the request"},
	{"k8s.io/pod-security-admission", "admission/admission.go", "violates PodSecurity %q: %s"},
	{"k8s.io/kubernetes", "plugin/pkg/admission/serviceaccount/admission.go", "error looking up service account %s/%s: %w"},
	{"k8s.io/kubernetes", "plugin/pkg/admission/priority/admission.go", "no PriorityClass with name %v was found"},
	{"k8s.io/kubernetes", "plugin/pkg/admission/runtimeclass/admission.go", "pod rejected: RuntimeClass %q not found"},
	{"k8s.io/kubernetes", "pkg/kubelet/util/manager/watch_based_manager.go", "object %q/%q not registered"},
	{"k8s.io/kubernetes", "plugin/pkg/admission/limitranger/admission.go", "maximum %s usage per %s is %s, but limit is %s"},

	{"k8s.io/kubernetes", "pkg/scheduler/framework/types.go", "0/%v nodes are available"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/volumebinding/binder.go", "node(s) didn't match PersistentVolume's node affinity"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/volumebinding/binder.go", "node(s) didn't find available persistent volumes to bind"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/volumebinding/volume_binding.go", "pod has unbound immediate PersistentVolumeClaims"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/noderesources/fit.go", "Insufficient %v"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/noderesources/fit.go", "Too many pods"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/nodeports/node_ports.go", "node(s) didn't have free ports for the requested pod ports"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go", "node(s) were unschedulable"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go", "node(s) had untolerated taint(s)"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go", "node(s) didn't match Pod's node affinity/selector"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/nodename/node_name.go", "node(s) didn't match the requested node name"},
	{"k8s.io/kubernetes", "pkg/scheduler/framework/plugins/podtopologyspread/plugin.go", "node(s) didn't match pod topology spread constraints"},

	{"k8s.io/kubernetes", "pkg/kubelet/kubelet_pods.go", "couldn't find key %v in Secret %v/%v"},
	{"k8s.io/kubernetes", "pkg/kubelet/kubelet_pods.go", "failed to prepare subPath for volumeMount %q of container %q"},
	{"k8s.io/kubernetes", "pkg/kubelet/kuberuntime/security_context_others.go", "container has runAsNonRoot and image will run as root (pod: %q, container: %s)"},
	{"k8s.io/kubernetes", "pkg/kubelet/kuberuntime/security_context_others.go", "container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root (pod: %q, container: %s)"},
	{"k8s.io/kubernetes", "pkg/kubelet/kuberuntime/kuberuntime_manager.go", "attempting to set pod memory limit (%d) below current usage (%d)"},
	{"k8s.io/kubernetes", "pkg/volume/configmap/configmap.go", "configmap references non-existent config key: %s"},
	{"k8s.io/kubernetes", "pkg/volume/secret/secret.go", "references non-existent secret key: %s"},
	{"k8s.io/kubernetes", "pkg/probe/grpc/grpc.go", "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): %s"},
	{"k8s.io/kubernetes", "pkg/probe/grpc/grpc.go", "error: health rpc probe failed: %+v"},
	{"google.golang.org/grpc", "internal/transport/http2_client.go", "transport: Error while dialing: %v"},
	{"google.golang.org/grpc", "internal/transport/transport.go", "transport is closing"},

	{"github.com/opencontainers/runc", "start.go", "cannot start a container that has stopped"},
	{"github.com/opencontainers/runc", "libcontainer/process_linux.go", "container init was OOM-killed (memory limit too low?)"},
	{"github.com/opencontainers/runc", "libcontainer/init_linux.go", "chdir to cwd (%q) set in config.json failed: %w"},
	{"github.com/opencontainers/runc", "libcontainer/init_linux.go", "unable to apply caps: %w"},
	{"github.com/opencontainers/runc", "libcontainer/init_linux.go", "unable to apply bounding set: %w"},
	{"github.com/opencontainers/runc", "libcontainer/standard_init_linux.go", "unable to init seccomp: %w"},
	{"github.com/opencontainers/runc", "libcontainer/apparmor/apparmor_linux.go", "apparmor failed to apply profile: %w"},
	{"github.com/opencontainers/runc", "libcontainer/rootfs_linux.go", "error mounting %q to rootfs at %q: %w"},
	{"github.com/opencontainers/cgroups", "fs/memory.go", "unable to set memory limit to %d (current usage: %d, peak usage: %d)"},

	{"github.com/containerd/containerd/v2", "core/remotes/docker/resolver.go", "pull access denied, repository does not exist or may require authorization: %w"},
	{"github.com/containerd/containerd/v2", "core/remotes/docker/resolver.go", "failed to authorize: %w"},
	{"github.com/containerd/containerd/v2", "core/remotes/docker/authorizer.go", "failed to fetch anonymous token: %w"},
	{"github.com/containerd/containerd/v2", "core/remotes/docker/errdesc.go", "authentication required"},
	{"github.com/containerd/containerd/v2", "core/remotes/errors/errors.go", "unexpected status from %s request to %s: %s"},

	{"k8s.io/apiserver", "pkg/endpoints/handlers/responsewriters/errors.go", "User %q cannot %s resource %q in API group %q in the namespace %q"},
	{"k8s.io/apimachinery", "pkg/api/meta/errors.go", "no matches for kind %q in version %q"},
	{"k8s.io/client-go", "tools/leaderelection/leaderelection.go", "Failed to renew lease"},

	{"k8s.io/client-go", "rest/config.go", "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"},
	{"k8s.io/apimachinery", "pkg/api/errors/errors.go", "the server could not find the requested resource"},
	{"k8s.io/apiserver", "pkg/util/webhook/error.go", "failed calling webhook %q: %v"},

	{"std", "encoding/base64/base64.go", "illegal base64 data at input byte "},
	{"std", "crypto/tls/tls.go", "tls: failed to find any PEM data in certificate input"},
	{"std", "encoding/json/scanner.go", "looking for beginning of object key string"},
	{"std", "runtime/panic.go", "invalid memory address or nil pointer dereference"},
	{"std", "net/net.go", "no such host"},
	{"std", "net/dnsclient_unix.go", "server misbehaving"},
	{"std", "net/http/transport.go", "net/http: TLS handshake timeout"},
	{"std", "net/http/client.go", "http: server gave HTTP response to HTTPS client"},
	{"std", "net/http/client.go", "stopped after 10 redirects"},
	{"std", "net/http/response.go", "malformed HTTP response"},
	{"std", "net/http/response.go", "malformed HTTP status code"},
	{"std", "net/http/server.go", "Client sent an HTTP request to an HTTPS server."},
	{"std", "crypto/tls/conn.go", "first record does not look like a TLS handshake"},
	{"std", "crypto/x509/verify.go", "certificate has expired or is not yet valid"},
	{"std", "crypto/x509/verify.go", "x509: certificate signed by unknown authority"},
	{"std", "crypto/x509/verify.go", "x509: certificate is valid for %d names, but none matched %s"},
	{"std", "crypto/tls/tls.go", "tls: private key does not match public key"},
	{"std", "flag/flag.go", "flag provided but not defined: -%s"},
	{"std", "runtime/proc.go", `runtime: failed to create new OS thread`},
}

// verb is a verb of a format.
var verb = regexp.MustCompile(`%\\?[+]?[svdqw]`)

// fitting gives for each format, once it was found in the file, what fits it.
func fitting(t *testing.T) []*regexp.Regexp {
	t.Helper()
	dirs := map[string]string{"std": goEnv(t, "env", "GOROOT") + "/src"}
	var fits []*regexp.Regexp
	for _, f := range formats {
		if dirs[f.module] == "" {
			dirs[f.module] = goEnv(t, "list", "-m", "-f", "{{.Dir}}", f.module)
		}
		source, err := os.ReadFile(filepath.Join(dirs[f.module], f.file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), f.format) {
			t.Errorf("%s does not say %q in %s any more", f.module, f.format, f.file)
		}
		fits = append(fits, regexp.MustCompile(verb.ReplaceAllString(regexp.QuoteMeta(f.format), `.*`)))
	}
	return fits
}

func goEnv(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// made are messages that the libraries make here, at the versions of go.mod.
func made(t *testing.T) []string {
	t.Helper()
	var all []string
	add := func(errs ...error) {
		for _, err := range errs {
			all = append(all, err.Error())
		}
	}
	add(
		apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-x", errors.New(`no RuntimeClass "x"`)),
		apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "tls"),
		apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumeclaims"}, "data"),
		apierrors.NewNotFound(schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}, "fast"),
		status.Error(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\""),
		status.Error(codes.DeadlineExceeded, "context deadline exceeded"),
		status.Error(codes.NotFound, "unknown service"),
		io.ErrUnexpectedEOF,
		exec.Command("nope-of-words").Run(), exec.Command("/nope").Run(), exec.Command("/").Run(), exec.Command("/etc/passwd").Run(),
		&net.OpError{Op: "dial", Net: "tcp", Err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}},
		&net.OpError{Op: "read", Net: "tcp", Err: &os.SyscallError{Syscall: "read", Err: syscall.ECONNRESET}},
		&net.DNSError{Err: "no such host", Name: "db", Server: "10.96.0.10:53", IsNotFound: true},
		os.ErrDeadlineExceeded,
		&net.OpError{Op: "remote error", Err: tls.AlertError(80)}, // RFC 8446, 6: internal_error
	)
	for _, errno := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.EROFS, syscall.ENOENT, syscall.EADDRINUSE, syscall.EACCES, syscall.EPERM,
		syscall.EAGAIN, syscall.ENOMEM, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
		syscall.ENOEXEC, syscall.EISDIR, syscall.ENOTDIR, syscall.EAFNOSUPPORT, syscall.EADDRNOTAVAIL, syscall.ESTALE, syscall.ENOTCONN, syscall.EIO, syscall.E2BIG,
	} {
		add(&os.PathError{Op: "open", Path: "/x", Err: errno})
	}
	add(apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-x", errors.New("maximum memory usage per Container is 64Mi, but limit is 128Mi")))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = http.ReadRequest(bufio.NewReader(c))              // what comes before is no answer
			_, _ = io.WriteString(c, "\x15\x03\x01\x00\x02\x02\x46") // an alert of TLS
			c.Close()
		}
	}()
	_, err = http.Get("http://" + l.Addr().String())
	add(err)
	secure := httptest.NewUnstartedServer(http.RedirectHandler("/", http.StatusFound))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	_, err = http.Get(secure.URL)
	add(err)
	_, err = secure.Client().Get(secure.URL)
	add(err)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err = http.Get("https" + strings.TrimPrefix(plain.URL, "http"))
	add(err)
	_, err = tls.Dial("tcp", plain.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	add(err)
	answer, err := http.Get("http" + strings.TrimPrefix(secure.URL, "https"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return append(all, string(body))
}

// recorded are the lines that programs said when testdata/said.sh ran them; said.txt has
// their versions.
func recorded(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/said.txt")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "# ")
	})
}

// fromMemory are the phrases of which nothing here is proved: their speakers are not at hand
// in a test. Each names where its words stand.
var fromMemory = map[*Phrase]string{
	Credentials:      "PostgreSQL, src/backend/libpq/auth.c, auth_failed; Redis, src/acl.c; MySQL, share/messages_to_clients.txt, ER_ACCESS_DENIED_ERROR",
	StillStarts:      "Redis, src/server.c, shared.loadingerr; PostgreSQL, src/backend/tcop/backend_startup.c, src/bin/scripts/pg_isready.c (PQPING_REJECT: cannot_connect_now); MongoDB, error_codes.yml",
	NoUpstream:       "HAProxy, src/http.c, HTTP_ERR_503; Envoy, source/common/router/router.cc; nginx, ngx_http_special_response.c; Apache, mod_proxy_http.c; Varnish, builtin.vcl",
	LetDown:          "CPython, Lib/urllib/error.py; requests, models.py, raise_for_status; axios, lib/core/settle.js; curl, lib/http.c; OpenJDK, HttpURLConnection.java; Spring, WebClientResponseException",
	LetsNotIn:        "OpenSSH, sshconnect2.c, ssh_userauth2",
	WorkerLate:       "gunicorn, arbiter.py, murder_workers; uWSGI, core/master_checks.c; Puma, lib/puma/cluster.rb; PHP, sapi/fpm/fpm/fpm_request.c",
	BadCookie:        "Erlang/OTP, lib/kernel/src/auth.erl, read_cookie and check_cookie",
	RelayDenied:      "Postfix, src/smtpd/smtpd_check.c, permit_auth_destination; Exim, the default configure's acl_check_rcpt; Sendmail, proto.m4, Basic_check_relay",
	DatabaseAway:     "WordPress, wp-includes/functions.php, dead_db",
	NoSuchCommand:    "Redis, src/server.c, processCommand",
	NoResponse:       "PostgreSQL, src/bin/scripts/pg_isready.c, PQPING_NO_RESPONSE",
	NoAliveJob:       "Airflow, airflow/cli/commands/jobs_command.py, check",
	BadPort:          "Node.js, lib/internal/validators.js, validatePort; OpenJDK, java.net.InetSocketAddress, checkPort; Actual, load-config.js",
	ForbiddenByRule:  "nginx, src/http/ngx_http_core_module.c; Apache httpd, modules/aaa/mod_authz_core.c, AH01630",
	NoSocketThere:    "MariaDB, libmysql errmsg.c, CR_CONNECTION_ERROR; PostgreSQL, fe-connect.c",
	SocketHere:       "MariaDB, sql/mysqld.cc and errmsg-utf8.txt, ER_STARTUP; PostgreSQL, src/backend/libpq/pqcomm.c",
	NoReply:          "Celery, celery/bin/control.py, inspect",
	IsDown:           "HAProxy, src/server.c, srv_append_status",
	OwnCheck:         "HAProxy, src/check.c, check_statuses",
	Shadowed:         "CPython, Lib/importlib/_bootstrap.py, _find_and_load_unlocked, and Objects/moduleobject.c, _Py_module_getattro_impl",
	OthersMay:        "Erlang/OTP, lib/kernel/src/auth.erl; PostgreSQL, src/backend/utils/init/miscinit.c, checkDataDir; OpenSSH, authfile.c, sshkey_perm_ok, and misc.c, safe_path",
	NewerData:        "Redis, src/rdb.c, rdbLoadRioWithLoadingCtx; PostgreSQL, src/backend/utils/init/miscinit.c, ValidatePgVersion; MariaDB, storage/innobase/log/log0recv.cc; MongoDB, storage_engine_init.cpp",
	TakenOver:        "Mosquitto, src/handle_connect.c, connect__on_authorised; EMQX, emqx_channel.erl; RabbitMQ, rabbit_mqtt_processor.erl",
	GaveUp:           "supervisord, process.py, give_up; systemd, src/core/unit.c; PM2, lib/God.js",
	TurnedAway:       "CPython, Lib/urllib/error.py and Lib/http/client.py; requests, models.py, raise_for_status; axios, lib/core/settle.js; curl, lib/http_proxy.c; OpenJDK, HttpURLConnection.java",
	HugePages:        "PostgreSQL, src/backend/port/sysv_shmem.c, CreateAnonymousSegment; OpenJDK, src/hotspot/os/linux/os_linux.cpp; DPDK, lib/eal/linux/eal_hugepage_info.c",
	LeftBehind:       "Celery, celery/platforms.py, Pidfile; rackup, lib/rackup/server.rb; PostgreSQL, src/backend/utils/init/miscinit.c, CreateLockFile; Apache, server/log.c",
	Locked:           "MySQL, storage/innobase/os/os0file.cc, os_file_lock; ClickHouse, src/Common/StatusFile.cpp; Prometheus, tsdb/tsdbutil/dir_locker.go; Elasticsearch, NodeEnvironment.java; SQLite, sqlite3ErrStr",
	BadConfig:        "nginx, ngx_conf_file.c; Apache, server/config.c; Caddy, caddyfile/dispenser.go; Squid, cache_cf.cc; NATS, conf/lex.go; HAProxy, src/cfgparse.c",
	noHost:           "Spring, PropertyPlaceholderHelper.java; .NET, CallSiteFactory.cs",
	TakesNoWrites:    "PostgreSQL, src/backend/tcop/utility.c, PreventCommandIfReadOnly; MySQL, ER_OPTION_PREVENTS_STATEMENT; Redis, src/server.c, shared.roslaveerr",
	LacksCopies:      "Redis, src/server.c, shared.noreplicaserr; Kafka, NotEnoughReplicasException.java; MongoDB, error_codes.yml, UnsatisfiableWriteConcern; MariaDB, sql/share/errmsg-utf8.txt, ER_UNKNOWN_COM_ERROR of wsrep",
	StillMember:      "etcd, server/etcdserver/bootstrap.go; Cassandra, service/StorageService.java, checkForEndpointCollision",
	QuotaReached:     "etcd, server/etcdserver/api/etcdhttp/health.go and errors.go; Redis, src/server.c, shared.oomerr",
	PoolTaken:        "psycopg2, lib/pool.py; SQLAlchemy, pool/impl.py; HikariPool.java; node-postgres, pg-pool/index.js; Rails, connection_pool.rb",
	nobodyLeft:       "redis-py, redis/sentinel.py, discover_master; kafka-python, errors.py; PyMongo, topology.py; Redis, src/cluster.c, getNodeByQuery; nats.go, ErrNoServers",
	BrokenOff:        "Go, src/net/net.go, OpError.Error",
	systemTable:      "MariaDB, sql/share/errmsg-utf8.txt, ER_NO_SUCH_TABLE; sql/mysqld.cc, of its privilege tables",
	NoDatabase:       "PostgreSQL, src/backend/utils/init/postinit.c; MySQL, ER_BAD_DB_ERROR; Cassandra, ClientState.java",
	LockWait:         "MySQL, ER_LOCK_WAIT_TIMEOUT; PostgreSQL, src/backend/storage/lmgr/deadlock.c; Liquibase, StandardLockService.java",
	NotEmpty:         "PostgreSQL, src/bin/initdb/initdb.c, create_data_directory; MySQL, sql/dd/impl/system_registry.cc, sql/mysqld.cc; git, builtin/clone.c",
	OldProcessor:     "glibc, sysdeps/x86/dl-get-cpu-features.c; MongoDB, docker-entrypoint.sh",
	MapsFull:         "Elasticsearch, BootstrapChecks.java, MaxMapCountCheck",
	HeldBy:           "no one program: it is the habit of many",
	heldByAnother:    "as that of Locked",
	SaysReady:        "Celery's and Redis' words are those of the situations, the others are from memory",
	ProgramDown:      "the outputs of supervisorctl status were seen in scenario supervisord-expected-exit; runit's sv is from memory",
	EndExpected:      "seen in scenario supervisord-expected-exit",
	SettingMissing:   "no one program: it is the habit of many",
	onLoopback:       "Werkzeug, serving.py, log_startup; Uvicorn, server.py, _log_started_message; gunicorn, arbiter.py, start; Puma, binder.rb; Vite, src/node/logger.ts",
	NoPassword:       "PostgreSQL, src/interfaces/libpq/fe-auth.c, pg_fe_sendauth",
	HostHeader:       "Django, django/http/request.py, get_host; Rails, HostAuthorization; webpack-dev-server, lib/Server.js",
	ChangeLogLock:    "Liquibase, StandardLockService.java, waitForLock",
	skipped:          "PostgreSQL, src/backend/catalog/heap.c, of CREATE … IF NOT EXISTS",
	ThereAlready:     "PostgreSQL, src/backend/catalog/heap.c; MySQL, ER_TABLE_EXISTS_ERROR; SQLite, src/build.c",
	StartsUp:         "PostgreSQL, src/backend/tcop/backend_startup.c; Redis, src/server.c, shared.loadingerr",
	ShardLimit:       "Elasticsearch, ShardLimitValidator.java",
	QueueAlarm:       "RabbitMQ, deps/rabbit/src/rabbit_alarm.erl",
	WorkerKilled:     "billiard, pool.py, mark_as_worker_lost; gunicorn, arbiter.py, reap_workers; CPython, concurrent/futures/process.py",
	BlockedHost:      "Django, django/http/request.py, get_host; Rails, HostAuthorization; webpack-dev-server, lib/Server.js",
	NoICU:            ".NET, System.Private.CoreLib, GlobalizationMode.Unix.cs",
	ClockWrong:       "S3's error codes; CockroachDB, pkg/server/server.go; MIT Kerberos, KRB5KRB_AP_ERR_SKEW",
	LicenceOver:      "no one program: it is the habit of many",
	HostKey:          "OpenSSH, sshconnect.c, verify_host_key; golang.org/x/crypto, ssh/knownhosts, KeyError",
	CloudRight:       "the error codes of AWS's IAM, of Google's IAM and of Azure's Resource Manager",
	TokenExpired:     "AWS's STS, ExpiredToken; jsonwebtoken, verify.js; PyJWT, api_jwt.py; golang-jwt, errors.go",
	RateLimited:      "RFC 6585; Boulder, probs.go; AWS's ThrottlingException; Docker Hub's registry",
	NoBucket:         "the error codes of S3",
	GatedModel:       "huggingface_hub, errors.py; transformers, utils/hub.py",
	InotifyFull:      ".NET, FileSystemWatcher.Linux.cs, SR.IOException_INotifyInstanceUserLimitExceeded; systemd, src/core/path.c",
	SmallShm:         "PostgreSQL, src/backend/storage/ipc/dsm_impl.c; PyTorch, torch/utils/data/_utils/signal_handling.py",
	StaticTLS:        "glibc, elf/dl-reloc.c, _dl_allocate_static_tls",
	OwnServerAway:    "MariaDB, CR_CONNECTION_ERROR; PostgreSQL, pg_isready.c; libpq, fe-connect.c; RabbitMQ, rabbitmq_cli",
	NoDevice:         "OpenVPN, src/openvpn/tun.c; libfuse, lib/mount.c; QEMU, accel/kvm/kvm-all.c",
	NoFirewall:       "iptables, libiptc/libiptc.c and iptables/nft.c",
	ChromeSandbox:    "Chromium, content/browser/zygote_host/zygote_host_impl_linux.cc",
	NoDisplay:        "GTK, gdk/x11; Qt, QGuiApplication; OpenJDK, GraphicsEnvironment.java",
	NoGPU:            "CUDA, cudaErrorNoDevice; PyTorch, c10/cuda and torch/cuda/__init__.py",
	GPUDriver:        "CUDA, cudaErrorInsufficientDriver; PyTorch, torch/cuda/__init__.py; nvidia-container-cli",
	GPUKind:          "CUDA, cudaErrorNoKernelImageForDevice; PyTorch, torch/cuda/__init__.py",
	GPUMemory:        "PyTorch, c10/cuda/CUDACachingAllocator.cpp; vLLM, v1/core/kv_cache_utils.py",
	LoginKind:        "MySQL, ER_NOT_SUPPORTED_AUTH_MODE; libpq, fe-auth.c; pgjdbc, ConnectionFactoryImpl.java",
	TLSWanted:        "MySQL, ER_SECURE_TRANSPORT_REQUIRED; Azure's gateway of PostgreSQL",
	MigrationFailed:  "golang-migrate, migrate.go, ErrDirty; Prisma's error codes; Flyway, DbMigrate.java",
	MigrationChanged: "sqlx, sqlx-core/src/migrate/error.rs; Flyway, MigrationInfoImpl.java; Alembic, script/revision.py",
	TooBig:           "MySQL, ER_NET_PACKET_TOO_LARGE; nginx, ngx_http_request_body.c; grpc-go, rpc_util.go; Kafka, RecordTooLargeException.java",
	CannotSave:       "Redis, src/server.c, shared.bgsaveerr; src/rdb.c",
	CannotFork:       "Redis, src/rdb.c, rdbSaveBackground; src/aof.c",
	OfACluster:       "Redis, src/cluster.c, clusterRedirectClient",
	OtherCluster:     "Kafka, KafkaServer.scala; Patroni, ha.py, sysid_valid; etcd, server/etcdserver/api/rafthttp",
	FewBrokers:       "Kafka, ReplicationControlManager.java, StripedReplicaPlacer.java",
	NotFormatted:     "Kafka, MetaPropertiesEnsemble.java, verify",
	Sealed:           "Vault, vault/core.go, ErrSealed and ErrNotInit",
	Watermark:        "Elasticsearch, DiskThresholdMonitor.java; IndexMetadata.java, INDEX_READ_ONLY_ALLOW_DELETE_BLOCK",
	ChangesGone:      "MariaDB, sql/sql_repl.cc and sql/slave.cc; PostgreSQL, src/backend/replication/walsender.c",
	FolderGone:       "PostgreSQL, src/backend/storage/file/fd.c, ReadDirExtended",
	NoApacheVariable: "Apache, server/core.c, ap_resolve_env",
	NotAmongPeers:    "ZooKeeper, QuorumPeer.java, startLeaderElection",
	MemberRemoved:    "etcd, etcdserver/server.go, ErrMemberRemoved; etcdserver/raft.go",
	OwnMount:         "GNU sed, sed/utils.c, ck_rename; busybox, editors/sed.c; coreutils, src/copy.c; strerror(3), EBUSY",
	CacheUser:        "memcached, proto_text.c, process_command_ascii and try_read_command_asciiauth",
	BrokerUser:       "Mosquitto, lib/strings_mosq.c, mosquitto_connack_string; src/handle_connect.c",
	NewNode:          "Redis, src/cluster_legacy.c, clusterInit",
	ClusterFails:     "Redis, src/cluster_legacy.c, genClusterInfoString; src/cluster.c, clusterRedirectClient",
	EndsAtOnce:       "supervisord, process.py, finish",
	NoDevTCP:         "dash, src/redir.c; busybox, shell/ash.c",
	OtherCookie:      "Erlang/OTP, lib/kernel/src/dist_util.erl; RabbitMQ, diagnostics of its CLI",
	SaysWell:         "PostgreSQL, pg_isready.c; Redis; MySQL, mysqladmin.cc; RabbitMQ's CLI",
	SmallBuffer:      "uWSGI, proto/base.c and core/protocol.c",
	GaveNoPassword:   "MySQL, ER_ACCESS_DENIED_ERROR; Redis, src/networking.c, authRequired; libpq, fe-auth.c",
	WrongPassword:    "MySQL, ER_ACCESS_DENIED_ERROR; Redis, src/acl.c; PostgreSQL, auth.c",
	SQLiteNotOpened:  "SQLite, src/main.c, sqlite3ErrStr",
	NoSlot:           "PostgreSQL, src/backend/replication/slot.c",
	AsksOthers:       "etcd, server/etcdserver/bootstrap.go",
	NoPasswordThere:  "Redis, src/acl.c, authCommand",
	BrokerRefuses:    "RabbitMQ, rabbit_reader.erl and rabbit_channel.erl; AMQP 0-9-1, 1.2, constants of class error",
	NoVirtualHost:    "RabbitMQ, rabbit_reader.erl, handle_method0",
	NotExpanded:      "supervisord, options.py, expand",
	TooOld:           "Sidekiq, lib/sidekiq/cli.rb; Django, db/backends/base/base.py; Cilium, pkg/datapath/linux/requirements.go",
}

// Each phrase is found in something that was really said: by a library of go.mod, in the
// format of its source or made by it here, or by a program that was run.
func TestPhrasesAreReal(t *testing.T) {
	fits, texts := fitting(t), append(made(t), recorded(t)...)
	for _, p := range known {
		real := slices.ContainsFunc(texts, p.In)
		for _, s := range p.samples {
			real = real || slices.ContainsFunc(fits, func(f *regexp.Regexp) bool { return p.In(f.FindString(s)) })
		}
		if where := fromMemory[p]; real == (where != "") {
			t.Errorf("%s: real %v, from memory %q", p.source, real, where)
		}
	}
}
