package words

import "strings"

// What our own prober's clients say of an answer that is none: Go's HTTP and gRPC
// clients have no types for these.
var (
	NotTLS = says("net/http and crypto/tls of Go 1.26",
		[]string{"http response to https client", "first record does not look like a tls handshake"},
		`Get "https://10.42.0.3:8080/": http: server gave HTTP response to HTTPS client`, "tls: first record does not look like a TLS handshake")
	// TLSAlert quotes the beginning of an alert that stands where a status line should
	// (RFC 8446, 5.1: content type 21, version 3).
	TLSAlert = says("net/http of Go 1.26, ReadResponse",
		[]string{`malformed http response "\x15\x03`},
		`net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x15\x03\x01\x00\x02\x02"`)
	// TLSFails is an alert with which a server that speaks TLS, and the client's, gives a handshake up for
	// what it lacks itself, such as a certificate for the name that is asked (RFC 8446, 6.2).
	TLSFails = says("crypto/tls of Go 1.26, alertText",
		[]string{"remote error: tls: internal error", "remote error: tls: unrecognized name", "remote error: tls: handshake failure"},
		`Get "https://10.42.0.10:8443/": remote error: tls: internal error`, "remote error: tls: unrecognized name", "remote error: tls: handshake failure")
	OtherProtocol = says("net/http, crypto/tls and http2 of Go 1.26",
		[]string{"http response to https client", "malformed http", "first record does not look like a tls handshake", "tls: ", "http2: "},
		"http: server gave HTTP response to HTTPS client", `malformed HTTP status code "ready"`, "tls: first record does not look like a TLS handshake", "http2: server sent GOAWAY")
	ManyRedirects   = says("net/http of Go 1.26, defaultCheckRedirect", []string{"stopped after 10 redirects"}, `Get "/": stopped after 10 redirects`)
	ServiceNotKnown = says("grpc-go, health/server.go; kubelet 1.36, pkg/probe/grpc", []string{"code = notfound"}, "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service")
	NoHealthService = says("kubelet 1.36, pkg/probe/grpc", []string{"does not implement the grpc health protocol"}, "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service grpc.health.v1.Health")
	// WantsHTTPS is the body of a 400 that a server answers plain HTTP with on a TLS port.
	WantsHTTPS = says("nginx 1.28, Go 1.26 net/http, Apache 2.4",
		[]string{"https", "ssl", "tls"},
		"Client sent an HTTP request to an HTTPS server.", "Reason: You're speaking plain HTTP to an SSL-enabled server port.", "400 The plain HTTP request was sent to HTTPS port", "TLS required")

	ConnectionRefused = says("Envoy 1.35, linkerd 2; strerror(3)", []string{"connection refused"}, "upstream connect error or disconnect/reset before headers. reset reason: remote connection failure, transport failure reason: delayed connect error: Connection refused")
	ConnectionReset   = says("Envoy 1.35; Go 1.26", []string{"connection reset", "broken pipe"}, "read tcp 10.42.0.3:4711->10.42.0.3:8080: read: connection reset by peer", "write: broken pipe")
	// NoDevTCP is said by a shell that is not bash of bash's files for connections.
	NoDevTCP = fits("dash 0.5, busybox 1.37", `(?i)\b(?:can't|cannot) create /dev/tcp/|/dev/tcp/\S+: no such file`, "sh: can't create /dev/tcp/127.0.0.1/8000: nonexistent directory", "sh: 1: cannot create /dev/tcp/127.0.0.1/8000: Directory nonexistent")
	// Crashed is said by a shell of a program that died of a signal of its own making.
	Crashed = fits("strsignal(3), as shells and runtimes write it", `(?m)^(?:\S+: (?:line )?\d+: +\d+ )?(?:Segmentation fault|Illegal instruction|Bus error|Aborted)(?: \(core dumped\))?(?: .*)?\s*$`, "Segmentation fault", "sh: line 3: 42 Segmentation fault (core dumped) curl -s localhost")
	// NoReply is said by Celery's command line of workers that did not answer by the broker.
	NoReply = fits("Celery 5.2, celery/bin/control.py", `(?i)\bno nodes replied within time constraint\b`, "Error: No nodes replied within time constraint")
	// NoResponse is said by a client that comes with a server, of an address at which none takes connections.
	NoResponse = fits("PostgreSQL 15, pg_isready", `(?m):\d+ - no response\s*$`, "10.42.0.12:5432 - no response")
	// NoAliveJob is said by Airflow's command line of a database that knows no such job, or an old one.
	NoAliveJob = fits("Airflow 2, airflow/cli/commands/jobs_command.py", `(?i)\bno alive jobs found\b`, "No alive jobs found.")
	// NoSuchCommand is said by a server of a command that it does not know.
	NoSuchCommand = fits("Redis 7, server.c; Valkey 9", `(?i)\berr unknown command\b`, "ERR unknown command 'localhost', with args beginning with: '-p' '6379' 'ping'")
	// OtherCookie is said of an Erlang node or its command line that has another cookie.
	OtherCookie = fits("Erlang/OTP 25, dist_util.erl; RabbitMQ 3.10's CLI", `(?i)\bconnection attempt from node '?rabbitmqcli\S* rejected\. invalid challenge reply|\bcheck if the erlang cookies? (?:identical|is identical|match)|\bauthentication failed \(rejected by the remote node\)`,
		"** Connection attempt from node 'rabbitmqcli-308-rabbit@subject' rejected. Invalid challenge reply. **", " * check if the Erlang cookie is identical for all server nodes and CLI tools", "* Authentication failed (rejected by the remote node), please check the Erlang cookie")
	// SaysWell is said by a server's own client of a server that takes its requests.
	SaysWell = fits("PostgreSQL 17, pg_isready; Redis 8; MySQL 9, mysqladmin; RabbitMQ 4, ping", `(?im)\baccepting connections\s*$|^PONG\s*$|\bmysqld is alive\b|^Ping succeeded\s*$`, "127.0.0.1:5432 - accepting connections", "PONG", "mysqld is alive", "Ping succeeded")
	// OwnServerAway is said by the clients that come with a server, of one of the same host that takes no connections.
	OwnServerAway = fits("MariaDB 10.11 and MySQL 8, CR_CONNECTION_ERROR; PostgreSQL 15, pg_isready and libpq; RabbitMQ 3.10's CLI",
		`(?i)\bserver through socket '[^']*' \(\d+|^(?:/[\w./-]*|localhost|127\.\d+\.\d+\.\d+):\d+ - no response|\bon socket "[^"]+" failed: (?:no such file|connection refused)|\bunable to perform an operation on node\b`,
		"ERROR 2002 (HY000): Can't connect to local server through socket '/tmp/mysqld.sock' (2)", "/tmp:5432 - no response", `psql: error: connection to server on socket "/tmp/.s.PGSQL.5432" failed: No such file or directory`,
		"Error: unable to perform an operation on node 'rabbit@subject'. Please see diagnostics information and suggestions below.")
	// ForbiddenByRule is said by a server whose configuration does not let an address ask.
	ForbiddenByRule = fits("nginx 1.22, ngx_http_access_module; Apache 2.4, AH01630", `(?i)\baccess forbidden by rule\b|\bclient denied by server configuration\b`,
		`[error] 6#6: *1 access forbidden by rule, client: 10.42.0.1, server: , request: "GET /-/php-ping HTTP/1.1"`, "[authz_core:error] [client 10.42.0.1:4711] AH01630: client denied by server configuration: /srv/status")
	// NoSocketThere names the file of a socket at which a server's own client found none that listens.
	NoSocketThere = fits("MariaDB 10.11 and MySQL 8, CR_CONNECTION_ERROR; libpq 15", `(?i)\bserver through socket '([^']+)' \(\d+|\bon socket "([^"]+)" failed: (?:no such file|connection refused)`,
		"ERROR 2002 (HY000): Can't connect to local server through socket '/tmp/mysqld.sock' (2)", `psql: error: connection to server on socket "/tmp/.s.PGSQL.5432" failed: No such file or directory`)
	// SocketHere is said by a server of the socket that it listens on.
	SocketHere = fits("MariaDB 10.11 and MySQL 8, ER_STARTUP; PostgreSQL 15, pqcomm.c", `(?i)\bsocket: '(/[^']+)'|\blistening on Unix socket "(/[^"]+)"`,
		"Version: '10.11.14-MariaDB-0+deb12u2' socket: '/data/db/mysql.sock' port: 3306 Debian 12", `LOG:  listening on Unix socket "/tmp/.s.PGSQL.5432"`)
	NoRoute = says("strerror(3), EHOSTUNREACH", []string{"no route to host"}, "dial tcp 10.42.0.3:8080: connect: no route to host")
)

// BrokeOff says whether an answer ended before it was there (io of Go, EOF).
func BrokeOff(text string) bool { return strings.Contains(text, "EOF") }

// Alert is the alert in an error of a handshake, as Go words it.
func Alert(text string) string {
	_, alert, _ := strings.Cut(text, "remote error: ")
	return alert
}

// CutShort says whether an answer ended in its middle (io of Go, ErrUnexpectedEOF).
func CutShort(text string) bool { return strings.HasSuffix(text, "unexpected EOF") }
