package why

import (
	"cmp"
	"fmt"
	"strings"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// ofServers are meanings of what servers say of a set-up that does not fit what they find. They are before
// those of stores and of many programs, whose words theirs have in them.
var ofServers = []meaning{
	{
		words.PlaceOfUser,
		"the database takes no connection from there: its rules say who may come from which address, and how (with or without TLS)",
		ruleOfUser,
	},
	{
		words.ChangesGone,
		"the primary no longer has the changes that this replica asks for: it was made anew, or has thrown them away meanwhile",
		func(*inquiry, string, string) answer.Fix {
			return answer.Fix{Text: "make the replica anew from a copy of the primary (MariaDB: mariadb-backup, or mariadb-dump --master-data --gtid, then SET GLOBAL gtid_slave_pos = '…' and CHANGE MASTER TO … MASTER_USE_GTID = slave_pos; MySQL: its clone plugin, or mysqldump --source-data; PostgreSQL: pg_basebackup); and have the primary keep its changes longer (binlog_expire_logs_seconds, wal_keep_size or a replication slot)", Risk: answer.Destructive}
		},
	},
	{
		words.FolderGone,
		"its data lack a folder that has nothing in it mostly: copies to an object store, archives and git leave such ones out",
		func(h *inquiry, _, said string) answer.Fix {
			folder := cmp.Or(firstOf(words.FolderGone.Find(said)...), "pg_notify")
			return h.specFix(fmt.Sprintf("restore its data whole, by a tool that keeps empty folders; or make the missing ones in them, one after the other as it names them (an init container: mkdir -m 0700 -p $PGDATA/%s), as the user whom the rest belongs to", strings.TrimPrefix(folder, "/")))
		},
	},
	{
		words.NoApacheVariable,
		"Apache is started without the variables of /etc/apache2/envvars, which its configuration takes for granted",
		changing("start it with apache2ctl -D FOREGROUND, which reads them, or by a shell that does so first: . /etc/apache2/envvars && exec apache2 -D FOREGROUND"),
	},
	{
		words.NotAmongPeers,
		"its own number (myid) has no line server.N in its configuration",
		func(h *inquiry, container, said string) answer.Fix {
			n := cmp.Or(firstOf(words.NotAmongPeers.Find(said)...), "N")
			return configuring(fmt.Sprintf("add the line server.%s=HOST:2888:3888 to the configuration of each member (zoo.cfg, or zoo.cfg.dynamic), or correct the number (file myid in its dataDir, ZOO_MY_ID), which counts from 1 mostly where a pod's ordinal counts from 0", n))(h, container, said)
		},
	},
	{
		words.MemberRemoved,
		"the others have taken it out of the cluster for good, and its data are those of the member that it was",
		memberAnew,
	},
	{
		words.NoSlot,
		"the standby asks its primary for a replication slot by name that the primary does not have",
		func(_ *inquiry, _, said string) answer.Fix {
			name := cmp.Or(firstOf(words.NoSlot.Find(said)...), "NAME")
			return answer.Fix{Text: fmt.Sprintf("make it at the primary (SELECT pg_create_physical_replication_slot('%s'); pg_replication_slots shows those that are there), or take primary_slot_name out of the standby's configuration", name), Risk: answer.Restarts}
		},
	},
	{
		words.AsksOthers,
		"it is to join a cluster that runs already (--initial-cluster-state=existing), or has lost its data, and reaches no member of it",
		changing("where the cluster is made for the first time, or all its members have lost their data, start them with --initial-cluster-state=new (ETCD_INITIAL_CLUSTER_STATE); else start the members that have their data first"),
	},
	{
		words.SmallBuffer,
		"the head of the request, its path and headers with cookies, is larger than the server takes, and it drops the connection",
		configuring("raise buffer-size of uWSGI (uwsgi.ini, or --buffer-size; 4096 bytes unless it is set, 65535 at most), or have whoever asks send smaller cookies and tokens"),
	},
	{
		words.NoPasswordThere,
		"the client gives a password to a Redis that has none",
		func(*inquiry, string, string) answer.Fix {
			return answer.Fix{Text: "give Redis that password (requirepass in its redis.conf or arguments), or take it out of what the client is given (redis://:PASSWORD@HOST, REDIS_URL, REDIS_PASSWORD)", Risk: answer.Restarts}
		},
	},
	{
		words.NoVirtualHost,
		"the broker has no such virtual host",
		func(_ *inquiry, _, said string) answer.Fix {
			name := cmp.Or(firstOf(words.NoVirtualHost.Find(said)...), "NAME")
			return answer.Fix{Text: fmt.Sprintf("make it in the broker (rabbitmqctl add_vhost %s and set_permissions, or its definitions), or correct the one that the client is given (the path of amqp://USER:PASSWORD@HOST/VHOST, with %%2F for /; RabbitMQ begins with default_vhost alone)", name), Risk: answer.Restarts}
		},
	},
	{
		words.OwnMount,
		"the file that it wants to replace is a mount point of its own (a volume's file by subPath), and nobody can put another file in the place of that",
		ownMount,
	},
	{
		words.CacheUser,
		"memcached wants to know who asks (-Y or SASL), and was not told, or told wrong",
		credentials,
	},
	{
		words.BrokerUser,
		"the MQTT broker was reached, and does not let that user in: it does not know the user or the password, or takes nobody without them",
		credentials,
	},
	{
		words.NewNode,
		"the node of Redis' cluster began anew, without the nodes.conf that it had, so that the others do not know it",
		nodeAgain,
	},
	{
		words.ClusterFails,
		"the node of Redis' cluster sees no whole cluster: it began anew without its nodes.conf, so that the others do not know it; or too many of the others are down, or nobody has some of the slots",
		nodeAgain,
	},
	{
		words.EndsAtOnce,
		"the program ends well right after its start, as one does that puts itself into the background, while its supervisor waits for it to go on",
		configuring("have it stay in the foreground: without --daemon, or with what its kind has for that (Redis: daemonize no; nginx: daemon off;; Apache: -D FOREGROUND; php-fpm and cron: -F or -f; others: --nodaemon, --foreground)"),
	},
}

// nodeAgain has a node of Redis' cluster join again, and keep from then on who it is.
func nodeAgain(h *inquiry, container, said string) answer.Fix {
	const text = "keep the node's /data (nodes.conf) on a volume that outlives the pod (volumeClaimTemplates); then have it join again, from one of the others: redis-cli --cluster add-node NEW:6379 OLD:6379, or CLUSTER MEET (redis-cli cluster nodes shows whom each knows, redis-cli --cluster fix gives slots to somebody that nobody has)"
	if words.Has(said, "CLUSTERDOWN") {
		return atDatabase(text)(h, container, said) // a client says that
	}
	return h.specFix(text)
}

// ruleOfUser is the line of pg_hba.conf that lets in whom PostgreSQL turned away: from all of the pods'
// addresses, since a pod has another one each time.
func ruleOfUser(_ *inquiry, _, said string) answer.Fix {
	m := words.PlaceOfUser.Find(said)
	copies, host, user, database := m[0] != "", m[1], m[2], m[3]
	if copies || database == "" {
		database = "replication"
	}
	line := fmt.Sprintf("host %s %s %s scram-sha-256", database, user, around(host))
	if host == "[local]" {
		line = fmt.Sprintf("local %s %s scram-sha-256", database, user)
	}
	text := fmt.Sprintf("add this line to the database's pg_hba.conf, before any that rejects: %s", line)
	if host == "[local]" {
		text += " (or trust, while it is set up)"
	}
	text += "; then select pg_reload_conf()"
	if copies {
		text += "; a line for database \"all\" does not match replication"
	}
	if strings.Contains(said, "no encryption") {
		text += "; or, where a line hostssl is there for it, have the client use TLS (sslmode=require)"
	}
	return answer.Fix{Text: text, Risk: answer.Restarts}
}

// around are the addresses among which the one of a pod is; of IPv6 that one, as nobody knows how many
// bits the network has.
func around(host string) string {
	switch parts := strings.Split(strings.TrimPrefix(host, "::ffff:"), "."); {
	case len(parts) == 4 && numeric(host):
		return fmt.Sprintf("%s.%s.0.0/16", parts[0], parts[1])
	case !numeric(host):
		return host
	}
	return host + "/128"
}

// memberAnew has a member begin anew that the others have taken out: its data go with that.
func memberAnew(h *inquiry, container, said string) answer.Fix {
	f := memberAgain(h, container, said)
	f.Text = "remove its data (the data-dir; of a claim, what is in it) and add it as a new member: etcdctl member add NAME --peer-urls=http://HOST:2380 at one of the others, then start it with --initial-cluster-state=existing"
	f.Risk = answer.Destructive
	return f
}

// ownMount names the file that is mounted by itself, where the words do.
func ownMount(h *inquiry, container, said string) answer.Fix {
	file := "that file"
	if c := h.Spec(container); c != nil {
		for _, m := range c.VolumeMounts {
			if m.SubPath != "" && strings.Contains(said, m.MountPath) {
				file = fmt.Sprintf("%s (volume %s, subPath %s)", m.MountPath, m.Name, m.SubPath)
			}
		}
	}
	return h.specFix(fmt.Sprintf("copy %s into an emptyDir (in an init container), mount that instead and change it there; or have the ConfigMap or Secret hold what it is to be in the end", file))
}
