package why

import (
	"cmp"
	"slices"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// meanings are all of them. The first that fits counts.
var meanings = slices.Concat(ofKeys, ofMachines, ofServers, ofStores, ofBuilds, ofMany, ofLast)

// ofMany are in the words of OpenSSL, Go, Java, Node, Python, glibc, musl, and of
// databases and their clients.
var ofMany = []meaning{
	{
		words.CertificateExpired,
		"a TLS certificate has expired, or the clock is wrong",
		certificateDates,
	},
	{
		words.CertificateUnknown,
		"it does not trust whoever signed a TLS certificate",
		changing("give it the certificate authority that signed it (ca-certificates in the image, or a mounted bundle)"),
	},
	{
		words.StillMember,
		"the others of its cluster know it as a member, and it has no data of one: they are gone, or it was given another volume",
		memberAgain,
	},
	{
		words.WatchesFull,
		"the node lets its user watch no more files (fs.inotify.max_user_watches, counted over all containers of that user)",
		showing("see the node's limit, and raise it there", "sysctl fs.inotify.max_user_watches   # on the node"),
	},
	{
		words.NoPassword,
		"it sent no password: its password file was passed over (a line before that says why, such as its mode) or has no line for this server, and no variable has one",
		changing("give it the password where it looks for it: a variable (PGPASSWORD from a Secret), or a password file that nobody but its user may read (mode 0600, without fsGroup; copied by an init container)"),
	},
	{
		words.Credentials,
		"its credentials were refused; a database or broker keeps those that its data were made with, whatever a Secret says since",
		credentials,
	},
	{
		words.HeldBy,
		"another has the lock: it goes on when that one gives it back, or when it expires; one that ended in between gives nothing back",
		func(h *inquiry, _, _ string) answer.Fix {
			return h.inspect("see whether who has it still runs; if not, delete the lock where it is kept, and give it an expiry from now on", h.kubectl("get pods"))
		},
	},
	{
		words.Locked,
		"another process holds the lock on its data, of this pod, of another with the same volume, or of the run before that has not ended yet",
		changing("let one pod at a time use that volume (strategy Recreate, or a StatefulSet with a volume for each), and see that the one before has ended"),
	},
	{
		words.LeftBehind,
		"it takes a file that an earlier run left for the sign of another that runs, and does not start beside it",
		leftBehind,
	},
	{
		words.TakesNoWrites,
		"the database is there and takes no writes: it is a replica, or was set read-only, as after a failover",
		atDatabase("have who writes ask the primary, or let the database that it asks take writes again"),
	},
	{
		words.QuotaReached,
		"the database takes no more because a limit of its own is reached, whatever room the disk and the node have",
		atDatabase("in that database, delete what is not needed, or raise its limit (Redis: maxmemory or its policy; etcd: compact and defragment it, then etcdctl alarm disarm, or --quota-backend-bytes; OpenLDAP: olcDbMaxSize)"),
	},
	{
		words.PoolTaken,
		"all connections of its own pool are taken, and none is given back in time",
		changing("have every request give its connection back, also after an error; make the pool larger only if the database allows it"),
	},
	{
		words.OthersMay,
		"others than its owner may read or write a file, and the program does not take it then",
		changing("give the file the mode that it wants (0600 mostly): defaultMode of a Secret's or ConfigMap's volume, chmod on another; a pod's fsGroup gives the group rights to all files of its volumes"),
	},
	{
		words.Libraries,
		"the image lacks a library that the program loads, or has an older one",
		changing("add the library's package to the image, or build it on the same distribution as the program; an extension that is not needed can leave the configuration"),
	},
	{
		words.BadCookie,
		"Erlang's cookie, the secret by which its nodes know each other, is empty or too short, so its runtime does not start",
		changing("give it a cookie of 20 letters or more: RABBITMQ_ERLANG_COOKIE, or the Secret or file that .erlang.cookie is made of, and start with an empty volume where the bad one was written to it"),
	},
	{
		words.RelayDenied,
		"the mail server takes mail for others only from those whom it knows, and who asks is none of them",
		configuring("let the pods' addresses send (Postfix: mynetworks in main.cf, or postconf -e, and see smtpd_relay_restrictions; Exim: relay_from_hosts), or have who sends log in"),
	},
	{
		words.Shadowed,
		"a file or folder of the program's own has the name of the package, and Python takes it in place of that",
		shadowed,
	},
	{
		words.ModuleMissing,
		"a part of the program is missing in the image, or is made for another version of its runtime",
		missingModule,
	},
	{
		words.NewerData,
		"its data were written by another version of it than the one that the image has",
		changing("use the version that wrote them, or follow its way of upgrading or downgrading; do not delete them before there is a copy"),
	},
	{
		words.SettingMissing,
		"it is not given a setting that it needs",
		giveSetting,
	},
	{
		words.ServiceLink,
		"it takes a variable for a setting of its own that Kubernetes sets for a Service of the namespace (NAME_PORT=tcp://…)",
		changing("set enableServiceLinks: false in the pod's spec, or give that variable a value in the container's env: that one counts then"),
	},
	{
		words.BadPort,
		"what it is given for a port is no number that a port can have",
		changing("correct what gives it that port (its arguments, its configuration or a variable). For each Service of the namespace Kubernetes sets a variable NAME_PORT=tcp://…: if that is what it reads, set enableServiceLinks: false in the pod's spec, or give that variable a value in the container's env"),
	},
	{
		words.NotAllowed,
		"its service account may not do that in the cluster",
		mayDo,
	},
	{
		words.NoKind,
		"the cluster has no such kind: its CustomResourceDefinition is not installed, or has another version",
		func(h *inquiry, _, said string) answer.Fix {
			kind := cmp.Or(firstOf(words.NoKind.Find(said)...), "KIND")
			return h.inspect("see in which versions the cluster has it, and install its definition before this starts", "kubectl api-resources | grep -i "+kind)
		},
	},
	{
		words.LeaseLost,
		"it could not renew its lease in time, and ends so that another one leads: the API server was slow to answer, or it had no CPU meanwhile",
		func(h *inquiry, _, _ string) answer.Fix {
			return h.inspect("see whether it had its share of CPU and the API server answered, at the time of that", h.why("--full"))
		},
	},
	{
		words.NoTable,
		"the database does not have what this version of the program expects: its migrations have not run there, or it is another database",
		atDatabase("run the program's migrations against that database before its pods start (a Job, or an init container), and see that it is the right one"),
	},
	{
		words.NoDatabase,
		"the server is there, and has no such database or user",
		noDatabase,
	},
	{
		words.LockWait,
		"another transaction holds a lock that it needs, and did not give it back in time",
		atDatabase("see in that database who holds it (PostgreSQL: pg_stat_activity and pg_locks; MySQL: show engine innodb status; Liquibase: its DATABASECHANGELOGLOCK), and end that one"),
	},
	{
		words.NotEmpty,
		"the folder that it is to make its data in has something already: a new volume mostly has lost+found in its root",
		changing("have its data in a subfolder of the volume (subPath of the mount, or a setting such as PGDATA); if there is data of its own, find out first why it does not take it"),
	},
	{
		words.Damaged,
		"a file of its data is missing, damaged or was cut off, as where a volume is not the one that it was, or by a kill in the midst of a write or a full disk",
		repair,
	},
	{
		words.KeyOfAnother,
		"the private key is not the one that the certificate was made with",
		changing("give it both of one pair, as of one Secret (tls.crt and tls.key)"),
	},
	{
		words.OnlyOneTLS,
		"one end speaks TLS there, and the other does not",
		changing("have it ask with http:// or without TLS where none is served, and with https:// where it is; or at the port where it is"),
	},
	{
		words.TooOldCrypto,
		"a key, an algorithm or a version of TLS is too old or too weak for the TLS library that it has now",
		changing("replace it by a stronger one (RSA of 2048 bits, SHA-256, TLS 1.2), here or at the other end; until then the program can be told to take it (OpenSSL: SECLEVEL=1 or its legacy provider; Node.js: NODE_OPTIONS=--openssl-legacy-provider)"),
	},
	{
		words.NoTimeZone,
		"the image has no database of time zones, or no zone of that name",
		changing("add tzdata to the image, or correct the name of the zone (TZ, mostly)"),
	},
	{
		words.OnlyASCII,
		"it takes text for ASCII, as the container has no locale",
		changing("set LANG=C.UTF-8 in the container's env (Java also: -Dfile.encoding=UTF-8)"),
	},
	{
		words.NoUser,
		"the user that it runs as, or is to become, is not in the image's /etc/passwd",
		changing("have runAsUser be one that the image has, or add it there; for many programs HOME and USER in the container's env are enough"),
	},
	{
		words.OldProcessor,
		"the program is built for newer processors than the node has",
		changing("use an image for older processors, or have the pod go to a node with a newer one (nodeSelector)"),
	},
	{
		words.MapsFull,
		"the node lets a process have fewer mappings of memory than it wants (vm.max_map_count)",
		showing("see the node's limit, and raise it there", "sysctl vm.max_map_count   # on the node"),
	},
	{
		words.NoSuchFlag,
		"this version of the program does not know an argument that it is given",
		changing("correct the container's command or args: see which ones the image's version has with --help"),
	},
	{
		words.BadConfig,
		"it does not take its configuration, at the line that it names",
		nil,
	},
}
