package words

// What programs say of troubles that many have met, which tells who meets it for the first time
// little of what to do.
var (
	// NotOpened is said of a file that could not be opened or read, whatever kept it.
	NotOpened = fits("Mosquitto 2.0, and others in such words", `(?i)\b(?:unable|failed|cannot|can't|could not|couldn't|error)\b.{0,20}\b(?:open|opening|read|reading|load|loading)\b`,
		"Error: Unable to open pwfile \"/mosquitto/secret/pwfile\".")
	// SQLiteNotOpened is said of a database's file that could not be opened, or made: SQLite says no more of why.
	SQLiteNotOpened = fits("SQLite 3.40", `(?i)\bunable to open (?:the )?database(?: file)?\b|\bSQLITE_CANTOPEN\b|\battempt to write a readonly database\b`, "sqlite3.OperationalError: unable to open database file", "Error: SQLITE_CANTOPEN: unable to open database file", "SQLite3::ReadOnlyException: attempt to write a readonly database")
	// ServiceLink is said by one that has for a number what Kubernetes says of a Service in a variable.
	ServiceLink = fits("programs that read NAME_PORT from their environment; kubelet, of Services (enableServiceLinks)",
		`(?i)(\binvalid (literal|port|value|integer|number|format|argument)\b|\binput string\b|\bpars(e|ing)\b|\bconvert\b|\bnot an? (int|integer|number|valid port)\b|\blisten\b|\beacces\b|\bport should be\b|\bunmarshal\b|\bdecod(e|ing)\b).{0,60}\btcp://(10|172|192|100)\.\d+\.\d+\.\d+:\d+|\bcannot unmarshal !!str .tcp://\S{0,24} into \w|\bstrconv\.\w+: parsing \"tcp://|\b(invalid|bad|illegal) port:? \"?tcp://|\bcannot parse \S+ as u?int\w*: .{0,30}\"tcp://|'tcp' is not a valid port\b|\bport is deprecated\. Please use KAFKA_ADVERTISED_LISTENERS\b`,
		`strconv.Atoi: parsing "tcp://10.43.0.9:6379": invalid syntax`, "ValueError: invalid literal for int() with base 10: 'tcp://10.43.0.9:6379'", `java.lang.NumberFormatException: For input string: "tcp://10.43.0.9:8080"`,
		"Error: listen EACCES: permission denied tcp://10.43.0.9:8080", "RangeError [ERR_SOCKET_BAD_PORT]: options.port should be >= 0 and < 65536. Received type string ('tcp://10.43.0.9:6379').",
		"yaml: unmarshal errors: line 3: cannot unmarshal !!str `tcp://1...` into int", "line 1: cannot unmarshal !!str `tcp://1...` into configuration.Parameters", "invalid port tcp://10.43.0.9:6379", `bad port "tcp://[fd00::9]:6379"`, "Error: 'tcp' is not a valid port number.", "port is deprecated. Please use KAFKA_ADVERTISED_LISTENERS instead.")
	// BadPort is said by one that has something for a port which is none.
	BadPort = fits("Node.js 24, validatePort; Actual, load-config.js; servers in their own words",
		`(?i)\bports? (?:numbers? )?(?:must|should|has to|have to) be (?:within|between|in range|in the range|an? (?:valid|integer|number)|>= ?0)|\bport(?: number)? (?:\S+ )?(?:is )?(?:out of range|not a number|not an integer)\b|\bERR_SOCKET_BAD_PORT\b|\bport out of range:`,
		"Error: port: ports must be within range 0 - 65535", "RangeError [ERR_SOCKET_BAD_PORT]: options.port should be >= 0 and < 65536. Received NaN.", "java.lang.IllegalArgumentException: port out of range:-1")
	// NotAllowed is said by a client of the API server: its service account's namespace and name, what
	// it wanted to do with which resource of which group, and in which namespace.
	NotAllowed = fits("k8s.io/apiserver, plugin/pkg/authorizer/rbac and pkg/endpoints/handlers/responsewriters",
		`(?i)\buser "system:serviceaccount:([\w.-]+):([\w.-]+)" cannot (\w+) resource "([\w./-]+)" in api group "([\w.-]*)"(?: in the namespace "([\w-]+)")?`,
		`pods is forbidden: User "system:serviceaccount:shop:web" cannot list resource "pods" in API group "" in the namespace "shop"`, `deployments.apps is forbidden: User "system:serviceaccount:shop:web" cannot list resource "deployments" in API group "apps" at the cluster scope`)
	// NoKind is said by a client of the API server of a kind that this one does not have.
	NoKind = fits("k8s.io/apimachinery, pkg/api/meta, NoKindMatchError",
		`(?i)no matches for kind "(\w+)" in (?:version|group)s?|no kind match|if kind is a crd, it should be installed`,
		`no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"`)
	// Debugger is said by a runtime that lets a debugger in, and may wait for one before it runs its program.
	Debugger = fits("Node.js 24, src/inspector_socket_server.cc; OpenJDK 25, libdt_socket; debugpy 1.8; Delve 1.25",
		`(?i)\bdebugger listening on \S+|\blistening for transport dt_socket at address: ?\d+|\bwaiting for (?:a |the )?(?:debugger|debug client)(?: client)? to (?:attach|connect)\b|\bAPI server listening at: \S+`,
		"Debugger listening on ws://127.0.0.1:9229/a2ac8b24-b004-454d-a37a-6691250453be", "Listening for transport dt_socket at address: 5005", "API server listening at: [::]:2345")
	// NoPassword is said by one that was asked for a password, and has none.
	NoPassword = fits("libpq 17; psql 17", `(?i)\bfe_sendauth: no password supplied`, `connection to server at "db" (10.43.0.9), port 5432 failed: fe_sendauth: no password supplied`)
	// LeaseLost is said by one of several of which one leads, when it ends for that.
	LeaseLost = fits("k8s.io/client-go, tools/leaderelection; controller-runtime 0.22",
		`(?i)\bleader ?election lost\b|\bfailed to renew lease\b|\bleader lost\b|\blost (leadership|master|leader election)\b`,
		`E1124 05:00:00.000000       1 leaderelection.go:304] "Failed to renew lease" lock="shop/operator" err="timed out waiting for the condition"`, "leader election lost", "leaderelection lost")
	// NoTable is said of a database that has not what a program expects of it.
	NoTable = fits("PostgreSQL 17, MySQL 9, SQLite 3, SQL Server 2025, Oracle 23, Rails 8, Flyway 11",
		`(?i)\brelation "[^"]+" does not exist|\btable '[^']+' doesn't exist|\bno such (table|column): \S|\binvalid object name '|\bORA-00942\b|\bunknown column '[^']+'|\bcolumn \S+ does not exist|\bmigrations? (are|is) pending|\bpending migrations?\b|\bbase table or view not found`,
		`psycopg2.errors.UndefinedTable: relation "orders" does not exist`, "ERROR 1146 (42S02): Table 'shop.orders' doesn't exist", "sqlite3.OperationalError: no such table: orders", "ActiveRecord::PendingMigrationError: Migrations are pending.", "SQLSTATE[42S02]: Base table or view not found: 1146").except(systemTable)
	systemTable = fits("MariaDB 12 and MySQL 9, whose own tables are made by its first start", `(?i)\b(mysql|performance_schema|sys)\.\w+' doesn't exist`, "Fatal error: Can't open and lock privilege tables: Table 'mysql.db' doesn't exist")
	NoDatabase  = fits("PostgreSQL 17, PgBouncer 1.18, MySQL 9, MongoDB 8, Cassandra 5, SQL Server 2025",
		`(?i)\bdatabase "[^"]+" does not exist|\bunknown database '|\brole "[^"]+" does not exist|\bkeyspace '?\S+'? does not exist|\bcannot open database "[^"]+" requested by the login|\bno such database: \S`,
		`FATAL:  database "shop" does not exist`, "ERROR 1049 (42000): Unknown database 'shop'", "FATAL:  no such database: shop", `FATAL:  role "shop" does not exist`)
	LockWait = fits("PostgreSQL 17, MySQL 9, Liquibase 4",
		`(?i)\block wait timeout exceeded\b|\bdeadlock (found|detected)\b|\bdue to lock timeout\b|\bcould not obtain lock on\b|\bwaiting for changelog lock\b|\bcould not acquire change ?log lock\b|\banother migration process is currently running\b`,
		"ERROR 1205 (HY000): Lock wait timeout exceeded; try restarting transaction", "ERROR:  deadlock detected", "ERROR:  canceling statement due to lock timeout", "liquibase.exception.LockException: Could not acquire change log lock.", "Cannot run migrations because another migration process is currently running.")
	NotEmpty = fits("PostgreSQL 17, initdb; MySQL 9, mysqld --initialize; git 2",
		`(?i)\bdirectory "?\S+"? exists but is not empty|\bdata directory has files in it\b|\bdestination path '[^']+' already exists and is not an empty directory`,
		`initdb: error: directory "/var/lib/postgresql/data" exists but is not empty`, "--initialize specified but the data directory has files in it. Aborting.")
	// Damaged is said of data, not of what came over a connection.
	Damaged = fits("PostgreSQL 17, Redis 8, SQLite 3, MariaDB 12, etcd 3.6, Prometheus 3, OpenJDK 25",
		`(?i)\binnodb: file \S+ was not found|\bwal: max entry size limit exceeded\b|\bcould not locate a valid checkpoint record|\binvalid primary checkpoint record|\bbad file format reading the append only file|\bdatabase disk image is malformed|\bfile is not a database\b|\bwrong RDB checksum|\bshort read or OOM loading DB|\bsize of control file is (smaller|larger) than expected|\bwal: crc mismatch|\b(database|index|segment|snapshot|journal|page|block|data file|log file|wal|tablespace|archive|jarfile|data) \S{0,60} ?(is|seems|appears|may be|to be) (corrupt(ed)?|damaged)\b|\b(invalid or corrupt jarfile|corrupt(ed)? (index|segment|block|page|wal|database|data file|snapshot|log))\b`,
		"[ERROR] InnoDB: File ./ib_logfile0 was not found", "PANIC:  could not locate a valid checkpoint record", "Bad file format reading the append only file appendonly.aof.1.incr.aof: make a backup of your AOF file", "sqlite3.DatabaseError: database disk image is malformed", "sqlite3.DatabaseError: file is not a database", "Error: Invalid or corrupt jarfile /app.jar",
		"mariadbd: Got error 'Size of control file is smaller than expected' when trying to use aria control file '/data/db/aria_log_control'", "wal: crc mismatch", "etcdmain: wal: max entry size limit exceeded", "org.apache.lucene.index.CorruptIndexException: index /data/0 is corrupt")
	KeyOfAnother = fits("OpenSSL 3.5, Go 1.26 crypto/tls, Node 24",
		`(?i)\bkey values mismatch\b|\bprivate key does not match (the )?(public key|certificate)|\b(certificate and (private )?key|key and certificate)s? do(es)? not match|\binconsistencies between private key and certificate`,
		"nginx: [emerg] SSL_CTX_use_PrivateKey(\"/tls/tls.key\") failed (SSL: error:05800074:x509 certificate routines::key values mismatch)", "tls: private key does not match public key")
	CertificateName = fits("OpenSSL 3.5, Go 1.26 crypto/x509, Node 24, OpenJDK 25, CPython 3.14, curl 8, libpq 17",
		`(?i)\bcertificate is (only )?valid for .{1,80}, (not \S|but none matched)|\bcertificate is not valid for any names\b|\bhostname mismatch\b|does not match certificate's altnames|\baltname_invalid\b|\bno (subject )?alternative (dns |certificate subject )?names? (present|match|found)|\bdoes not match (target )?host ?name\b|\bdoesn't contain any IP SANs|\brelies on legacy common name|\bcertificate subject name '[^']*' does not match`,
		"tls: failed to verify certificate: x509: certificate is valid for api.shop, not db", "certificate verify failed: Hostname mismatch, certificate is not valid for 'db'", "Error [ERR_TLS_CERT_ALTNAME_INVALID]: Hostname/IP does not match certificate's altnames: Host: db. is not in the cert's altnames: DNS:api",
		"java.security.cert.CertificateException: No subject alternative DNS name matching db found.", `server certificate for "api" does not match host name "db"`, "curl: (60) SSL: no alternative certificate subject name matches target host name 'db'", "x509: certificate is valid for 3 names, but none matched db", "x509: cannot validate certificate for 10.43.0.9 because it doesn't contain any IP SANs")
	// OnlyOneTLS is said where one end of a connection speaks TLS.
	OnlyOneTLS = fits("OpenSSL 3.5, Go 1.26, OpenJDK 25, nginx 1.28, Node 24",
		`(?i)\bwrong version number\b|\bserver gave HTTP response to HTTPS client\b|\bdoes not look like a tls handshake\b|\bplain HTTP request was sent to HTTPS port\b|\bsent an HTTP request to an HTTPS server\b|\bunsupported or unrecognized ssl message\b|\bssl routines:[\w:]*:http request\b|\brecord layer failure\b`,
		"ssl.SSLError: [SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)", "http: server gave HTTP response to HTTPS client", "javax.net.ssl.SSLException: Unsupported or unrecognized SSL message", "tls: first record does not look like a TLS handshake")
	TooOldCrypto = fits("OpenSSL 3.5, OpenJDK 25, Node 24, CPython 3.14",
		`(?i)\bdigital envelope routines:[\w:]*:unsupported\b|\bunsupported hash type\b|\blegacy sigalg disallowed\b|\b(ee|ca|dh) key too small\b|\bca md too weak\b|\bno protocols available\b|\bssl routines:[\w:]*:unsupported protocol\b|\bunsafe legacy renegotiation\b|\balert protocol version\b|\bno appropriate protocol\b|\bno cipher suites in common\b|\bno shared cipher\b`,
		"Error: error:0308010C:digital envelope routines::unsupported", "ssl.SSLError: [SSL: EE_KEY_TOO_SMALL] ee key too small (_ssl.c:3900)", "ValueError: unsupported hash type md4", "javax.net.ssl.SSLHandshakeException: No appropriate protocol (protocol is disabled or cipher suites are inappropriate)", "error:0A000102:SSL routines::unsupported protocol")
	NoTimeZone = fits("CPython 3.14, Go 1.26, TZInfo 2, PostgreSQL 17, OpenJDK 25",
		`(?i)\bno time ?zone found with key\b|\bunknown time ?zone\b|\btime zone "[^"]+" (not recognized|does not exist)|\btzinfo::\w+|\bunknown time-zone id\b|\binvalid value for parameter "(log_)?timezone"|\bunknown or incorrect time zone\b`,
		"zoneinfo._common.ZoneInfoNotFoundError: 'No time zone found with key Europe/Berlin'", "unknown time zone Europe/Berlin", "TZInfo::DataSourceNotFound", "java.time.zone.ZoneRulesException: Unknown time-zone ID: Europe/Berlin", "ERROR 1298 (HY000): Unknown or incorrect time zone: 'Europe/Berlin'")
	OnlyASCII = fits("CPython 3.14, Ruby 3.4, OpenJDK 25, Perl 5",
		`(?i)\binvalid byte sequence in US-ASCII\b|'ascii' codec can't (en|de)code\b|\bmalformed input or input contains unmappable characters\b|\bfrom ASCII-8BIT to UTF-8\b|\bunmappable character .{0,40}for encoding (US-)?ASCII\b`,
		"ArgumentError: invalid byte sequence in US-ASCII", "UnicodeEncodeError: 'ascii' codec can't encode character '\\xe4' in position 1: ordinal not in range(128)", "java.nio.file.InvalidPathException: Malformed input or input contains unmappable characters: /data/M?nchen")
	NoUser = fits("CPython 3.14 pwd, OpenSSH 9, Go 1.26 os/user, Hadoop 3, glibc 2.42, PostgreSQL 17",
		`(?i)\buid not found\b|\bno user exists for uid\b|\bcannot find name for (user|group) id\b|\blookup userid \d+|\bunknown userid \d+|\bunable to look up current user\b|\blocal user with id \d+ does not exist\b|\binvalid null input: name\b|\bgetpwnam\("[^"]+"\) failed|\bcan't find user '|\bcould not look up effective user id \d+: user does not exist`,
		"KeyError: 'getpwuid(): uid not found: 1000'", "No user exists for uid 1000", "user: unknown userid 1000", "org.apache.hadoop.security.KerberosAuthException: failure to login: invalid null input: name", `nginx: [emerg] getpwnam("www-data") failed in /etc/nginx/nginx.conf:1`, "initdb: could not look up effective user ID 1000680000: user does not exist")
	OldProcessor = fits("glibc 2.42, elf/dl-load.c and cpu_features; MongoDB 8; NumPy 2",
		`(?i)\bcpu does not support x86-64-v\d|\bcpu isa level is lower than required\b|\brequires a cpu with avx\b|\bcpu (lacks|does not (have|support)) (avx|sse)\w*|\brequires.{0,20} (avx2?|sse4\w*) (instructions?|support)`,
		"Fatal glibc error: CPU does not support x86-64-v2", "WARNING: MongoDB 5.0+ requires a CPU with AVX support, and your current system does not appear to have that!", "error while loading shared libraries: libc.so.6: CPU ISA level is lower than required")
	MapsFull = fits("Elasticsearch 9, BootstrapChecks.java; OpenSearch 3; SonarQube 25",
		`(?i)vm\.max_map_count\]? ?\[?\d+\]? (is )?too low|\bmax virtual memory areas\b`,
		"bootstrap check failure [1] of [1]: max virtual memory areas vm.max_map_count [65530] is too low, increase to at least [262144]")
	NoSuchFlag = fits("Go 1.26 flag, pflag 1, CPython 3.14 argparse, click 8, GNU getopt_long, MySQL 9, OpenJDK 25",
		`(?i)\bunknown (shorthand |command[- ]line )?(flag|option|argument)s?\b[:=' -]|\b(unrecognized|unexpected) (command[- ]line )?(option|argument|flag|vm option)s?\b|\bflag provided but not defined\b|\bno such option\b|\bunknown variable '|\binvalid option -- `,
		"unknown flag: --storage.tsdb.retention", "flag provided but not defined: -insecure", "error: unrecognized arguments: --reload-extra", "Error: No such option: --workerz", "mysqld: [ERROR] unknown variable 'innodb_file_format=Barracuda'", "Unrecognized VM option 'UseConcMarkSweepGC'", "nc: invalid option -- 'X'").except(inSource)
)
