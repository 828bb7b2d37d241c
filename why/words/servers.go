package words

// What servers say as they start, or do not go on, of a set-up that does not fit what they find, beside
// what stores.go and troubles.go have.
var (
	// PlaceOfUser is said by PostgreSQL of who may not come from where it comes from: whether for
	// replication, from which address, as whom, and to which database.
	PlaceOfUser = fits("PostgreSQL 17, auth.c, ClientAuthentication",
		`\bno pg_hba\.conf entry for (replication connection from )?host "([^"]+)", user "([^"]+)"(?:, database "([^"]+)")?`,
		`FATAL:  no pg_hba.conf entry for host "10.42.0.32", user "shop", database "shop", no encryption`, `FATAL:  no pg_hba.conf entry for replication connection from host "10.42.0.32", user "copy", no encryption`, `FATAL:  no pg_hba.conf entry for host "[local]", user "shop", database "shop"`)
	// ChangesGone is said by a replica whose primary does not have any more what it asks for.
	ChangesGone = fits("MariaDB 12 and MySQL 9, ER_MASTER_FATAL_ERROR_READING_BINLOG (1236); PostgreSQL 17, walsender.c",
		`(?i)\brequested to start from GTID\b.{0,80}\bis not in the (?:master|source)'s binlog|\bcould not find first log file name in binary log index file|\bserver_errno[=: ]+1236\b|\bgot fatal error 1236 from (?:master|source)\b|\brequested WAL segment \S+ has already been removed`,
		"Got fatal error 1236 from master when reading data from binary log: 'Error: connecting slave requested to start from GTID 0-1-12, which is not in the master's binlog'", "Could not find first log file name in binary log index file", "Error reading packet from server (server_errno=1236)", "FATAL:  could not receive data from WAL stream: ERROR:  requested WAL segment 000000010000000000000003 has already been removed")
	// FolderGone is said by PostgreSQL of a folder of its data that has nothing in it mostly.
	FolderGone = fits("PostgreSQL 17, fd.c and slru.c", `(?i)\bcould not open directory "((?:[^"]*/)?pg_\w+(?:/\w+)*)": no such file or directory`,
		`FATAL:  could not open directory "pg_notify": No such file or directory`, `PANIC:  could not open directory "pg_logical/snapshots": No such file or directory`)
	// NoApacheVariable is said by Apache of what Debian's start script has from a file of its own.
	NoApacheVariable = fits("Apache 2.4, core.c, ap_resolve_env, of Debian's apache2.conf", `\bAH00111: |(?i)\bconfig variable \$\{\w+\} is not defined`,
		"[core:warn] [pid 1] AH00111: Config variable ${APACHE_RUN_DIR} is not defined")
	// NoSlot is said by PostgreSQL to a standby of a replication slot that is not there.
	NoSlot = fits("PostgreSQL 17, slot.c, ReplicationSlotAcquire", `(?i)\breplication slot "([^"]+)" does not exist`, `FATAL:  could not start WAL streaming: ERROR:  replication slot "replica_0" does not exist`)
	// AsksOthers is said by an etcd that is to join a cluster of which it reaches no member.
	AsksOthers = fits("etcd 3.6, server/etcdserver/bootstrap.go and cluster_util.go", `(?i)\bcannot fetch cluster info from peer urls\b|\bcould not retrieve cluster information from the given urls\b`,
		"etcdmain: cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs")
	// SmallBuffer is said by uWSGI of a request whose head is larger than it takes.
	SmallBuffer = fits("uWSGI 2.0, proto/base.c and core/protocol.c", `(?i)\binvalid (?:HTTP )?request (?:block )?size\b`, "invalid HTTP request size (max 4096)...skip", "invalid request block size: 4161 (max 4096)...skip")
	// NoPasswordThere is said by a Redis without a password to one who gives it one.
	NoPasswordThere = fits("Redis 7, src/acl.c, authCommand", `(?i)\bAUTH\b.{0,20}\bcalled without any password configured\b|\bclient sent AUTH, but no password is set\b`,
		"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?", "ERR Client sent AUTH, but no password is set")
	// NoVirtualHost is said by RabbitMQ of a name under which it keeps no queues.
	NoVirtualHost = fits("RabbitMQ 3.10, rabbit_reader.erl, and rabbit_access_control.erl", `(?i)\bNOT_ALLOWED - (?:vhost|access to vhost) '?(\S+?)'? (?:not found|.{0,40}refused)`,
		"NOT_ALLOWED - vhost / not found", "NOT_ALLOWED - access to vhost 'orders' refused for user 'shop'")
	// BrokerRefuses is said by a client of RabbitMQ that has a connection, and was refused what it asked for by an error of AMQP.
	BrokerRefuses = fits("RabbitMQ 3.10, rabbit_reader.erl and rabbit_channel.erl", `\b(?:INTERNAL_ERROR|NOT_ALLOWED|ACCESS_REFUSED|RESOURCE_LOCKED|PRECONDITION_FAILED|NOT_FOUND|RESOURCE_ERROR) - `,
		"Connection.open: (541) INTERNAL_ERROR - access to vhost '/' refused for user 'sentry': vhost '/' is down", "(404) NOT_FOUND - no queue 'orders' in vhost '/'")
	// NotAmongPeers is said by a ZooKeeper whose number has no line among the servers of its configuration.
	NotAmongPeers = fits("ZooKeeper 3.9, QuorumPeer.java, startLeaderElection", `(?i)\bmy id (\d+) not in the peer list`, "java.lang.RuntimeException: My id 3 not in the peer list")
	// MemberRemoved is said by a member that the others have taken out of the cluster for good.
	MemberRemoved = fits("etcd 3.4 to 3.6, server.go, ErrMemberRemoved", `(?i)\bmember has been permanently removed from the cluster|\bthe data-dir used by this member must be removed`,
		"2026-11-26 21:06:51.773693 E | etcdserver: the member has been permanently removed from the cluster", "etcdserver: the data-dir used by this member must be removed.")
	// OwnMount is said of a file that is to be replaced by another, and is a mount point of its own.
	OwnMount = fits("strerror(3), EBUSY, of rename(2); musl and Node 24 word it shorter",
		`(?i)\b(?:renam\w*|mov(?:e|ing)|mv|sed|replac\w*|copyfile)\b.*\b(?:device or )?resource busy\b|\berrno 16\] device or resource busy: .* -> |\bEBUSY: resource busy or locked, (?:rename|copyfile)\b`,
		"sed: cannot rename /etc/app/sedX1: Device or resource busy", "mv: cannot move '/tmp/app.conf' to '/etc/app/app.conf': Device or resource busy", "sed: can't move '/etc/app/app.conf' to '/etc/app/app.confmBLgFG': Resource busy", "OSError: [Errno 16] Device or resource busy: '/tmp/app.conf' -> '/etc/app/app.conf'", "rename /tmp/app.conf /etc/app/app.conf: device or resource busy", "Error: EBUSY: resource busy or locked, rename '/tmp/a' -> '/etc/a'")
	// CacheUser is said by memcached, BrokerUser by a broker of MQTT and its clients, of one that does not
	// say who it is, or says it wrong.
	CacheUser  = fits("memcached 1.6, proto_text.c, authfile and -Y", `\bCLIENT_ERROR (?:unauthenticated|authentication failure)\b`, "CLIENT_ERROR unauthenticated", "CLIENT_ERROR authentication failure")
	BrokerUser = fits("Mosquitto 2, lib/strings_mosq.c; MQTT 3.1.1, 3.2.2.3, and MQTT 5, 3.2.2.2; paho-mqtt 2",
		`(?i)\bconnection refused\b.{0,80}\b(?:not authori[sz]ed|bad user ?name or password)\b|\b(?:disconnected|refused)[,:] (?:not authori[sz]ed|bad user ?name or password)\b|\bconnection refused, (?:identifier rejected|bad user)`,
		"Connection error: Connection Refused: not authorised.", "meters: connection refused by mqtt:1883: Not authorized", "Client probe disconnected, not authorised.", "Connection Refused: bad user name or password.")
	// NewNode is said by a Redis cluster's node that has no cluster, ClusterFails of one that takes no
	// requests, as it sees too little of its cluster.
	NewNode = fits("Redis 8 and Valkey 9, cluster_legacy.c, clusterLoadConfig and CLUSTER INFO", `(?i)\bno cluster configuration found, i'm \w+|\bcluster_known_nodes:1\b`,
		"1:M 26 Nov 2026 21:06:51.773 * No cluster configuration found, I'm 1dcb1f7f5a0f4a3d8f571f4f5e7f1a10", "cluster_known_nodes:1")
	ClusterFails = fits("Redis 8 and Valkey 9, cluster_legacy.c, CLUSTER INFO and clusterRedirectBlockedClientIfNeeded", `(?i)\bcluster_state:fail\b|\bCLUSTERDOWN\b`,
		"cluster_state:fail", "CLUSTERDOWN The cluster is down", "CLUSTERDOWN Hash slot not served")
	// EndsAtOnce is said by a supervisor of a program that ended well, and was to go on.
	EndsAtOnce = fits("supervisord 4, process.py, finish", `\bexited: (\S+) \(exit status 0; not expected\)`,
		"2026-11-26 21:06:51,973 WARN exited: redis (exit status 0; not expected)")
)
