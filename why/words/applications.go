package words

import "strings"

// What applications, their languages and libraries say of what they lack.
var (
	// NoMemory is said by a heap or an allocator that has reached its own limit.
	NoMemory = fits("OpenJDK 25, Node 24 (V8), Go 1.26, CPython 3.14, Ruby 3.4, .NET 10, libstdc++, Perl 5.42; strerror(3), ENOMEM",
		`java\.lang\.OutOfMemoryError|heap out of memory|runtime: out of memory|\bMemoryError\b|NoMemoryError|System\.OutOfMemoryException|std::bad_alloc|^Out of memory[!:]|(?i)cannot allocate memory`,
		"java.lang.OutOfMemoryError: Java heap space", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "fatal error: runtime: out of memory", "MemoryError",
		"failed to allocate memory (NoMemoryError)", "System.OutOfMemoryException: Insufficient memory", "terminate called after throwing an instance of 'std::bad_alloc'", "Out of memory!", "fork: Cannot allocate memory")
	// Libraries are the words of a program's loader, which ends with 127 as a shell does.
	Libraries = fits("glibc 2.42, elf/dl-load.c; musl 1.2, ldso/dynlink.c",
		`(?i)error while loading shared libraries|error loading shared library|version .GLIBC\w*_[\d.]+. not found|symbol not found`,
		"/app: error while loading shared libraries: libssl.so.1.1: cannot open shared object file: No such file or directory", "Error loading shared library libgcc_s.so.1: No such file or directory (needed by /app)",
		"/app: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /app)", "Error relocating /app: __res_init: symbol not found")
	CertificateExpired = fits("OpenSSL 3.5, Go 1.26 crypto/x509, Node 24, OpenJDK 25",
		`(?i)certificate has expired|cert_has_expired|certificateexpiredexception|certificate expired|validity check failed`,
		"tls: failed to verify certificate: x509: certificate has expired or is not yet valid", "Error: CERT_HAS_EXPIRED", "java.security.cert.CertificateExpiredException: NotAfter: Sat Jan 01", "PKIX path validation failed: validity check failed")
	CertificateUnknown = fits("OpenSSL 3.5, Go 1.26 crypto/x509, Node 24, OpenJDK 25, CPython 3.14",
		`(?i)unknown authority|self[- ]signed certificate|local issuer certificate|pkix path building|unable to verify the first certificate|certificate verify failed`,
		"x509: certificate signed by unknown authority", "Error: self-signed certificate in certificate chain", "unable to get local issuer certificate", "PKIX path building failed", "unable to verify the first certificate",
		"ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
	WatchesFull = fits("Node 24, webpack 5, fsnotify 1.9; inotify_add_watch(2)",
		`(?i)(file )?watch(es|ers?)\b.*(reached|no space|enospc)|(enospc|no space).*\bwatch|inotify_add_watch|inotify watch`,
		"Error: ENOSPC: System limit for number of file watchers reached, watch '/app'", "inotify_add_watch(\"/app\") failed: No space left on device")
	Credentials = fits("PostgreSQL 17, MySQL 9, Redis 8, SQL Server 2025",
		`(?i)password authentication failed|access denied for user|authentication failed|invalid username or password|wrongpass|noauth authentication required|login failed for user`,
		`FATAL:  password authentication failed for user "shop"`, "ERROR 1045 (28000): Access denied for user 'shop'@'10.42.0.3' (using password: YES)", "WRONGPASS invalid username-password pair or user is disabled.",
		"NOAUTH Authentication required.", "Login failed for user 'sa'.")
	ModuleMissing = fits("CPython 3.14, Node 24, Ruby 3.4, OpenJDK 25",
		`(?i)modulenotfounderror|cannot find module|cannot load such file|no module named|classnotfoundexception|noclassdeffounderror|could not find or load main class|unsupportedclassversionerror`,
		"ModuleNotFoundError: No module named 'flask'", "Error: Cannot find module 'express'", "cannot load such file -- rack (LoadError)", "java.lang.ClassNotFoundException: com.example.Main",
		"Error: Could not find or load main class com.example.Main", "java.lang.UnsupportedClassVersionError: Main has been compiled by a more recent version")
	SettingMissing = fits("what programs say of their environment, in their own words",
		`(?i)\benv(ironment)?\b.{0,40}\b(not set|unset|missing|required|undefined|must be set)|\b(missing|required|undefined)\b.{0,30}\benv(ironment)?\b`,
		"environment variable DATABASE_URL is not set", "missing required environment variable PORT")

	noDNS = fits("glibc 2.42, Node 24, Go 1.26",
		`(?i)temporary failure in name resolution|\beai_again\b|server misbehaving|\blookup \S+( on \S+)?: .*(i/o timeout|refused)`,
		"Could not connect: Temporary failure in name resolution", "Error: getaddrinfo EAI_AGAIN db", "dial tcp: lookup db on 10.96.0.10:53: server misbehaving",
		"dial tcp: lookup db on 10.96.0.10:53: read udp 10.42.0.3:4711->10.96.0.10:53: i/o timeout")
	noName = fits("glibc 2.42, busybox 1.37, curl 8, Go 1.26, Node 24, OpenJDK 25, nginx 1.28, libpq 17, MySQL 9",
		`(?i)no such host|host not found|name or service not known|bad address '|could not resolve|\benotfound\b|unknownhostexception|could not translate host name|nodename nor servname|name does not resolve|no address associated with|unknown (\w+ )?(server )?host\b`,
		"dial tcp: lookup db.shop.svc.cluster.local on 10.96.0.10:53: no such host", `host not found in upstream "backend" in /etc/nginx/nginx.conf:5`, "ping: db: Name or service not known", "nc: bad address 'db'",
		"curl: (6) Could not resolve host: db", "Error: getaddrinfo ENOTFOUND db", "java.net.UnknownHostException: db", `could not translate host name "db" to address`, "ERROR 2005 (HY000): Unknown MySQL server host 'db' (-2)")
	nobodyTakes = fits("strerror(3), ECONNREFUSED; Node 24 gives the name",
		`(?i)connection refused|\beconnrefused\b`,
		"dial tcp 10.0.0.9:6379: connect: connection refused", "Error: connect ECONNREFUSED 10.0.0.9:6379")
	nobodyAnswers = fits("strerror(3), ETIMEDOUT, EHOSTUNREACH, ENETUNREACH; Go 1.26, OpenJDK 25, Node 24",
		`(?i)i/o timeout|connection timed out|operation timed out|connect timed out|\betimedout\b|no route to host|host is unreachable|network is unreachable|\behostunreach\b|\benetunreach\b`,
		"dial tcp 10.0.0.9:5432: i/o timeout", "connect: Connection timed out", "java.net.SocketTimeoutException: Connect timed out", "Error: connect ETIMEDOUT 10.0.0.9:5432", "nc: connect: No route to host", "connect: Network is unreachable")
	place = fits("the same speakers, where they name what they asked",
		`(?i)\blookup ([\w.-]+)|bad address '([\w.-]+)'|(?:enotfound|eai_again) ([\w.-]+)|(?:resolve host:?|host name|host not found in upstream|unknownhostexception:?) "?([\w.-]+)|\bserver at "([\w.-]+)"|\bto ([\w.-]+ port \d+)|\b(?:remote )?host \(([\w.:]+)\)|\b((?:[a-z][\w-]*(?:\.[\w-]+)*|\d+(?:\.\d+){3}):\d{2,5})\b`,
		"dial tcp: lookup db on 10.96.0.10:53: no such host", "nc: bad address 'db'", `connection to server at "db" (10.43.0.9), port 5432 failed: Connection refused`, "curl: (7) Failed to connect to db port 80")

	// Waits is said by one that waits for another.
	Waits = fits("start scripts (wait-for-it, dockerize) and clients that try again",
		`(?i)\b(waiting|wait|still waiting) (for|until|on)\b|\b(retrying|reconnecting|trying to (connect|reach))\b`,
		"waiting for db:5432", "Reconnecting in 5 s").except(served)
	// served is what a server or a worker waits for that is well: others to come to it.
	served = fits("servers and workers that are idle",
		`(?i)\b(connections?|requests?|messages?|jobs?|tasks?|work|events?|clients?|commands?|input|signals?|queries|changes|shutdown|termination)\b`,
		" [*] Waiting for messages. To exit press CTRL+C")
	// Asked is the host that a command asks: by the variable that Kubernetes sets for a
	// Service, by a URL, as host:port, or as the clients of databases take it.
	Asked = fits("shells, curl and wget, nc of busybox, clients of PostgreSQL, Redis and MySQL",
		`\$\{?([A-Z][A-Z0-9_]*)_SERVICE_HOST\b|\bhttps?://(?:[^/@\s]*@)?([\w.-]+)|\b([a-z][\w-]*(?:\.[\w-]+)*):\d{2,5}\b|\bnc(?: -\w+)* ([a-z][\w.-]*) \d{2,5}\b|\b(?:pg_isready|psql|redis-cli|mysql|mysqladmin)\b.*? -h[ =]?([\w.-]+)`,
		"wget -qO- http://db/health", "nc -z db 5432", "pg_isready -h db", "curl $DB_SERVICE_HOST")
	// HostHeader is an answer that complains of the Host header.
	HostHeader = says("Django 5, Rails 8, webpack-dev-server 5, Jetty 12, Vite 7, RFC 9110 (421)",
		[]string{"http_host", "host header", "blocked host", "invalid host", "unknown host", "misdirected"},
		"Invalid HTTP_HOST header: '10.42.0.3:8000'", "Invalid Host header", "Blocked hosts: 10.42.0.3:3000", "unknown host", "421 Misdirected Request")
)

// unreached is what kept a connection from coming about; the first that fits counts.
var unreached = []struct {
	what string
	said *Phrase
}{
	{"DNS did not answer", noDNS},
	{"there is no such name in DNS", noName},
	{"nobody takes connections there", nobodyTakes},
	{"nobody answers there", nobodyAnswers},
}

// Unreached reads what a line says of a connection that did not come about: what kept
// it, and where to, as a name, an address or host:port, empty where it does not say.
func Unreached(line string) (what, where string, ok bool) {
	for _, u := range unreached {
		if !u.said.In(line) {
			continue
		}
		for _, w := range place.Find(line) {
			if w != "" {
				return u.what, strings.Replace(strings.TrimRight(w, "."), " port ", ":", 1), true
			}
		}
		return u.what, "", true
	}
	return "", "", false
}
