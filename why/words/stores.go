package words

// What databases, queues and their clients say, beside what troubles.go has, whose meaning is not
// obvious to who meets it for the first time.
var (
	// NotFromThere is said by a database of who may not come from where it comes from.
	NotFromThere = fits("PostgreSQL 17, auth.c; MySQL 9, ER_HOST_NOT_PRIVILEGED; Redis 8, protected mode",
		`(?i)\bno pg_hba\.conf entry for\b|(?:\bhost ')?[\w.:%-]+' is not allowed to connect\b|\brunning in protected mode\b`,
		`FATAL:  no pg_hba.conf entry for host "10.42.0.9", user "shop", database "shop", no encryption`, "ERROR 1130 (HY000): Host '10.42.0.9' is not allowed to connect to this MySQL server", "DENIED Redis is running in protected mode because protected mode is enabled")
	// GaveNoPassword is said of who asks without one, WrongPassword of who has another.
	GaveNoPassword = fits("MySQL 9 and MariaDB 12, ER_ACCESS_DENIED_ERROR; Redis 8, networking.c; libpq 17", `(?i)\busing password: NO\b|\bNOAUTH authentication required|\bfe_sendauth: no password supplied`,
		"ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: NO)", "NOAUTH Authentication required.", "fe_sendauth: no password supplied")
	WrongPassword = fits("MySQL 9 and MariaDB 12, ER_ACCESS_DENIED_ERROR; Redis 8, acl.c; PostgreSQL 17, auth.c", `(?i)\busing password: YES\b|\bWRONGPASS\b|\bpassword authentication failed\b|\bAUTH failed\b`,
		"ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)", "AUTH failed: WRONGPASS invalid username-password pair or user is disabled.", `FATAL:  password authentication failed for user "shop"`)
	// NoGrant is said by a database of a user who is logged in.
	NoGrant = fits("RabbitMQ 4, rabbit_access_control.erl; PostgreSQL 17, aclchk.c; MySQL 9, ER_TABLEACCESS_DENIED_ERROR; Redis 8, acl.c; MongoDB 8; Kafka 4; Oracle 23; SQL Server 2025",
		`(?i)\bpermission denied for (table|schema|relation|database|sequence|function|view|tablespace|type)\b|\b(select|insert|update|delete|create|drop|alter|index|references|execute) command denied to user\b|\bmust be owner of\b|\bNOPERM\b|\bnot authorized on \S+ to execute command\b|\b(topic|group|cluster)_?authorization_?(failed|exception)\b|\bORA-01031\b|\bpermission was denied on the object '|\baccess to \w+ '[^']*' in vhost '[^']*' refused for user\b`,
		"ERROR:  permission denied for schema public", "ERROR 1142 (42000): SELECT command denied to user 'shop'@'10.42.0.9' for table 'orders'", "ERROR:  must be owner of table orders", "NOPERM this user has no permissions to run the 'config|get' command",
		"MongoServerError: not authorized on shop to execute command { find: \"orders\" }", "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [orders]", "ORA-01031: insufficient privileges", "The SELECT permission was denied on the object 'orders'",
		"ACCESS_REFUSED - access to queue 'orders' in vhost '/' refused for user 'worker'")
	// ClientsMax is said by a database that takes no more connections.
	ClientsMax = fits("PostgreSQL 17, proc.c; MySQL 9, ER_CON_COUNT_ERROR; Redis 8, networking.c; MongoDB 8",
		`(?i)\btoo many clients already\b|\bremaining connection slots are reserved\b|\b(error|sqlstate\[08004\] \[)\D{0,3}1040\b|\btoo many connections for (role|database)\b|\bmax number of clients reached\b|\btoo many open connections\b|'max_user_connections'`,
		"FATAL:  sorry, too many clients already", "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute", "ERROR 1040 (HY000): Too many connections", "SQLSTATE[08004] [1040] Too many connections", "ERR max number of clients reached", `FATAL:  too many connections for role "shop"`,
		"User shop already has more than 'max_user_connections' active connections", "connection refused because too many open connections: 819")
	// LoginKind is said by a client that does not know the way in which a server wants a login.
	LoginKind = fits("mysql of Node.js 2, MySQL 9's clients, libpq 9.6, pgjdbc 42, Go's and Rust's clients of PostgreSQL",
		`(?i)\bER_NOT_SUPPORTED_AUTH_MODE\b|\bdoes not support authentication protocol requested|\bplugin '?caching_sha2_password'? (cannot|could not) be loaded|\bauthentication (method|type) 10 (is )?not supported|\bscram authentication requires libpq|\bunsupported (sasl )?mechanism\b`,
		"Error: ER_NOT_SUPPORTED_AUTH_MODE: Client does not support authentication protocol requested by server; consider upgrading MySQL client", "Authentication plugin 'caching_sha2_password' cannot be loaded", "The authentication type 10 is not supported.", "SCRAM authentication requires libpq version 10 or above", "unsupported SASL mechanism SCRAM-SHA-512")
	// NoTLSThere is said by a client that wants TLS of a server that has none, TLSWanted of one that
	// wants it of its clients.
	NoTLSThere = fits("libpq 17, node-postgres 8, pgjdbc 42, lib/pq 1, MySQL 9's clients",
		`(?i)\bserver does not support (ssl|tls)\b|\bssl is not enabled on the server\b|\bserver doesn't support ssl\b|\bssl is required,? but the server doesn't support it`,
		"Error: The server does not support SSL connections", "pq: SSL is not enabled on the server", "ERROR 2026 (HY000): SSL connection error: SSL is required, but the server doesn't support it")
	TLSWanted = fits("MySQL 9, ER_SECURE_TRANSPORT_REQUIRED; Azure Database for PostgreSQL; pgjdbc 42",
		`(?i)\bconnections using insecure transport are prohibited\b|\bssl connection is required\b|, SSL off\b`,
		"ERROR 3159 (HY000): Connections using insecure transport are prohibited while --require_secure_transport=ON.", "FATAL: SSL connection is required. Please specify SSL options and retry.")
	// MigrationFailed is said by a tool of migrations of one that ended halfway, MigrationChanged of
	// one that is not what was run.
	MigrationFailed = fits("golang-migrate 4, ErrDirty; Prisma 6, P3009 and P3018; Flyway 11",
		`(?i)\bdirty database version \d+|\berror: P30(09|18)\b|\bfound failed migrations\b|\bdetected failed migration to version\b|\bcontains a failed migration\b`,
		"error: Dirty database version 12. Fix and force version.", "Error: P3009", "migrate found failed migrations in the target database, new migrations will not be applied.", `Detected failed migration to version 3 (orders).`, "Schema `shop` contains a failed migration to version 3 !")
	MigrationChanged = fits("sqlx 0.8, Flyway 11, Liquibase 4, Alembic 1, Django 5, Prisma 6",
		`(?i)\bpreviously applied but (has been modified|is missing)|\bmigration checksum mismatch\b|\bmigrations have failed validation\b|\bcan't locate revision identified by\b|\bwas modified after it was applied\b|\bapplied migration not resolved locally\b|\bchange ?sets? check ?sums?\b|\bNodeNotFoundError: Migration\b`,
		"migration 20261101093000 was previously applied but has been modified", "Migration checksum mismatch for migration version 3", "FAILED: Can't locate revision identified by 'a1b2c3'", "Validate failed: Migrations have failed validation",
		"The migration `20261101_orders` was modified after it was applied.", "1 changesets check sum", "django.db.migrations.exceptions.NodeNotFoundError: Migration shop.0007 dependencies reference nonexistent parent node", "Detected applied migration not resolved locally: 4.")
	// ChangeLogLock is said by Liquibase of a lock that nobody may hold any more.
	ChangeLogLock = fits("Liquibase 4, StandardLockService.java", `(?i)\bwaiting for changelog lock\b|\bcould not acquire change ?log lock\b`,
		"Waiting for changelog lock....", "liquibase.exception.LockException: Could not acquire change log lock.  Currently locked by shop-5d7c9b6f4-9zxkq (10.42.0.31) since 11/22/26, 9:58 PM")
	// ThereAlready is said of what a migration wants to make.
	ThereAlready = fits("PostgreSQL 17, MySQL 9, SQLite 3", `(?i)\b(relation|table|column|type|constraint|index) ["'\x60]?[^\s"']+["'\x60]? already exists$|\b(relation|table|column|type) ["'][^"']+["'](\.? of relation "[^"]+")? already exists\b|\bduplicate column name\b|\b42S01\b`,
		`ERROR:  relation "users" already exists`, "SQLSTATE[42S01]: Base table or view already exists: 1050 Table 'users' already exists", "ERROR 1060 (42S21): Duplicate column name 'vat'", "sqlite3.OperationalError: table orders already exists").except(skipped)
	skipped  = fits("PostgreSQL 17, NOTICE", `(?i)already exists, skipping`, `NOTICE:  relation "_sqlx_migrations" already exists, skipping`)
	StartsUp = fits("PostgreSQL 17, backend_startup.c; Redis 8, shared.loadingerr", `(?i)\bthe database system is (starting up|not yet accepting connections|in recovery mode)|\bLOADING redis is loading`,
		"FATAL:  the database system is starting up", "FATAL:  the database system is not yet accepting connections", "LOADING Redis is loading the dataset in memory")
	ShardLimit = fits("Elasticsearch 9 and OpenSearch 3, ShardLimitValidator.java", `(?i)\bmaximum (\w+ )?shards open\b`,
		"Validation Failed: 1: this action would add [2] total shards, but this cluster currently has [1000]/[1000] maximum shards open;")
	QueueAlarm = fits("RabbitMQ 4, rabbit_alarm.erl", `(?i)\b(memory|disk) resource limit alarm set\b|\bpublishers will be blocked until this alarm clears\b|\bvm_memory_high_watermark set\b|\brabbitmq on node \S+ has alarms in effect\b|\b(memory|disk)( free space)? alarm on node\b`,
		"memory resource limit alarm set on node 'rabbit@rabbit-0.rabbit-nodes'.", "*** Publishers will be blocked until this alarm clears ***", "vm_memory_high_watermark set. Memory used:428900352 allowed:429496729", "RabbitMQ on node rabbit@rabbit-0 has alarms in effect: [{resource_limit,disk,'rabbit@rabbit-0'}]", "Memory alarm on node rabbit@rabbitmq")
	ExtensionMissing = fits("PostgreSQL 17, extension.c and dfmgr.c; pgvector, PostGIS",
		`(?i)\bextension "[^"]+" is not available|\bcould not open extension control file|\btype "(vector|geometry|geography|citext|hstore)" does not exist|\bcould not access file "(\$libdir/)?\w+": no such file`,
		`ERROR:  extension "vector" is not available`, `ERROR:  could not open extension control file "/usr/share/postgresql/17/extension/postgis.control": No such file or directory`, `ERROR:  type "vector" does not exist`, `FATAL:  could not access file "timescaledb": No such file or directory`)
	// NotPrepared is said through a pooler that gives each transaction another connection.
	NotPrepared = fits("PostgreSQL 17, prepare.c, behind PgBouncer 1 in mode transaction",
		`(?i)\bprepared statement "[^"]*" (already exists|does not exist)|\bunnamed prepared statement does not exist`,
		`ERROR:  prepared statement "S_1" already exists`, `pq: unnamed prepared statement does not exist`)
	QueryTooLong = fits("PostgreSQL 17, postgres.c; MySQL 9, ER_QUERY_TIMEOUT; MongoDB 8, MaxTimeMSExpired",
		`(?i)\bcanceling statement due to statement timeout\b|\bmaximum statement execution time exceeded\b|\bMaxTimeMSExpired\b`,
		"ERROR:  canceling statement due to statement timeout", "Query execution was interrupted, maximum statement execution time exceeded", "MongoServerError: operation exceeded time limit: MaxTimeMSExpired")
	TooBig = fits("MySQL 9, ER_NET_PACKET_TOO_LARGE; nginx 1.28; Kafka 4; grpc-go 1; Express 5, body-parser; RFC 9110 (413); beanstalkd 1.13, NATS 2.11, RabbitMQ 4, memcached 1.6",
		`(?i)\bmax_allowed_packet\b|\brequest entity too large\b|\bclient intended to send too large body\b|\brecordtoolargeexception\b|\breceived message larger than max\b|\bpayload ?too ?large(error)?\b|\bMSG_SIZE_TOO_LARGE\b|\bJOB_TOO_BIG\b|\bmaximum payload (?:violation|exceeded)\b|\bmessage size \d+ (?:is )?larger than\b|\bobject too large for cache\b`,
		"ERROR 1153 (08S01): Got a packet bigger than 'max_allowed_packet' bytes", "PayloadTooLargeError: request entity too large", "[error] 7#7: *1 client intended to send too large body: 10485761 bytes", "org.apache.kafka.common.errors.RecordTooLargeException: The message is 1048600 bytes",
		"rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5242880 vs. 4194304)", "put: JOB_TOO_BIG", "nats: 'Maximum Payload Violation'", "PRECONDITION_FAILED - message size 200000 is larger than configured max size 134217", "SERVER_ERROR object too large for cache")
	// CannotSave is said by Redis, which takes no writes while it cannot save its data, CannotFork where
	// the node gives it no memory for that.
	CannotSave = fits("Redis 8, server.c, shared.bgsaveerr, and rdb.c; Valkey 9", `\bMISCONF\b|(?i)\bfailed opening the (temp )?rdb file`,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", "Failed opening the temp RDB file temp-1.rdb (in server root dir /data) for saving: Permission denied")
	CannotFork = fits("Redis 8, rdb.c and aof.c; Valkey 9", `(?i)\bcan't (save|rewrite append only file) in background: fork`,
		"Can't save in background: fork: Cannot allocate memory")
	// OfACluster is said by a member of Redis' cluster to a client that does not know of clusters.
	OfACluster = fits("Redis 8, cluster.c", `\b(MOVED|ASK) \d+ \S+:\d+|\bCROSSSLOT\b|\bSELECT is not allowed in cluster mode`,
		"redis.exceptions.ResponseError: MOVED 12182 10.42.1.9:6379", "CROSSSLOT Keys in request don't hash to the same slot", "ERR SELECT is not allowed in cluster mode")
	// NoLeader is said by a member of a cluster that sees too few of the others.
	NoLeader = fits("Consul 1, Elasticsearch 9, NATS 2, MinIO, Loki 3 and Mimir 2 (dskit), etcd 3.6, Raft of HashiCorp, ZooKeeper 3.9",
		`(?i)\bno cluster leader\b|\bmaster not discovered\b|\bmaster_?not_?discovered_?exception\b|\bnot established contact with a meta leader\b|\bhas no quorum\b|\bno elected leader\b|\belection timeout reached, restarting\b|\binsufficient number of drives online\b|\bwaiting for a minimum of \d+ drives\b|\bat least \d+ live replicas required\b|\betcdserver: no leader\b|\bkeepererrorcode = connectionloss\b`,
		`error="No cluster leader"`, "master not discovered or elected yet, an election requires at least 2 nodes", "MasterNotDiscoveredException", "JetStream has not established contact with a meta leader", "JetStream cluster stream '$G > orders' has NO quorum, stalled", "Election timeout reached, restarting election",
		"Error: Read failed. Insufficient number of drives online (*errors.errorString)", "Waiting for a minimum of 2 drives to come online (elapsed 2m14s)", "at least 2 live replicas required, could only find 1", "etcdserver: no leader", "KeeperErrorCode = ConnectionLoss", "no elected leader")
	OtherCluster = fits("Kafka 4, InconsistentClusterIdException; Patroni 4; etcd 3.6, rafthttp; CockroachDB 25",
		`(?i)\bcluster id \S+ doesn't match stored clusterid|\binconsistentclusteridexception\b|\bsystem id mismatch\b|\bcluster ?id mismatch\b|\bbelongs to a different cluster\b`,
		"kafka.common.InconsistentClusterIdException: The Cluster ID abc doesn't match stored clusterId Some(def) in meta.properties.", "CRITICAL: system ID mismatch, node postgres-1 belongs to a different cluster", "request cluster ID mismatch (got abc want def)")
	FewBrokers = fits("Kafka 4, InvalidReplicationFactorException", `(?i)\breplication factor:? \d+ (is )?larger than available brokers|\bunable to replicate the partition \d+ time|\binvalid_?replication_?factor`,
		"Replication factor: 3 larger than available brokers: 1.", "org.apache.kafka.common.errors.InvalidReplicationFactorException: Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered.")
	NotFormatted = fits("Kafka 4, MetaPropertiesEnsemble.java", `(?i)\bno readable meta\.properties files? found|\bno `+"`?meta\\.properties`?"+` found in\b`,
		"java.lang.RuntimeException: No readable meta.properties files found.", "No `meta.properties` found in /var/lib/kafka/data (have you run `kafka-storage.sh` to format the directory?)")
	Sealed = fits("Vault 1, OpenBao 2", `(?i)\bvault is sealed\b|\bsecurity barrier not initialized\b`,
		"Error making API request. Code: 503. Errors: * Vault is sealed", "core: security barrier not initialized")
	Watermark = fits("Elasticsearch 9, DiskThresholdMonitor.java; OpenSearch 3",
		`(?i)\bflood[- ]stage (disk )?watermark\b|\bindex read-only / allow delete\b|\bread-only-allow-delete\b|\bdisk watermark \[[^\]]*\] exceeded\b`,
		"flood stage disk watermark [95%] exceeded on [abc][es-0][/data] free: 1gb[3%], all indices on this node will be marked read-only", "cluster_block_exception: index [orders] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];", "[FORBIDDEN/12/index read-only / allow delete (api)]", "high disk watermark [90%] exceeded on [abc]")
	WrongOwner = fits("PostgreSQL 17, miscinit.c and initdb.c", `(?i)\bhas wrong ownership\b|\bmust be (started|run) by the user that owns\b|\bcould not change permissions of directory\b`,
		`FATAL:  data directory "/var/lib/postgresql/data" has wrong ownership`, "HINT:  The server must be started by the user that owns the data directory.", `initdb: error: could not change permissions of directory "/var/lib/postgresql/data": Operation not permitted`)
	// NotAsRoot is said by a server that does not start as root.
	NotAsRoot = fits("PostgreSQL 17, main.c; MySQL 9; memcached 1.6; Elasticsearch 9 and OpenSearch 3, Elasticsearch.java",
		`(?i)"root" execution of the postgresql server is not permitted|\bcan ?not run (elasticsearch|opensearch) as root\b|\bcannot be run as root\b|\bto find out how to run mysqld as root\b|\bcan(?:'t|not) run as root without\b`,
		`"root" execution of the PostgreSQL server is not permitted.`, "java.lang.RuntimeException: can not run elasticsearch as root", "initdb: error: cannot be run as root", "can't run as root without the -u switch", "[ERROR] [MY-010123] [Server] Fatal error: Please read \"Security\" section of the manual to find out how to run mysqld as root!")
	// TooOld is said of what a program needs a newer version of.
	TooOld = fits("Sidekiq 7, Django 5, Cilium 1, and others in such words",
		`(?i)\brequires (redis|postgresql|mysql|mariadb|mongodb|elasticsearch|kubernetes|kafka|python|node\.js|java|php|ruby|glibc)( server)?( version)? ?(>=? ?)?v?\d[\d.]*( or | ?\+)|\b(redis|postgresql|mysql|mariadb|sqlite|python) v?\d[\d.]* or (later|newer|greater|higher) is required\b|\bminimal supported kernel version\b|\brequires java \d+\b`,
		"You are connecting to Redis 5.0.7, Sidekiq requires Redis 6.2.0 or greater", "django.db.utils.NotSupportedError: PostgreSQL 14 or later is required (found 12.5).", "kernel version: NOT OK: minimal supported kernel version is >= 4.19.57")
)
