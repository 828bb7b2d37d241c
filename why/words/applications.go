package words

import (
	"regexp"
	"strconv"
	"strings"
)

// ShellCodes are the exit codes that shells have for what they could not run, with what
// they stand for (POSIX.1-2024, 2.8.2).
var ShellCodes = map[int32]string{
	126: "126 is what a shell gives for a command that it may not execute",
	127: "127 is what a shell gives for a command that it does not find",
}

// NodeCodes are the exit codes that Node.js has for ends of its own, with what they stand for
// (Node 24, doc/api/process.md, Exit codes).
var NodeCodes = map[int32]string{
	9:  "9 is what Node.js gives for an option that it does not know, or a value that it does not take",
	12: "12 is what Node.js gives for a wrong port or address of its debugger",
	13: "13 is what Node.js gives where nothing is left to do and an await at the top of a module was not settled yet: what it waits for there never comes",
}

// What applications, their languages and libraries say of what they lack.
var (
	// NoMemory is said by a heap or an allocator that has reached its own limit.
	NoMemory = fits("OpenJDK 25, Node 24 (V8), Go 1.26, CPython 3.14, Ruby 3.4, .NET 10, libstdc++, Perl 5.42, busybox 1.35; strerror(3), ENOMEM",
		`java\.lang\.OutOfMemoryError|heap out of memory|runtime: out of memory|\b_?(Array)?MemoryError\b|Allowed memory size of \d+ bytes exhausted|NoMemoryError|System\.OutOfMemoryException|std::bad_alloc|^Out of memory[!:]|^[\w./-]+: out of memory$|(?i)cannot allocate memory`,
		"java.lang.OutOfMemoryError: Java heap space", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "fatal error: runtime: out of memory", "MemoryError",
		"failed to allocate memory (NoMemoryError)", "System.OutOfMemoryException: Insufficient memory", "terminate called after throwing an instance of 'std::bad_alloc'", "Out of memory!", "PHP Fatal error:  Allowed memory size of 134217728 bytes exhausted (tried to allocate 20480 bytes)", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB", "sort: out of memory", "fork: Cannot allocate memory").except(StaticTLS)
	// RefusedMemory is said by a program that the kernel gave no more memory: at a limit of
	// address space, of what may be promised, or of huge pages.
	RefusedMemory = says("strerror(3), ENOMEM", []string{"cannot allocate memory"}, "fork: Cannot allocate memory").except(StaticTLS)
	HugePages     = says("PostgreSQL 17, sysv_shmem.c; OpenJDK 25, os_linux.cpp; DPDK 25", []string{"huge page", "hugepage", "large pages"},
		"HINT:  This error usually means that PostgreSQL's request for a shared memory segment exceeded available memory, swap space, or huge pages.", "Failed to reserve large pages memory", "EAL: No free 2048 kB hugepages reported on node 0")
	// LeftBehind is said of a file of an earlier run that says that the program runs already.
	LeftBehind = fits("Celery 5, platforms.py; Rack 3, server.rb; Apache 2.4; PostgreSQL 17, miscinit.c; MongoDB 8; Dovecot 2.4",
		`(?i)\balready running with pid \d+ \(read from (\S+?)\)|\bpid ?file \(?(\S+?)\)? already exists|a server is already running\b.*check (\S+)|lock file "([^"]+)" already exists|\b(httpd) \(pid \d+\) already running|unable to lock the lock file: (\S+)`,
		"ERROR: Pidfile (celerybeat.pid) already exists.", "A server is already running. Check /app/tmp/pids/server.pid.", `FATAL:  lock file "postmaster.pid" already exists`, "httpd (pid 1) already running", "Fatal: Dovecot is already running with PID 31 (read from /run/dovecot/master.pid)")
	// Locked is said by one that finds its data in the hands of another process.
	Locked = fits("Prometheus 3, MySQL 9, ClickHouse 25, ActiveMQ 6, Elasticsearch 9, SQLite 3, cron 3, LevelDB 1, bbolt 1, Terraform 1",
		`(?i)\b(can(no|')t|could ?n[o']t|unable to|failed to) ((acquire|obtain|get|take|create) (an? |the )?(\w+ ){0,3}|(an? |the )?)locks?\b|\bcould not be locked\b|\b(database|file|directory|folder|index|store|repository|state|volume)\b.{0,60} is (already )?locked\b|\balready locked\b|\block \S+( \S+)?: resource temporarily unavailable|\bmay be already in use: "|\block held by another\b|\balready held by process\b|\berror acquiring the (state )?lock\b|\banother \w+ (instance|process|server)\b.{0,30} (is already running|holds|is using)`,
		"opening storage failed: lock DB directory: resource temporarily unavailable", "[InnoDB] Unable to lock ./ibdata1 error: 11", "Cannot lock file /var/lib/clickhouse/status. Another server instance in same directory is already running.",
		"java.io.IOException: File '/data/kahadb/lock' could not be locked.", "failed to obtain node locks", "sqlite3.OperationalError: database is locked", "cron: can't lock /var/run/crond.pid, otherpid may be 1", "Error: Error acquiring the state lock", "LOCK: already locked", "Database may be already in use: \"/data/app.mv.db\"", "LockObtainFailedException: Lock held by another program: /data/write.lock", "Could not acquire change log lock.", "resource temporarily unavailable: LOCK: already held by process").except(lockFile)
	// HeldBy is said by one that waits for a lock of which it knows who has it.
	HeldBy = fits("no one program: clients of Redis, Consul, etcd and Kubernetes' leases say it in their own words",
		`(?i)\b(?:lock|lease|mutex|semaphore)\b.{0,60}\b(?:held|locked|owned|taken) by \S`,
		"could not acquire lock:catalog, held by importer", "lock is held by web-7d9 and has not expired").except(heldByAnother)
	heldByAnother = fits("as [Locked]", `(?i)\b(?:held|locked|owned|taken) by (?:another|process)\b`, "LockObtainFailedException: Lock held by another program: /data/write.lock", "LOCK: already held by process")
	lockFile      = fits("strerror(3), EACCES and EPERM, of a file of a lock", `(?i)permission denied|accessdenied|read-only file system|operation not permitted`, "fatal: open lock file /var/lib/postfix/master.lock: cannot open file: Permission denied")
	// BadConfig is said of a place in a file of configuration.
	BadConfig = fits("nginx 1.28, Apache 2.4, HAProxy 3, Caddy 2, CoreDNS 1.12, Dovecot 2.4, Squid 7, NATS 2, BIND 9.20, Fluent Bit 4, Vault 1.18",
		`(?i)\b(?:syntax error|error|unknown|invalid|unrecogni[sz]ed|unexpected|bungled|illegal|bad|parsing)\b.{0,60}?[\s"'(\[=]((?:/[\w.@-]+)+) ?(?::| line | on line )(\d+)\b|\bsyntax error on line (\d+) of ((?:/[\w.@-]+)+)|((?:/[\w.@-]+)*/?[\w-]+file|(?:/[\w.@-]+)*/?[\w-]+\.(?:conf|cfg|cnf|ya?ml|json|toml|hcl|ini|xml|vcl)|(?:^|[\s"'(\[=])(?:/[\w.@-]+)+\.local):(\d+)\b.{0,60}\b(?:error|unknown|invalid|unrecogni[sz]ed|unexpected|undefined|illegal|missing|duplicate)|\bfrom ((?:/[\w.@-]+)+): at (\d+):\d+: `,
		"[emerg] unexpected \"}\" in /etc/nginx/nginx.conf:9", "AH00526: Syntax error on line 12 of /usr/local/apache2/conf/httpd.conf:", "/etc/caddy/Caddyfile:12: unrecognized directive: revers_proxy", "FATAL: Bungled /etc/squid/squid.conf line 14: acl localnet sr 10.0.0.0/8",
		"Error in configuration file /etc/dovecot/dovecot.conf line 12: Unknown setting: ssl_cret", "nats-server: nats.conf:4:3: unknown field \"jetstrem\"", "error loading configuration from /vault/config/vault.hcl: At 12:5: illegal character", "/etc/bind/named.conf:3: unknown option 'recursoin'", "[ALERT] config : parsing [/srv/haproxy.cfg:3]: unknown keyword 'maxcon'").except(inSource)
	inSource = fits("CPython 3.14, PHP 8.4, Node 24, Ruby 3.4, Go 1.26", `\.(php|py|[cm]?js|ts|rb|java|go|p[lm]|kt|lua|exs?|erl|sh)(:| on line |", line | line )\d+`, "PHP Fatal error: no memory in /srv/status.php on line 3", "/srv/config.rb:3: syntax error, unexpected end-of-input")
	// TakesNoWrites is said by a database that answers, and changes nothing.
	TakesNoWrites = fits("PostgreSQL 17, utility.c; MySQL 9, MariaDB 12; Redis 8; MongoDB 8",
		`(?i)in a read-only transaction|--(super-)?read-only option|can't write against a read only replica|\bREADONLY\b|not ?(writable)?primary`,
		"ERROR:  cannot execute INSERT in a read-only transaction", "The MySQL server is running with the --read-only option so it cannot execute this statement", "READONLY You can't write against a read only replica.", "NotWritablePrimary")
	// QuotaReached is said by a database that takes no more because of a limit of its own.
	QuotaReached = fits("etcd 3.6, Redis 8, OpenLDAP 2.6 (LMDB)",
		`\bNOSPACE\b|\bMDB_MAP_FULL\b|database space exceeded|command not allowed when used memory > 'maxmemory'`,
		"/health error due to alarm:NOSPACE", "etcdserver: mvcc: database space exceeded", "OOM command not allowed when used memory > 'maxmemory'.", "mdb_put failed: MDB_MAP_FULL: Environment mapsize limit reached(-30792)")
	// PoolTaken is said by a pool that has no connection left to give.
	PoolTaken = fits("psycopg 2.9 and 3, SQLAlchemy 2, HikariCP 6, node-postgres 8, Rails 8, Go 1.26",
		`(?i)connection pool exhausted|QueuePool limit of|connection is not available, request timed out|timeout exceeded when trying to connect|could not obtain a connection from the pool|couldn't get a connection after|\bconnectionacquiretimeout(error)?\b`,
		"psycopg2.pool.PoolError: connection pool exhausted", "QueuePool limit of size 5 overflow 10 reached, connection timed out", "HikariPool-1 - Connection is not available, request timed out after 30000ms.", "could not obtain a connection from the pool within 5.000 seconds", "ConnectionAcquireTimeoutError [SequelizeConnectionAcquireTimeoutError]: Operation timeout")
	// ConnectionLimit is said by a server that takes no more connections or requests.
	ConnectionLimit = fits("Apache 2.4, mpm_prefork.c; PHP 8.4, fpm_children.c; HAProxy 3, nginx 1.28, PostgreSQL 17, MariaDB 12, Redis 8, MongoDB 8, memcached 1.6",
		`(?i)server reached (MaxRequestWorkers|MaxClients|pm\.max_children|max_children)|reached (process|the frontend's|its) (maxconn|limit)|\bmaxconn\b.*reached|worker_connections are not enough|too many connections\b|too many clients already|max(imum)? number of clients (has been )?reached|connection refused because too many open connections|too many open connections`,
		"[mpm_prefork:error] [pid 1] AH00161: server reached MaxRequestWorkers setting, consider raising the MaxRequestWorkers setting", "WARNING: [pool www] server reached pm.max_children setting (1), consider raising it", "1024 worker_connections are not enough",
		"FATAL:  sorry, too many clients already", "ERROR 1040 (HY000): Too many connections", "ERR max number of clients reached")
	// WorkerLate is said by a server that ends a worker of its own because a request takes
	// longer than it allows.
	WorkerLate = fits("gunicorn 23, arbiter.py; uWSGI 2.0, core/master_checks.c; Puma 7, cluster.rb; Unicorn 6, http_server.rb; PHP 8.4, fpm_request.c",
		`(?i)\bworker timeout\b|\bharakiri\b|terminating timed out worker|worker=\d+ .*timeout \(\d+s > \d+s\), killing|execution timed out \([\d.]+ sec\), terminating`,
		"[CRITICAL] WORKER TIMEOUT (pid:7)", "*** HARAKIRI ON WORKER 1 (pid: 7, try: 1) ***", "! Terminating timed out worker (Worker 0 failed to check in within 60 seconds): 7",
		"ERROR -- : worker=0 PID:7 timeout (61s > 60s), killing", `WARNING: [pool www] child 7, script '/srv/index.php' (request: "GET /index.php") execution timed out (10.5 sec), terminating`)
	// NoUpstream is said by a gateway whose application is not there.
	NoUpstream = fits("HAProxy 3, Envoy 1.35, Traefik 3, nginx 1.28, Apache 2.4, Varnish 8",
		`(?i)no server is available to handle|no healthy upstream|upstream connect error|no available server|has no server available|bad gateway|gateway time-?out|error reading from remote server|backend fetch failed`,
		"<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>", "no healthy upstream", "upstream connect error or disconnect/reset before headers",
		"no available server", "502 Bad Gateway", "Error 503 Backend fetch failed", "The proxy server received an invalid response: Error reading from remote server")
	// TurnedAway is said by a client that was answered in a way in which proxies answer, too.
	TurnedAway = fits("CPython 3.14 urllib, requests 2.32, axios 1.12, curl 8, wget 1.25, OpenJDK 25, Node 24",
		`(?i)\bhttp error (403|407|50[234])\b|\b(403|407) client error: |\b50[234] server error: |\b(status|response) code:? (403|407|50[234])\b|returned error: (http/[\d.]+ )?(403|407|50[234])\b|proxy authentication required|tunnel (connection )?failed\b|unable to tunnel through proxy`,
		"urllib.error.HTTPError: HTTP Error 403: Forbidden", "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: http://stock/", "AxiosError: Request failed with status code 403",
		"curl: (22) The requested URL returned error: 403", "OSError: Tunnel connection failed: 403 Forbidden", "curl: (56) CONNECT tunnel failed, response 403", "java.io.IOException: Unable to tunnel through proxy. Proxy returns \"HTTP/1.1 403 Forbidden\"")
	// LetDown is said by a client whose question was answered with a failure of whom it asked.
	LetDown = fits("CPython 3.14 urllib, requests 2.32, httpx 0.28, axios 1.12, got 14, curl 8, wget 1.25, OpenJDK 25, Spring 7, OpenFeign 13, Guzzle 7, Ruby 3.4 net/http, .NET 10, Go programs",
		`(?i)\bhttp error 5\d\d\b|\b5\d\d server error: |\bserver error '5\d\d |\b(failed with|unexpected|got|received|returned|bad|non-200|not indicate success)\b.{0,20}\bstatus( code)?:? 5\d\d\b|\bnot indicate success: 5\d\d\b|\bresponse code:? 5\d\d\b|returned error: (http/[\d.]+ )?5\d\d\b|\berror 5\d\d: |\b5\d\d [\w ]+ (from|on) (get|head|post|put|patch|delete) |\b5\d\d, message='|\burl: (get|put|post|list|delete) \S+.{1,5}code: 5\d\d\b|\[5\d\d[^\]]*\] during \[|resulted in a .5\d\d |\(Net::HTTPFatalError\)|\b(GET|HEAD|POST|PUT|PATCH|DELETE) "?https?://[^\s"]+"?: "?5\d\d\b|\berror reply to \w+ from (master|primary)\b`,
		"Error reply to PING from master: '-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.'", "urllib.error.HTTPError: HTTP Error 500: INTERNAL SERVER ERROR", "requests.exceptions.HTTPError: 500 Server Error: INTERNAL SERVER ERROR for url: http://stock:8000/",
		"httpx.HTTPStatusError: Server error '503 SERVICE UNAVAILABLE' for url 'http://stock:8000/'", "AxiosError: Request failed with status code 500", "HTTPError: Response code 502 (Bad Gateway)",
		"curl: (22) The requested URL returned error: 503", "wget: server returned error: HTTP/1.1 500 Internal Server Error", "2026-11-23 08:00:00 ERROR 500: Internal Server Error.",
		"java.io.IOException: Server returned HTTP response code: 500 for URL: http://stock:8000/", "500 Internal Server Error from GET http://stock:8000/",
		"feign.FeignException$InternalServerError: [500 INTERNAL SERVER ERROR] during [GET] to [http://stock:8000/] [Stock#get()]: []", "Server error: `GET http://stock:8000/` resulted in a `500 Internal Server Error` response",
		`500 "Internal Server Error" (Net::HTTPFatalError)`, "Response status code does not indicate success: 500 (Internal Server Error).", "unexpected status code: 503", "server returned HTTP status 503 Service Unavailable", "GET http://proxy:8080/prices/4711: 503 Service Unavailable")
	// OwnFile is said by a client that cannot read a file of its own that it needs to ask another.
	OwnFile = fits("libpq 17, fe-secure-openssl.c; OpenSSL 3; CPython 3.14 ssl; MariaDB Connector/C 3; OpenJDK 25",
		`(?i)\bcould not (?:open|read|load|get) (?:[\w-]+ ){0,3}(?:file|certificate|key|CRL)s? "?/|\b(?:private key|certificate|password) file "?/\S+ (?:has|is|must|does)|\bSSL connection error: (?:unable to get|ASN|.{0,20}failed to (?:open|load))|\bkeystore .{0,60}(?:not found|no such file|denied)`,
		`connection to server at "db" (10.0.0.7), port 5432 failed: could not open certificate file "/root/.postgresql/postgresql.crt": Permission denied`, `private key file "/srv/tls.key" has group or world access; file must have permissions u=rw (0600) or less`,
		"SSL connection error: Unable to get private key")
	// Missed is said by one that asked a store for something that it does not have.
	Missed = fits("Redis 8, RabbitMQ 4, PostgreSQL 18, MariaDB 12, Kafka 4, NATS 2, Elasticsearch 9, S3",
		`\bNOGROUP\b|\bNOSCRIPT\b|\bNOT_FOUND - no (?:queue|exchange)\b|(?i:\bno such (?:table|collection|index|stream|bucket|topic|queue)\b|\b(?:relation|table|database|schema|stream|index|bucket|topic|queue|subscription|collection) ["'`+"`"+`]?[\w.-]+["'`+"`"+`]? (?:does not|doesn't) exist\b|\bunknown (?:database|topic or partition|stream)\b|\bindex_not_found_exception\b|\bNoSuch(?:Bucket|Key)\b|\b(?:stream|consumer|bucket) not found\b)`,
		"redis.exceptions.ResponseError: NOGROUP No such key 'orders' or consumer group 'billing' in XREADGROUP with GROUP option", "NOT_FOUND - no queue 'invoices' in vhost '/'", `ERROR:  relation "orders" does not exist`, "nats: stream not found", "Unknown database 'shop'")
	// AsksWrongly is said of a client that asks in a way, or for a thing, that a server does not know.
	AsksWrongly = fits("PgBouncer 1.23, client.c; PostgreSQL 18; MariaDB 12; Redis 8, server.c",
		`(?i)\bunsupported startup parameter\b|\bunrecognized configuration parameter\b|\bunsupported frontend protocol\b|\berr unknown (?:sub)?command\b|\bsyntax error at or near\b|\byou have an error in your sql syntax\b|\bunknown system variable\b|\bwrong number of arguments for\b`,
		"FATAL: unsupported startup parameter: options", `ERROR:  syntax error at or near "SELEC"`, "ERR unknown command 'JSON.GET', with args beginning with: 'a'")
	// LetsNotIn is said by a client of whom it asked, by its name, and that it was not let in there.
	LetsNotIn = fits("OpenSSH 9, sshconnect2.c, and git and rsync over it",
		`(?i)(?:^|\s)[\w.-]+@([\w.-]+): (?:permission denied|access denied|authentication fail(?:ed|ure))\b`,
		"feed@sftp: Permission denied (publickey).", "git@gitea.shop: Permission denied (publickey,password).")
	// TooLate is said by a client that gave up waiting for the answer of one that it reached.
	TooLate = fits("CPython 3.14, requests 2.32, redis-py 7, axios 1.12, undici 7, curl 8, Go 1.26 net/http, OpenJDK 25, nginx 1.28, Apache's APR 1.7",
		`(?i)\btime(out|outerror): timed out|\bread ?timed ?out\b|\breadtimeout(error)?\b|\btimeout of \d+ ?ms exceeded|client\.timeout exceeded|\b(headers|body) timeout error|timed out after \d+ milliseconds|timeout reading from|\besockettimedout\b|timed out.*while (reading (response|upstream)|receiving )|\btimeout on reading\b|\bnetworktimeout\b|\bcommand timed out after\b|"https?://\S+": context deadline exceeded|\bcode = deadlineexceeded\b|\bdeadline_exceeded\b|\bdownload timed out\b|\bthe timeout specified has expired`,
		"TimeoutError: timed out", "socket.timeout: timed out", "requests.exceptions.ReadTimeout: HTTPConnectionPool(host='stock', port=8000): Read timed out. (read timeout=2)", "redis.exceptions.TimeoutError: Timeout reading from socket",
		"AxiosError: timeout of 2000ms exceeded", "HeadersTimeoutError: Headers Timeout Error", "curl: (28) Operation timed out after 2001 milliseconds with 0 bytes received",
		`Get "http://stock:8000/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`, "java.net.SocketTimeoutException: Read timed out",
		"upstream timed out (110: Connection timed out) while reading response header from upstream", "(70007)The timeout specified has expired: AH01030: ajp_ilink_receive() can't receive header")
	// nobodyLeft is said by a client that may ask several, and finds none of them, or none that
	// leads the others.
	nobodyLeft = fits("redis-py 7 (sentinel), Redis 8, kafka-python 2, librdkafka 2, PyMongo 4, Cassandra driver 3, Elasticsearch 9 and OpenSearch 3, NATS client 2, go-redis 9",
		`(?i)\bno (master|primary|leader|coordinator|brokers?|replicas?|nodes?|servers?)\b (was |were |is |are )?(found|available|reachable|elected)|\bno (reachable|available|alive|living) (servers?|nodes?|brokers?|hosts?|connections?|upstreams?)\b|\ball (sentinels|brokers|nodes|hosts|servers) (are )?(specified|unreachable|down|failed|tried|busy)|NoBrokersAvailable|NoHostAvailable|NoNodeAvailable|ServerSelectionTimeout|MASTERDOWN|CLUSTERDOWN|brokers? (are )?down|\bproduced zero addresses\b`,
		"redis.sentinel.MasterNotFoundError: No master found for 'mymaster'", "kafka.errors.NoBrokersAvailable: NoBrokersAvailable", "%3|1|ERROR|rdkafka| 3/3 brokers are down", "pymongo.errors.ServerSelectionTimeoutError: No primary available for writes",
		"cassandra.cluster.NoHostAvailable: ('Unable to connect to any servers', {})", "nats: no servers available for connection", "redis: all sentinels specified in configuration are unreachable", "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "CLUSTERDOWN The cluster is down", "ConnectionError: There are no living connections", "no available connection: no Elasticsearch node available")
	// LacksCopies is said by a server, or of one, that works and does not take what it is given,
	// for too few others have it, or agree.
	LacksCopies = fits("Redis 8, Kafka 4, MongoDB 8, Elasticsearch 9, Cassandra 5, etcd 3.6, MariaDB 12 (Galera), RabbitMQ 4",
		`(?i)\bNOREPLICAS\b|\bnot ?enough ?((good|live|alive|active|in-?sync|data-bearing) )?(replicas|shards|nodes|copies|brokers|standbys)\b|\bNOGOODSLAVE\b|\binsufficient (in-?sync )?replicas\b|fewer in-?sync replicas than required|\bcannot achieve consistency level\b|\b(lost|no|without|not have|loses) (a )?quorum\b|\bWSREP has not yet prepared node\b`,
		"NOREPLICAS Not enough good replicas to write.", "org.apache.kafka.common.errors.NotEnoughReplicasException: Messages are rejected since there are fewer in-sync replicas than required.", "Not enough data-bearing nodes",
		"Cannot achieve consistency level QUORUM", "ERROR 1047 (08S01): WSREP has not yet prepared node for application use", "etcdserver: no quorum")
	// StillStarts is said by a server that is up, and not ready yet by its own words.
	StillStarts = fits("Redis 8, PostgreSQL 15 and 17, pg_isready, MongoDB 8; servers in their own words",
		`(?i)\bLOADING .{0,20}is loading the dataset|the database system is (starting up|in recovery mode|not (yet )?accepting connections)|:\d+ - rejecting connections|\bis (still )?starting( up)?\b|\bstill (starting|loading|initiali[sz]ing|warming up)\b|\bnot (yet )?(fully )?(started|initiali[sz]ed)( yet)?\b|\b(startup|start-up|initiali[sz]ation) (is )?in progress\b|NotYetInitialized`,
		"LOADING Redis is loading the dataset in memory", "FATAL:  the database system is starting up", "FATAL:  the database system is not yet accepting connections", "127.0.0.1:5432 - rejecting connections", "server is still starting", "NotYetInitialized: Replication has not yet been configured")
	// OfItself is said by a server of what it has not, or may not, whoever asks it: its clients repeat it.
	OfItself = fits("PostgreSQL 17, MySQL 9, MariaDB 12, MongoDB 8, Redis 8, OpenLDAP 2.6 (LMDB), RabbitMQ 4, Elasticsearch 9, etcd 3.6; strerror(3), ENOSPC, EROFS, EIO, EMFILE",
		`(?i)\bout of (shared )?(memory|locks?|space|file descriptors|connections)\b|\bno space left\b|\b(disk|table( \S+)?|tablespace|store|map|device|partition) (is )?full\b|\bMDB_MAP_FULL\b|\btoo many (connections|clients|open|concurrent|requests|sessions|channels|queries)\b|\b(increase|raise|raising) .{0,30}\bmax_\w+|\b(limit|quota|capacity|maximum|max_\w+)\b.{0,40}\b(reached|exceeded|hit)\b|\b(reached|exceeded|exceeding)\b.{0,40}\b(limit|quota|maximum|capacity)\b|\bread-?only (file system|transaction|mode|replica|option)|\b(input/output|i/o) error\b|\b(is|marked as|data|index|page|file|checksum) corrupt(ed|ion)?\b|\bcould not (open|read|write|extend|access|fsync|resize) .{0,20}\b(file|segment|block|relation)\b|\bcrashed and should be repaired\b|\b(is|in) (shutting down|recovery mode)\b`,
		"ERROR:  out of shared memory", "HINT:  You might need to increase max_locks_per_transaction.", "ERROR 1114 (HY000): The table 'orders' is full", "FATAL:  sorry, too many clients already", "MDB_MAP_FULL: Environment mapsize limit reached (-30792)",
		"ERROR:  cannot execute INSERT in a read-only transaction", `ERROR:  could not read block 3 in file "base/5/16390": Input/output error`, "Table './shop/orders' is marked as crashed and should be repaired", "FATAL:  the database system is in recovery mode")
	// AtWork is said by one that works off what it is given: by a queue, mostly.
	AtWork = fits("Celery 5, RQ 2, Sidekiq 8, BullMQ 5, Kafka 4, RabbitMQ's and NATS's clients", `(?i)\b(tasks?|jobs?|messages?|events?|deliver(y|ies|ed)|consum(e|ed|er|ers|ing)|handlers?|workers?|payloads?|dead-?letter(ed|ing|s)?)\b`,
		"Received unregistered task of type 'shop.quote'.", "no handler for event orders.created", "Job mail-7 failed: template missing")
	// NotMyProtocol is said by a server that was asked in another protocol than its own.
	NotMyProtocol = fits("Redis 8, networking.c; uWSGI 2.0, core/protocol.c; OpenSSL 3.5; Go 1.26, crypto/tls and net/http; gunicorn 23; RabbitMQ 4; Kafka 4; Netty 4",
		`(?i)invalid request block size|wrong version number|first record does not look like a tls handshake|http request to an https|tls handshake error|bad_header|invalid (http|protocol)|unsupported protocol|not an ssl/tls record|protocol version mismatch|bogus greeting|invalid magic|InvalidReceiveException|possible security attack detected\b.{0,80}\b(?:POST or Host:|HTTP)`,
		"# Possible SECURITY ATTACK detected. It looks like somebody is sending POST or Host: commands to Redis. This is likely due to an attacker attempting to use Cross Protocol Scripting to compromise your Redis instance.",
		"invalid request block size: 21573 (max 4096)...skip", "error:0A00010B:SSL routines::wrong version number", "http: TLS handshake error from 10.0.0.1:4711: tls: first record does not look like a TLS handshake",
		"not an SSL/TLS record: 474554202f", "InvalidReceiveException: Invalid receive (size = 1195725856 larger than 104857600)")
	// OthersMay is said by one that insists on files, mostly of keys, that nobody else may
	// read or write.
	OthersMay = fits("Erlang/OTP 27, auth.erl; PostgreSQL 17; OpenSSH 10, libpq 17, MySQL 9, Vault 1.18",
		`(?i)must be accessible by owner only|has invalid permissions|has group or (world|other)s? access|bad ownership or modes|permissions.{0,80} are too (open|permissive)|unprotected private key|is world[- ]?writable|bad permissions|permissions should be (u=rw|0?[467]00)`,
		"Cookie file /var/lib/rabbitmq/.erlang.cookie must be accessible by owner only", `FATAL:  data directory "/data/pg" has invalid permissions`, `FATAL:  private key file "/tls/tls.key" has group or world access`,
		"Permissions 0644 for '/keys/id_rsa' are too open.", "WARNING: UNPROTECTED PRIVATE KEY FILE!", "World-writable config file '/etc/mysql/my.cnf' is ignored: is world-writable", "bad permissions: ignore key: /keys/id_rsa",
		"Authentication refused: bad ownership or modes for directory /home/feed/.ssh", "DETAIL:  Permissions should be u=rwx (0700) or u=rwx,g=rx (0750).")
	// BadCookie is said by Erlang of a cookie that it does not take.
	BadCookie = fits("Erlang/OTP 27, auth.erl", `(?i)\b(?:too short cookie string|bad characters in cookie)\b`, `Kernel pid terminated: Too short cookie string`, "Bad characters in cookie")
	// RelayDenied is said by a mail server that takes no mail for others from where it comes.
	RelayDenied = fits("Postfix 3.7, Exim 4.96, Sendmail 8.17", `(?i)\brelay(?:ing)? (?:access )?(?:denied|not permitted)\b`,
		"NOQUEUE: reject: RCPT from unknown[10.42.0.9]: 554 5.7.1 <a@example.org>: Relay access denied", "550 relay not permitted", "550 5.7.1 <a@example.org>... Relaying denied")
	// OwnCheck is said by a proxy whose own check of those behind it reaches them, and gets another answer than it wants.
	OwnCheck = fits("HAProxy 2.6, src/check.c", `\bLayer[67] (?:invalid response|wrong status)\b|\bLayer7 timeout\b.*\bat step \d+ of tcp-check\b`,
		"Server api/api0 is DOWN, reason: Layer7 invalid response, info: \"\\x15\\x03\\x03\", check duration: 2ms.", "Server web/web1 is DOWN, reason: Layer7 wrong status, code: 401, check duration: 1ms.", `Server redis/r0 is DOWN, reason: Layer7 timeout, info: " at step 3 of tcp-check (expect string '+PONG')", check duration: 2002ms.`)
	// DatabaseAway is said in an answer of an application that has no connection to its database.
	DatabaseAway = fits("WordPress 6, wp-includes/functions.php, dead_db", `(?i)\berror establishing a database connection\b`, "Error establishing a database connection")
	// IsDown is said by a proxy of one behind it that it takes for down, with why.
	IsDown = fits("HAProxy 2.6, src/check.c and server.c", `\bServer \S+/\S+ is DOWN, reason: `, "Server api/api0 is DOWN, reason: Layer4 timeout, check duration: 2001ms. 0 active and 0 backup servers left.")
	// Shadowed is said by Python where a file of the program has the name of a package that it imports.
	Shadowed = fits("CPython 3.11 to 3.14, Lib/importlib/_bootstrap.py and Objects/moduleobject.c", `(?i)\bno module named '(\w+)\.[\w.]+'; '(\w+)' is not a package\b|\bconsider renaming '\S+' since it has the same name as\b`,
		"ModuleNotFoundError: No module named 'gunicorn.app'; 'gunicorn' is not a package", "AttributeError: module 'random' has no attribute 'choice' (consider renaming '/srv/random.py' since it has the same name as the standard library module named 'random' and prevents importing that standard library module)")
	// onLoopback is said by a server that takes connections of its own pod only, with the port.
	onLoopback = fits("Flask 3 (Werkzeug), Uvicorn 0.38, gunicorn 23, Puma 7, Kestrel of .NET 10, Vite 7, Go programs",
		`(?i)(?:running on|listening (?:at|on)|local|started on|serving on|bound to):?\s+(?:https?://|tcp://)?(?:127\.0\.0\.1|localhost|\[::1\]):(\d{2,5})\b`,
		" * Running on http://127.0.0.1:5000", "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)", "[INFO] Listening at: http://127.0.0.1:8000 (7)",
		"* Listening on http://127.0.0.1:3000", "Now listening on: http://localhost:5000", "  Local:   http://localhost:5173/", "listening on 127.0.0.1:8080")
	// NoCommand is said by a shell that finds no program of that name.
	NoCommand = fits("bash 5.2, dash 0.5, busybox 1.37",
		`(?m)^(?:(?:[\w./-]*/)?(?:ba|da|a|z)?sh: (?:line \d+: |\d+: )?|[\w./-]+: (?:line )?\d+: )([\w./+-]+): (?:command )?not found$`,
		"sh: curl: not found", "bash: line 1: curl: command not found", "/bin/sh: 1: curl: not found", "/scripts/ready.sh: line 3: curl: command not found")
	// ShellFault is said by a shell of the script that it runs, and of nothing that this asks.
	ShellFault = fits("bash 5.2, dash 0.5, busybox 1.37", `(?im)^(?:[\w./-]+: )?(?:line )?\d+: (?:.{1,60}: )?(?:unbound variable|parameter (?:not set|null or not set)|bad substitution|syntax error\b.*|integer expression expected|unexpected operator|bad number|too many arguments|unknown operand)$`,
		"/scripts/ready.sh: line 13: DELAY_APPLIED_FILE: unbound variable", "/ready.sh: 3: NAME: parameter not set", "sh: 1: Syntax error: \"fi\" unexpected", "bash: line 1: [: : integer expression expected", "/ready.sh: line 4: [: too many arguments")
	// ToolFails is said by a program that fails before it has asked anything: it takes its own
	// arguments for wrong, cannot be loaded, or its runtime does not start.
	ToolFails = fits("getopt(3), Go 1.26 flag, pflag 1, argparse of CPython 3.14, curl 8; glibc 2.42, musl 1.2; OpenJDK 25, java.c and debugInit.c; Node 24; dash 0.5, bash 5.2, busybox 1.37",
		`(?im)\b(unrecogni[sz]ed|invalid|illegal|unknown) (short |long )?(option|flag)\b|\bflag provided but not defined\b|\bunknown (shorthand )?flag: |error: (unrecognized arguments|the following arguments are required)|^usage: |error while loading shared libraries|error loading shared library|could not (create the java virtual machine|find or load main class)|error occurred during initialization of (boot layer|vm)|JDWP exit error|exception thrown by the agent|\bjava\.net\.BindException: Address|\bModuleNotFoundError: |\bError: Cannot find module |^(\S*/)?(ba|da|a)?sh: (\S+: )*(line )?(\d+: )?(cannot open |can't open |syntax error)`,
		"nc: unrecognized option: z", "curl: option --nope: is unknown\nusage: curl [options...] <url>", "flag provided but not defined: -x", "unknown shorthand flag: 'x' in -x", "probe.py: error: the following arguments are required: url",
		"/app: error while loading shared libraries: libssl.so.1.1: cannot open shared object file", "Error: Could not create the Java Virtual Machine.", "Error: Could not find or load main class Check", "Error occurred during initialization of VM",
		"Caused by: java.net.BindException: Address already in use (Bind failed)", "Error: Exception thrown by the agent : java.rmi.server.ExportException: Port already in use: 9010; nested exception is:", "JDWP exit error AGENT_ERROR_TRANSPORT_INIT(197): No transports initialized", "ModuleNotFoundError: No module named 'requests'", "Error: Cannot find module '/srv/health.js'", "sh: can't open '/srv/check.sh': No such file or directory", "sh: 1: Syntax error: Unterminated quoted string")
	// Listens is said by a program that takes connections itself.
	Listens = fits("OpenJDK 17, debugInit.c; Node 20, inspector; Go programs", `(?i)^(debugger )?listening (for|on|at)\b`,
		"Listening for transport dt_socket at address: 5005", "Debugger listening on ws://127.0.0.1:9229/5a", "listening on :8080")
	// NoInterpreter is said by a shell of a script whose first line names what is not there.
	NoInterpreter = fits("bash 5.2 and 5.1, execute_cmd.c",
		`(?i)cannot execute: required file not found|bad interpreter: no such file`,
		"bash: line 1: /srv/run.sh: cannot execute: required file not found", "bash: /srv/run.sh: /bin/bash^M: bad interpreter: No such file or directory")
	// GaveUp is said by a supervisor of a program that it starts no more.
	GaveUp = fits("supervisord 4, process.py; systemd 257; PM2 6",
		`(?i)gave up: (\S+) entered FATAL state|(\S+): start request repeated too quickly|(\S+) had too many unstable restarts`,
		"INFO gave up: web entered FATAL state, too many start retries too quickly", "web.service: Start request repeated too quickly.", "PM2 | Script /srv/web.js had too many unstable restarts (16). Stopped.")
	// ProgramDown is what a supervisor answers, when it is asked, of a program that it does not run.
	ProgramDown = fits("supervisord 4, supervisorctl.py, which fills its columns with spaces; runit 2, sv.c",
		`(?m)^([A-Za-z](?:[\w:.@-]*\w)?)\s+(?:EXITED|FATAL|BACKOFF|STOPPED)(?: {2,}|\s*$)|^down: (\S+?): \d+s\b`,
		"mailer                           EXITED    Nov 24 07:16 PM", "web:web_00                       FATAL     can't find command '/srv/web'", "down: mailer: 5s, normally up")
	// EndExpected is said by a supervisor of a program's end that it does not mind: it does not start it again.
	EndExpected = fits("supervisord 4, process.py", `exited: (\S+) \(exit status \d+; expected\)`, "2026-11-24 19:16:59,375 INFO exited: mailer (exit status 0; expected)")
	// diedOf is said by a shell of a child that died of a fault.
	diedOf = fits("dash 0.5.12, bash 5.2, busybox 1.35: strsignal(3)",
		`^(?:\S+: line \d+: +\d+ )?(Illegal instruction|Trace/breakpoint trap|Aborted|Bus error|Floating point exception|Segmentation fault|Bad system call)`,
		"Aborted", "Segmentation fault (core dumped)", "bash: line 1: 21023 Aborted                 sh -c 'kill -ABRT $$'", "/srv/run.sh: line 7:    12 Segmentation fault      (core dumped) /srv/web")
	// NoTemporary is said where none of the usual folders can be written.
	NoTemporary = fits("CPython 3.14, tempfile; OpenJDK 25; Ruby 3.4, tmpdir; PHP 8.4",
		`(?i)no usable temporary directory|unable to create temp(orary)? (file|directory)|could not find a temporary directory|could not create temp`,
		"FileNotFoundError: [Errno 2] No usable temporary directory found in ['/tmp', '/var/tmp', '/usr/tmp', '/srv']", "java.lang.IllegalStateException: Unable to create temp file", "could not find a temporary directory (ArgumentError)")
	// Libraries are the words of a program's loader, which ends with 127 as a shell does.
	Libraries = fits("glibc 2.42, elf/dl-load.c; musl 1.2, ldso/dynlink.c",
		`(?i)error while loading shared libraries|error loading shared library|: cannot open shared object file|version .GLIBC\w*_[\d.]+. not found|symbol not found`,
		"/app: error while loading shared libraries: libssl.so.1.1: cannot open shared object file: No such file or directory", "Error loading shared library libgcc_s.so.1: No such file or directory (needed by /app)",
		"/app: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /app)", "Error relocating /app: __res_init: symbol not found")
	CertificateExpired = fits("OpenSSL 3.5, Go 1.26 crypto/x509, Node 24, OpenJDK 25",
		`(?i)certificate has expired|cert_has_expired|certificateexpiredexception|certificate(:| is)? expired|validity check failed`,
		"tls: failed to verify certificate: x509: certificate has expired or is not yet valid", "Error: CERT_HAS_EXPIRED", "java.security.cert.CertificateExpiredException: NotAfter: Sat Jan 01", "PKIX path validation failed: validity check failed")
	CertificateUnknown = fits("OpenSSL 3.5, Go 1.26 crypto/x509, Node 24, OpenJDK 25, CPython 3.14",
		`(?i)unknown authority|self[- ]signed certificate|local issuer certificate|pkix path building|find valid certification path|unable to verify the first certificate|certificate verify failed|\bunknownissuer\b|\b(untrustedroot|partialchain)\b`,
		"x509: certificate signed by unknown authority", "Error: self-signed certificate in certificate chain", "unable to get local issuer certificate", "invalid peer certificate: UnknownIssuer", "The remote certificate is invalid because of errors in the certificate chain: UntrustedRoot", "PKIX path building failed", "unable to verify the first certificate",
		"ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
	// StillMember is said by a member of a cluster that has no data of one, and that the others
	// know.
	StillMember = fits("etcd 3.6, Cassandra 5",
		`(?i)member \w+ has already been bootstrapped|a node with address \S+ already exists, cancelling join`,
		"etcdmain: member c918224843a046dc has already been bootstrapped", "java.lang.RuntimeException: A node with address /10.42.0.7:7000 already exists, cancelling join. Use cassandra.replace_address if you want to replace this node.")
	WatchesFull = fits("Node 24, webpack 5, fsnotify 1.9; inotify_add_watch(2)",
		`(?i)(file )?watch(es|ers?)\b.*(reached|no space|enospc)|(enospc|no space).*\bwatch|inotify_add_watch|inotify watch`,
		"Error: ENOSPC: System limit for number of file watchers reached, watch '/app'", "inotify_add_watch(\"/app\") failed: No space left on device")
	Credentials = fits("PostgreSQL 17, MySQL 9, Redis 8, SQL Server 2025, RabbitMQ 4, git 2, Terraform 1",
		`(?i)password authentication failed|access denied for user|authentication failed|invalid username or password|wrongpass|noauth authentication required|login failed for user|login was refused|access_refused|invalid credentials|no valid credential|unable to locate credentials|no password supplied|is not permitted to log in|authenticating mongocredential|invalid (username-)?password|authorization violation|logon denied|permission denied \(publickey|security token included in the request is invalid|signature we calculated does not match|determine credentials|unable to authenticate user|invalid api key|could not read (username|password) for|\binvalid_client\b|\b(disconnected|refused)[,:] not authori[sz]ed\b|\bconnection refused\b.{0,80}\b(not authori[sz]ed|bad user ?name or password)\b|\bclient_error (unauthenticated|authentication failure)\b`,
		`FATAL:  password authentication failed for user "shop"`, "ERROR 1045 (28000): Access denied for user 'shop'@'10.42.0.3' (using password: YES)", "WRONGPASS invalid username-password pair or user is disabled.",
		"NOAUTH Authentication required.", "Login failed for user 'sa'.",
		"ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN.", "ERROR Unable to validate credentials inherited from the shell environment: Invalid credentials", "No valid credential sources found", "Client probe disconnected, not authorised.", "meters: connection refused by mqtt:1883: Not authorized", "Connection Refused: bad user name or password.", "CLIENT_ERROR unauthenticated", "OAuth2 error: invalid_client", "fe_sendauth: no password supplied", "nats: Authorization Violation", "ORA-01017: invalid username/password; logon denied", "git@git.example.com: Permission denied (publickey).", "401 Unauthorized: invalid API key", "fatal: could not read Username for 'https://git.example.com': terminal prompts disabled").except(NoGrant)
	ModuleMissing = fits("CPython 3.14, Node 24, Ruby 3.4, OpenJDK 25, Perl 5.36",
		`(?i)modulenotfounderror|cannot find module|cannot load such file|no module named|classnotfoundexception|noclassdeffounderror|could not find or load main class|unsupportedclassversionerror|can't locate \S+ in @inc|cannot find package '|\bclass "\S+" not found|importerror: cannot import name|could not import module "|could not load file or assembly|compiled against a different node\.js version|invalid elf header|wrong elf class`,
		"ModuleNotFoundError: No module named 'flask'", "Error: Cannot find module 'express'", "cannot load such file -- rack (LoadError)", "java.lang.ClassNotFoundException: com.example.Main",
		"Can't locate Nope.pm in @INC (you may need to install the Nope module)", "Error: Could not find or load main class com.example.Main", "Cannot find package 'express' imported from /app/index.js", "Uncaught Error: Class \"Redis\" not found in /app/index.php:3", "ImportError: cannot import name 'app' from 'main' (/app/main.py)", `ERROR:    Error loading ASGI app. Could not import module "main".`, "Could not load file or assembly 'Shop.Core, Version=1.0.0.0'.", "java.lang.UnsupportedClassVersionError: Main has been compiled by a more recent version", "Error: The module '/app/node_modules/bcrypt/lib/bcrypt_lib.node' was compiled against a different Node.js version using NODE_MODULE_VERSION 108", "Error: /app/node_modules/sharp/build/Release/sharp.node: invalid ELF header", "ImportError: /app/x.so: wrong ELF class: ELFCLASS32")
	// NewerData is said by a program of data that another version of it wrote.
	NewerData = fits("Redis 8, rdb.c; PostgreSQL 17, miscinit.c; MariaDB 12 and MySQL 9, InnoDB; MongoDB 8; RabbitMQ 4",
		`(?i)can't handle RDB format version|database files are incompatible with server|unsupported redo log format|upgrade after a crash is not supported|downgrade is not supported|too recent to start up on the existing data files|feature flags.{0,60}(unsupported|not supported)|(written|created|initialized) by a newer version`,
		"Can't handle RDB format version 12", "FATAL:  database files are incompatible with server", "InnoDB: Unsupported redo log format. The redo log was created with MariaDB 11.4.", "This version of MongoDB is too recent to start up on the existing data files.")
	SettingMissing = fits("what programs say of their environment, in their own words",
		`(?i)\brequires \S+ to be (set|configured)\b|\benv(ironment)?\b.{0,40}\b(not set|unset|missing|required|undefined|must be set|not found)|\b(missing|required|undefined)\b.{0,40}\benv(ironment)?\b|\b[A-Z_][A-Z0-9_]+: (unbound variable|parameter (null or )?not set)|\b(setting|password|option|variable|property)\b.{0,30} (must not be empty|is not specified|must be (set|specified)|is required)|\brequired but it could not be found|\brequired key \S+ missing\b|\bmissing (?:required )?(?:config(?:uration)?|setting|option|property)(?: value| key)? (?:at |for |['"])|\benv(ironment)? variable \S+ should not be empty|(?-i:["'][A-Z][A-Z0-9_]{3,}["'] is (required|missing|not set)\b|\bKeyError: '[A-Z][A-Z0-9_]{3,}'|\b[A-Z][A-Z0-9_]*_[A-Z0-9_]+\}? (is not defined|must be set))|\bcontains names \('\w+'\) which cannot be expanded`,
		"/run.sh: line 7: DB_HOST: unbound variable", "/run.sh: 3: DB_HOST: parameter not set", "The SECRET_KEY setting must not be empty.", "KeyError: 'DATABASE_URL'", "Error: Config validation error: \"JWT_SECRET\" is required", "required key DATABASE_URL missing value", "Error: Missing required config value at 'backend.auth.keys[0].secret'", "Error: DATABASE_URL is not defined", "Database is uninitialized and superuser password is not specified.", "The config property stripe.key is required but it could not be found in any config source",
		"environment variable DATABASE_URL is not set", "nats-server: jetstream cluster requires `server_name` to be set", "missing required environment variable PORT")

	// NoDNS is said by one that got no answer about a name, neither that there is none.
	NoDNS = fits("glibc 2.42, Node 24, Go 1.26, .NET 10",
		`(?i)could not be resolved \(110: |temporary failure in name resolution|(?-i:\bResource temporarily unavailable \([a-z][\w.-]*:\d+\))|\beai_again\b|server misbehaving|\blookup \S+( on \S+)?: .*(i/o timeout|refused)`,
		"prices.shop.svc.cluster.local could not be resolved (110: Operation timed out)", "Could not connect: Temporary failure in name resolution", "System.Net.Http.HttpRequestException: Resource temporarily unavailable (identity:80)", "Error: getaddrinfo EAI_AGAIN db", "dial tcp: lookup db on 10.96.0.10:53: server misbehaving",
		"dial tcp: lookup db on 10.96.0.10:53: read udp 10.42.0.3:4711->10.96.0.10:53: i/o timeout")
	// NoName is said by one that was told that there is no such name.
	NoName = fits("glibc 2.42, busybox 1.37, curl 8, Go 1.26, Node 24, OpenJDK 25, nginx 1.28, libpq 17, MySQL 9",
		`(?i)no such host|host not found|name or service not known|bad address '|could not (resolve|be resolved)|\b(unable to|couldn't|failed to|cannot) resolve (the )?(host|server|address|name)|\b(dns|name) resolution failed|\bdns lookup fail(ed|ure) for\b|\bfailed to resolve '[\w.-]+' \[A|\bno resolvable bootstrap urls\b|: non-existing domain\b|\bdomain name not found\b|\benotfound\b|unknownhostexception|could not translate host name|nodename nor servname|name does not resolve|no address associated with|unknown (\w+ )?(server )?host\b`,
		"Backend host '\"app\"' could not be resolved to an IP address", "wget: unable to resolve host address 'stock'", "14 UNAVAILABLE: Name resolution failed for target dns:stock:9000", "DNS resolution failed for stock:9000: C-ares status is not ARES_SUCCESS: Domain name not found",
		"dial tcp: lookup db.shop.svc.cluster.local on 10.96.0.10:53: no such host", `host not found in upstream "backend" in /etc/nginx/nginx.conf:5`, "ping: db: Name or service not known", "nc: bad address 'db'",
		"curl: (6) Could not resolve host: db", "Error: getaddrinfo ENOTFOUND db", "java.net.UnknownHostException: db", `could not translate host name "db" to address`, "ERROR 2005 (HY000): Unknown MySQL server host 'db' (-2)").except(noHost)
	noHost      = fits("Spring 7, Maven 4, .NET 10", `(?i)could not resolve (placeholder|dependenc|type|service|parameter|reference|module|class|bean)`, "Could not resolve placeholder 'payment.url' in value \"${payment.url}\"")
	nobodyTakes = fits("strerror(3), ECONNREFUSED; Node 24 gives the name; curl 7.88",
		`(?i)connection refused|\beconnrefused\b|\bconnectionrefused(error)?\b|couldn't connect to server|\breturned error 111\b|\bconnection to \S+ refused\b|can't connect to (mysql )?server on '[^']*' \((111|115)\)`,
		"dial tcp 10.0.0.9:6379: connect: connection refused", "Error: connect ECONNREFUSED 10.0.0.9:6379", "curl: (7) Failed to connect to db port 80 after 0 ms: Couldn't connect to server",
		"org.postgresql.util.PSQLException: Connection to db:5432 refused. Check that the hostname and port are correct", "ERROR 2002 (HY000): Can't connect to server on 'db' (115)", "ConnectionRefusedError: [Errno 111] Connect call failed ('10.43.0.7', 5432)").except(BrokerUser)
	nobodyAnswers = fits("strerror(3), ETIMEDOUT, EHOSTUNREACH, ENETUNREACH; Go 1.26, OpenJDK 25, Node 24, libpq 17",
		`(?i)i/o timeout|connection timed out|^nc: timed out|operation timed out|connect timed out|failed: timeout expired|could not connect to server: timeout expired|\btimeout occurred after waiting\b|\btimeout after \S+ waiting\b|: timeout expired$|\betimedout\b|\bconnection to \S+ timed out\b|\bconnect(?:ion)? timeout (?:to host|error)\b|error: connection timeout\b|\btimeout connecting to\b|\bconnection #\d+ timeout after\b|\btcp connect \([^)]*\): timeout\b|\bcommunications error to \S+: timed out|no route to host|host is unreachable|network is unreachable|\behostunreach\b|\benetunreach\b`,
		"dial tcp 10.0.0.9:5432: i/o timeout", "connect: Connection timed out", "java.net.SocketTimeoutException: Connect timed out", "Error: connect ETIMEDOUT 10.0.0.9:5432", "nc: connect: No route to host", "nc: timed out", `connection to server at "db" (10.43.202.87), port 5432 failed: timeout expired`, "connect: Network is unreachable", "wait-for-it.sh: timeout occurred after waiting 15 seconds for db:5432", "Timeout after 30s waiting on dependencies to become available: [tcp://db:5432]", "psycopg2.OperationalError: timeout expired", "'Connection to stock timed out. (connect timeout=2)'", "ConnectTimeoutError: Connect Timeout Error (attempted address: stock:8000, timeout: 10000ms)",
		"redis.exceptions.TimeoutError: Timeout connecting to server", "(DBConnection.ConnectionError) tcp connect (db:5432): timeout", ";; communications error to 10.43.0.7#53: timed out").except(PoolTaken)
	// noContact is said by clients that do not tell what kept them.
	noContact = fits("OpenLDAP 2.6, ldap_err2string of LDAP_SERVER_DOWN; PgBouncer 1.25, of a server; Prisma 6, error P1001; Kafka 4, redis-rb 5, httpx 0.28, aiohttp 3, Npgsql 10, StackExchange.Redis 2, RabbitMQ's client of .NET 7, MySQL Connector/J 9, SQL Server's clients",
		`(?i)can't contact ldap server|\bS-0x[0-9a-f]+: \S+ closing because: connect failed|\b(can'?t|cannot|could not|couldn't|unable to|failed to|not possible to) (connect to |(reach|contact) .{0,40}(server|database|host|broker|seeds?|peers?|endpoint|api\b|:\d))|\berror connecting to \S|\bconnection to .{1,60} could not be established|\bcommunications link failure\b|\ball connection attempts failed\b|\bnone of the specified endpoints were reachable\b|\berror occurred while establishing a connection\b|\bunabletoconnect on\b|\bfailed to make connection to backend\b|\bunable to bootstrap from\b|\bbootstrap broker \S+ \([^)]*\) disconnected\b|\bthe connection attempt failed\b|(?:^|[\s.])\w*connection(?:refused)?error$`,
		"2026-11-23 17:06:36.938 UTC [1] LOG S-0x5560f60e9c30: postgres/postgres@10.43.222.82:5432 closing because: connect failed (age=0s)",
		"ERROR in app: cannot bind to ldap://ldap:389: {'result': -1, 'desc': \"Can't contact LDAP server\", 'ctrls': []}", "ldap_sasl_bind(SIMPLE): Can't contact LDAP server (-1)", "Can't reach database server at `db`:`5432`",
		"Connection to node -1 (kafka/10.43.0.7:9092) could not be established. Node may not be available.", "Redis::CannotConnectError: Error connecting to Redis on redis:6379 (SocketError)", "httpx.ConnectError: All connection attempts failed",
		"Npgsql.NpgsqlException (0x80004005): Failed to connect to 10.43.0.7:5432", "UnableToConnect on redis:6379/Interactive", "None of the specified endpoints were reachable", "com.mysql.cj.jdbc.exceptions.CommunicationsException: Communications link failure",
		"A network-related or instance-specific error occurred while establishing a connection to SQL Server.", "pika.exceptions.AMQPConnectionError").except(turnedDown)
	// turnedDown is said by a client that reached whom it asked, and got nothing there.
	turnedDown = fits("clients, which call that a failed connection, too", `(?i)auth|passw|credential|denied|permission|certificate|x509|\btls: |\b(tls|ssl)\b[ :/]+(error|routines|alert|version|peer|required)|handshake|does not exist|forbidden|\binvalid\b|unknown (database|user)|quota|too many|max(imum)? number of|\blimit`,
		"failed to connect to `host=db user=shop database=shop`: server error (FATAL: password authentication failed for user \"shop\" (SQLSTATE 28P01))", "could not connect to the database: x509: certificate signed by unknown authority", "Failed to connect to database: FATAL: database \"shop\" does not exist")
	// BrokenOff is said by a client whose connection was ended by whom it asked, with its place.
	BrokenOff = fits("Go 1.26, net: OpError",
		`(?i)\b(?:read|write) tcp \S+->(\S+:\d+): .*(?:connection reset by peer|broken pipe)`,
		"write tcp 10.42.0.9:56264->10.43.70.233:9000: write: connection reset by peer", "read tcp [::1]:4711->[::1]:9000: read: connection reset by peer")
	// brokenOff is said by a client whose connection was ended by whom it asked, mostly without
	// its place.
	brokenOff = fits("libpq 17, psycopg 2.9, MySQL 9, redis-py 7, Node 24, node-postgres 8, pgjdbc 42, urllib3 2, Go 1.26, Ruby 3.4; strerror(3), ECONNRESET, EPIPE",
		`(?i)server closed the connection|\bdisconnected by (the )?(server|broker|remote|\S+:\d+)\b|connection (was |has been )?(forcibly |unexpectedly )?(closed|terminated|lost|ended)( unexpectedly|.{0,10} by (the )?(server|remote|peer))|lost connection to|(server|connection) has gone away|connection (was )?reset( by peer)?\b|\beconnreset\b|socket hang up|\bbroken pipe\b|\bread(ing)? [^:]*: (unexpected )?eof$|connection (is )?lost\b|remote end closed connection|while sending to the backend|\bserver ?disconnected\b|\bautoreconnect: .*connection closed\b|\bother side closed\b|\berror: connection is closed\b|\b(get|post|put|head|patch|delete) "https?://\S+": eof$|\bupstream prematurely closed connection\b|\bempty reply from server\b|\bconnection unexpectedly closed\b|\blost connection with \S|unexpectedcloseerror\b|\bserver has closed (the )?(socket|connection)\b|\bread additional data from server\b|\bkeepererrorcode = connectionloss\b`,
		"server closed the connection unexpectedly", "SSL connection has been closed unexpectedly", "Lost connection to MySQL server during query", "MySQL server has gone away", "redis.exceptions.ConnectionError: Connection closed by server.",
		"Unable to read additional data from server sessionid 0x10, likely server has closed socket", "Error: read ECONNRESET", "Error: socket hang up", "Error: Connection terminated unexpectedly", "java.sql.SQLException: An I/O error occurred while sending to the backend.", "ConnectionResetError: [Errno 104] Connection reset by peer",
		"('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))", "read tcp: broken pipe", "error reading from server: EOF", "Error: Connection lost: The server closed the connection.", "meters: disconnected by mqtt:1883 after 1 s").except(byClient)
	// TakenOver is said by a server that hangs up on a client because another came by the same name.
	TakenOver = fits("Mosquitto 2, src/handle_connect.c; EMQX 5, emqx_channel; RabbitMQ 4, rabbit_mqtt_processor",
		`(?i)\balready connected, closing old connection\b|\b(session|client|client id) (was |is )?(taken[ -]over|discarded)\b|\bdisconnecting duplicate client\b|\bduplicate client id\b`,
		"1763950103: Client meters already connected, closing old connection.", "session taken over", "MQTT disconnecting client <0.1.0> with duplicate client id 'meters'")
	// byClient is said by a server of one that asked it, and is not there any more.
	byClient = fits("nginx 1.28, PostgreSQL 17, gunicorn 23, Tomcat 11, Apache 2.4, Redis 8",
		`(?i)(?:^|[^, ]) ?\bclient(abort\w*|s)?\b|\bignoring\b|\b(writing|sending|write|send) (the )?(response|reply|body|output)|\bhandshake\b`,
		"recv() failed (104: Connection reset by peer) while reading client request headers", "LOG:  could not receive data from client: Connection reset by peer", "Ignoring EPIPE: Broken pipe", "org.apache.catalina.connector.ClientAbortException: java.io.IOException: Broken pipe")
	place = fits("the same speakers, where they name what they asked",
		`(?i)\blookup "?([\w.-]+)|bad address '([\w.-]+)'|(?:enotfound|eai_again) ([\w.-]+)|(?:resolve (?:the )?(?:host address|host name|hostname|host|server|address):?|host name|getaddrinfo for(?: host)?|resolution failed for(?: target)?|backend host|host not found in upstream|unknownhostexception:?) ["']*([\w.-]+(?::\d{2,5})?)|\bname=([\w.-]+) type=|\bgetaddrinfo: ([\w.-]+) \d+:|; host '([\w.-]+)'|\bfailed to resolve '([\w.-]+)' \[A|\bconnection to backend: ([\w.-]+)|\bconnect(?:ed|ing|ion)? to ([a-z][\w.-]*) \(\d+\.|\bserver at "([\w.-]+)"|\bserver (?:on|host) '([\w.-]+(?::\d+)?)|\bhost='([\w.-]+)'|\b[a-z][a-z+]*://(?:[^/@\s'"]*@)?([\w.-]+(?::\d{2,5})?)|\bto (?:host )?([\w.-]+ port \d+)|\b(?:remote )?host \(([\w.:]+)\)|\b((?:[a-z][\w-]*(?:\.[\w-]+)*|\d+(?:\.\d+){3}):\d{2,5})\b`,
		"dial tcp: lookup db on 10.96.0.10:53: no such host", "nc: bad address 'db'", `connection to server at "db" (10.43.0.9), port 5432 failed: Connection refused`, "curl: (7) Failed to connect to db port 80",
		"HTTPConnectionPool(host='stock', port=8000): Read timed out.", "500 Server Error: INTERNAL SERVER ERROR for url: http://stock/")

	// Waits is said by one that waits for another.
	Waits = fits("start scripts (wait-for-it, dockerize) and clients that try again",
		`(?i)\b(waiting|wait|still waiting) (for|until|on)\b|\b(retrying|reconnecting|trying to (connect|reach))\b`,
		"waiting for db:5432", "Reconnecting in 5 s").except(served)
	// served is what a server or a worker waits for that is well: others to come to it, or itself.
	served = fits("servers and workers that are idle; uvicorn 0.30",
		`(?i)\b(connections?|requests?|messages?|jobs?|tasks?|work|events?|clients?|commands?|input|signals?|queries|changes|shutdown|termination|(application|server) start-?up)\b`,
		"INFO: Waiting for application startup.", " [*] Waiting for messages. To exit press CTRL+C")
	// Asked is the host that a command asks: by the variable that Kubernetes sets for a
	// Service, by a URL, as host:port, or as the clients of databases take it.
	Asked = fits("shells, curl and wget, nc of busybox, clients of PostgreSQL, Redis and MySQL",
		`\$\{?([A-Z][A-Z0-9_]*)_SERVICE_HOST\b|\bhttps?://(?:[^/@\s]*@)?([\w.-]+)|\b([a-z][\w-]*(?:\.[\w-]+)*):\d{2,5}\b|\bnc(?: -\w+(?: \d+)?)* ([a-z][\w.-]*) \d{2,5}\b|\b(?:pg_isready|psql|redis-cli|mysql|mysqladmin)\b.*? -h[ =]?([\w.-]+)`,
		"wget -qO- http://db/health", "nc -z db 5432", "nc -w 1 db 5432", "pg_isready -h db", "curl $DB_SERVICE_HOST")
	// HostHeader is an answer that complains of the Host header.
	HostHeader = says("Django 5, Nextcloud 28, Rails 8, webpack-dev-server 5, Jetty 12, Vite 7, RFC 9110 (421)",
		[]string{"http_host", "host header", "blocked host", "invalid host", "unknown host", "misdirected", "trusted domain error"},
		"Invalid HTTP_HOST header: '10.42.0.3:8000'", "Invalid Host header", "Blocked hosts: 10.42.0.3:3000", "unknown host", "421 Misdirected Request", `Trusted domain error. "10.42.0.1" tried to access using "10.42.0.22" as host.`)
)

// unreached is what kept a connection from coming about; the first that fits counts.
var unreached = []struct {
	what string
	said *Phrase
}{
	{"DNS did not answer", NoDNS},
	{"there is no such name in DNS", NoName},
	{"nobody takes connections there", nobodyTakes},
	{"nobody takes connections there", NoResponse},
	{"nobody answers there", nobodyAnswers},
	{"it is not reached", noContact},
}

// ListensOnLoopback says whether a line tells that a server takes connections on a port from
// its own pod only.
func ListensOnLoopback(line string, port int32) bool {
	for _, said := range onLoopback.Find(line) {
		if said == strconv.Itoa(int(port)) {
			return true
		}
	}
	return false
}

// source fits the line of a file from which something is said, as loggers and parsers name it,
// which looks like a host and its port.
var source = regexp.MustCompile(`(^|[\s"'(\[{<,=:])(?:\.\./|/)?[\w.@-]+(?:/[\w.@-]+)*\.(?:go|py|m?js|ts|rb|java|kt|scala|php|cpp|cc?|h|hpp|rs|cs|exs?|erl|lua|cfg|conf|cnf|ini|ya?ml|json|xml|toml|properties|log|txt):\d+\b`)

// quotes are what may stand between a host and its port, and what only looks like one.
var quotes = strings.NewReplacer("`:`", ":", "`", "", "lookup address information", "", "lookup SRV records", "lookup", "lookup for host", "lookup", "lookup failed for", "lookup", "lookup failure for:", "lookup", "dns:", "", "/<unresolved>:", ":")

// addresses are the forms in which Java, Python and others have a host and its port, and nc has both names;
// of a connection only where it leads.
var addresses = []struct {
	form *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\b([a-z][\w.-]*)/\d+(?:\.\d+){3}:(\d+)`), "$1:$2"},
	{regexp.MustCompile(`\('([\w.:-]+)', (\d+)(?:, <[^>]*>)?\)`), "$1:$2"},
	{regexp.MustCompile(`\bhost[=:]([\w.-]+)(?:\)\(|, )port[=:](\d+)`), "$1:$2"},
	{regexp.MustCompile(`\bhost "([\w.-]+)" \([^)]*\) and accepting TCP/IP connections on port (\d+)`), "$1:$2"},
	{regexp.MustCompile(`\b([a-z][\w.-]*)\[\d+(?:\.\d+){3}\]:(\d+)`), "$1:$2"},
	{regexp.MustCompile(`\|(\d+(?:\.\d+){3})\|:(\d+)`), " $1:$2"},
	{regexp.MustCompile(`\b(\d+(?:\.\d+){3})#(\d+)`), "$1:$2"},
	{regexp.MustCompile(`(?:\[[0-9a-f:]+\]|\d[\d.]*):\d+->`), ""},
	{regexp.MustCompile(`\[::1\]:(\d+)`), "localhost:$1"},
	{regexp.MustCompile(`\betcd-endpoints://0x[0-9a-f]+/`), ""},
	{regexp.MustCompile(` \(\d+(?:\.\d+){3}\) port `), " port "},
}

// clients are those of whom a server logs that they asked it, transports what may stand before
// an address.
var clients, transports = regexp.MustCompile(`(?i)\bclient:? \[?\d[\d.:a-f\]]*`), regexp.MustCompile(`\b(?:tcp|udp|ipv)[46]?[:#](\d)`)

// requested fits what nginx adds of the request at which it met an error: who asked it, and for what.
var requested = regexp.MustCompile(`, client: [^,]+, server: [^,]*, request: "[^"]*"|, host: "[^"]*"(?:, referrer: "[^"]*")?$`)

// requestOf fits what servers that log in JSON have in it of the request: its host is themselves.
var requestOf = regexp.MustCompile(`,"request":\{.*$`)

// Place is where a line of words about another points to; empty where it does not say.
func Place(line string) string {
	line = requestOf.ReplaceAllString(requested.ReplaceAllString(source.ReplaceAllString(line, "$1"), ""), "")
	line = quotes.Replace(line)
	for _, a := range addresses {
		line = a.form.ReplaceAllString(line, a.to)
	}
	line = transports.ReplaceAllString(clients.ReplaceAllString(line, " "), "$1")
	for _, w := range place.Find(line) {
		if w != "" {
			return strings.Replace(strings.TrimRight(w, "."), " port ", ":", 1)
		}
	}
	return ""
}

// socket fits the file of a socket, by what programs say of one that they listen on or ask: a path
// right behind "unix" or behind what the system calls EADDRINUSE.
var socket = regexp.MustCompile(`(?i)(?:\bunix(?:://|:| )|\baddress already in use:? )['"]?(/[a-z_][\w.@-]*(?:/[\w.@-]+)+)(?:[^\w./@-]|\.?$)`)

// Socket is the file of the socket that a line is about; empty where it is about none.
func Socket(line string) string {
	if m := socket.FindStringSubmatch(line); m != nil {
		return strings.TrimRight(m[1], ".")
	}
	return ""
}

// FailedBy reads what a line says of a question that another answered with a failure, or not in
// time: what that came to, and whom it asked, empty where it does not say.
func FailedBy(line string) (what, where string, ok bool) {
	switch {
	case LetDown.In(line):
		return "it answers with an error", Place(line), true
	case TooLate.In(line):
		return "it does not answer in time", Place(line), true
	case nobodyLeft.In(line):
		return "none of those that it may ask is there", Place(line), true
	}
	for _, at := range LetsNotIn.Find(line) {
		return "it does not let it in", at, true
	}
	for _, at := range BrokenOff.Find(line) {
		return "it breaks the connection off", at, true
	}
	if brokenOff.In(line) {
		return "it breaks the connection off", Place(line), true
	}
	return "", "", false
}

// BreaksOff says whether a line tells of a connection that was ended by whom it led to, as its
// client says it.
func BreaksOff(line string) bool { return brokenOff.In(line) }

// Unanswered says whether a line tells of a connection that was asked for, and neither came about
// nor was refused.
func Unanswered(line string) bool { return nobodyAnswers.In(line) }

// Unreached reads what a line says of a connection that did not come about: what kept
// it, and where to, as a name, an address or host:port, empty where it does not say.
func Unreached(line string) (what, where string, ok bool) {
	for _, u := range unreached {
		if !u.said.In(line) {
			continue
		}
		return u.what, Place(line), true
	}
	return "", "", false
}

// faultsByName are the signals by what strsignal(3) calls them.
var faultsByName = map[string]int32{
	"Illegal instruction": 4, "Trace/breakpoint trap": 5, "Aborted": 6, "Bus error": 7, "Floating point exception": 8, "Segmentation fault": 11, "Bad system call": 31,
}

// DiedOf is the signal of which a child died, as a shell says; 0 where the line says no such
// thing.
func DiedOf(line string) int32 {
	for _, name := range diedOf.Find(line) {
		return faultsByName[name]
	}
	return 0
}

// refusal fits the status of a refusal in the words of a client that was given it.
var refusal = regexp.MustCompile(`(?i)\b(?:http error|client error|status(?: code)?|response(?: code)?|returned error)[ :='"(]{1,3}4\d\d\b|\b4\d\d (?:client error|unauthorized|forbidden|bad request|not found|conflict|too many requests)\b`)

// ToldNo says whether words are those of a client that was answered, and with a refusal or a failure.
func ToldNo(text string) bool { return Any(text, LetDown, TurnedAway) || refusal.MatchString(text) }

// OfAnother says whether words are about another that was asked: where in its own code somebody says so is
// no place to correct.
func OfAnother(text string) bool {
	_, _, unreached := Unreached(text)
	return unreached || ToldNo(text) || Any(text, TooLate, LetsNotIn, Credentials) || BreaksOff(text)
}
