package why

import (
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// ofStores are meanings of what databases and queues say, and their clients.
var ofStores = []meaning{
	{
		words.NotFromThere,
		"the database takes no connection from there: its rules say who may come from which address, and how (with or without TLS)",
		atDatabase("let this user in there from the pods' addresses (PostgreSQL: a line of pg_hba.conf, then select pg_reload_conf(); MySQL: a user name@'%'; Redis: a password, which ends its protected mode); where it says \"no encryption\", have the client use TLS (sslmode=require)"),
	},
	{
		words.NoGrant,
		"it is logged in there, and its user may not do that",
		atDatabase("grant that user what it needs, as the owner (PostgreSQL: GRANT … ON ALL TABLES IN SCHEMA public TO name, and since version 15 GRANT CREATE ON SCHEMA public TO name for who makes tables; RabbitMQ: rabbitmqctl set_permissions, whose three patterns are for configure, write and read)"),
	},
	{
		words.ClientsMax,
		"all connections that the database allows are taken, by all its clients together",
		atDatabase("see who holds them (PostgreSQL: select usename, state, count(*) from pg_stat_activity group by 1, 2; MySQL: show processlist; Redis: redis-cli client list), then make the clients' pools smaller or put a pooler before it; raise the limit there last (max_connections; Redis: config set maxclients)"),
	},
	{
		words.LoginKind,
		"the server wants a way of login that its client's library does not know: the library is older than the server",
		changing("use a newer client library (Node.js: mysql2 instead of mysql; PostgreSQL: libpq 10, pgjdbc 42.2 or newer), or have the server keep that user's password in the older way"),
	},
	{
		words.NoTLSThere,
		"it wants TLS, and the database has none",
		changing("switch TLS off in its settings for that database (PostgreSQL: sslmode=disable, or prefer), or give the database a certificate"),
	},
	{
		words.TLSWanted,
		"the database takes only connections with TLS",
		changing("switch TLS on in its settings for that database (PostgreSQL: sslmode=require; MySQL: ssl-mode=REQUIRED)"),
	},
	{
		words.MigrationFailed,
		"an earlier migration of the database failed halfway, and none runs before that is settled",
		atDatabase("look how much of that migration was done, finish or undo it by hand, then say so (Prisma: prisma migrate resolve; golang-migrate: migrate force VERSION; Flyway: flyway repair)"),
	},
	{
		words.MigrationChanged,
		"the migrations in this image are not those that were run in the database: one was changed afterwards, or is missing here",
		atDatabase("put that migration back as it was run, and make a new one for the change; where the database was migrated by a newer image, use that one again"),
	},
	{
		words.ChangeLogLock,
		"a start that was ended in its midst left Liquibase's lock in the database, or another one migrates right now",
		atDatabase("see that no other pod migrates, then in that database: UPDATE DATABASECHANGELOGLOCK SET LOCKED = FALSE, LOCKGRANTED = NULL, LOCKEDBY = NULL"),
	},
	{
		words.ThereAlready,
		"the database has already what a migration wants to make, and its list of migrations does not know of it",
		atDatabase("see whether it is the right database; if so, and what is there is as it should be, mark that migration as done (Django: migrate --fake, Prisma: migrate resolve --applied, Flyway: baseline), or drop what is left of a migration that failed"),
	},
	{
		words.StartsUp,
		"the database is there, and is still starting, or recovers from an end without a shutdown",
		atDatabase("wait; where it lasts, see in the log of the database itself what it does"),
	},
	{
		words.ShardLimit,
		"the search cluster has as many shards as it may, so that no index can be made",
		atDatabase("delete old indices there, or give the new ones fewer shards; raise cluster.max_shards_per_node only for the moment"),
	},
	{
		words.QueueAlarm,
		"RabbitMQ has less memory, or disk, left than it wants to keep, and takes no messages until it has more",
		atDatabase("see which queue is full and has no consumer (rabbitmqctl list_queues name messages consumers); or give RabbitMQ more: memory by the container's limit and what it may take of that (vm_memory_high_watermark and total_memory_available_override_value in rabbitmq.conf), room on the disk or less that it wants to keep there (disk_free_limit)"),
	},
	{
		words.ExtensionMissing,
		"the database lacks an extension that is used there",
		atDatabase("use an image of PostgreSQL that has it (such as pgvector/pgvector or postgis/postgis, of the same major version), then CREATE EXTENSION in that database"),
	},
	{
		words.NotPrepared,
		"between it and the database is a pooler that gives each transaction another connection, where its prepared statements are not known",
		changing("switch prepared statements off in the client (pgjdbc: prepareThreshold=0; asyncpg: statement_cache_size=0; Prisma: pgbouncer=true), or set max_prepared_statements in PgBouncer 1.21 or newer"),
	},
	{
		words.QueryTooLong,
		"a query took longer than it is allowed to",
		atDatabase("see which one that is, and why it is slow (EXPLAIN: a missing index; pg_stat_activity: a lock); raise the limit (statement_timeout) last"),
	},
	{
		words.TooBig,
		"it sends more at once than the other end takes",
		changing("send less at once, or raise the limit where it is (nginx: client_max_body_size; ingress-nginx: annotation nginx.ingress.kubernetes.io/proxy-body-size; MySQL: max_allowed_packet; Kafka: message.max.bytes; RabbitMQ: max_message_size; NATS: max_payload; beanstalkd: -z, 65535 bytes a job unless it is set; memcached: -I)"),
	},
	{
		words.CannotFork,
		"the node gives it no memory for the copy of itself that saves its data, and it takes no writes then",
		showing("see the node's vm.overcommit_memory, and set it to 1 there; or give the node more memory", "sysctl vm.overcommit_memory   # on the node"),
	},
	{
		words.CannotSave,
		"Redis could not save its data to disk the last time, and takes no writes until it can",
		atDatabase("see in Redis' own log why (a full volume, or a folder that its user may not write), and mend that; where the data need not be kept: config set stop-writes-on-bgsave-error no"),
	},
	{
		words.OfACluster,
		"Redis is a cluster there, and the client asks it as if it was one server",
		changing("use the client's mode for clusters (redis-py: RedisCluster; ioredis: Redis.Cluster; redis-cli: -c); keys that are used together need the same {tag}"),
	},
	{
		words.NoLeader,
		"too few members of its cluster are up and see each other, so that none leads them",
		func(h *inquiry, _, _ string) answer.Fix {
			return h.inspect("see which of the cluster's other pods are not ready, and why: more than half of them have to be up", h.kubectl("get pods -o wide"))
		},
	},
	{
		words.OtherCluster,
		"its data are of another cluster than the one that it is to join: its volume is of an earlier installation, mostly",
		func(*inquiry, string, string) answer.Fix {
			return answer.Fix{Text: "give it the volume that belongs to this cluster; or an empty one, once nothing of the old one is needed", Risk: answer.Destructive}
		},
	},
	{
		words.FewBrokers,
		"it wants more copies of its data than there are brokers",
		configuring("lower the replication factor (Kafka with one broker: offsets.topic.replication.factor=1, transaction.state.log.replication.factor=1, default.replication.factor=1), or have more brokers"),
	},
	{
		words.NotFormatted,
		"its volume was never formatted for Kafka",
		changing("format it once with the cluster's id before the start: kafka-storage.sh format -t CLUSTER_ID -c server.properties (in an init container, with --ignore-formatted)"),
	},
	{
		words.Sealed,
		"Vault gives nothing before it is unsealed, after each start",
		func(h *inquiry, container, _ string) answer.Fix {
			return answer.Fix{Text: "unseal it, with as many of the keys of its initialisation as it wants; auto-unseal does that at each start", Command: "vault operator unseal   # at that Vault", Risk: answer.Safe}
		},
	},
	{
		words.Watermark,
		"a disk of the search cluster is nearly full, and its indices take no writes for that",
		atDatabase("delete old indices there, or give it more room; then, where it does not do so by itself: PUT _all/_settings {\"index.blocks.read_only_allow_delete\": null}"),
	},
	{
		words.WrongOwner,
		"the folder of its data belongs to another user than the one that it runs as",
		changing("set runAsUser and fsGroup in the pod's securityContext to the user that the image has for it (postgres is 999 in Debian's image, 70 in Alpine's), or have an init container chown the folder"),
	},
	{
		words.NotAsRoot,
		"it does not run as root",
		changing("set runAsUser in the container's securityContext to the user that the image has for it, and fsGroup for its volumes"),
	},
	{
		words.TooOld,
		"it needs a newer version of what it names there",
		changing("upgrade what is named there, or use a version of the program that still goes with it"),
	},
}
