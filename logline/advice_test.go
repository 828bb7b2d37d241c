package logline_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/words"
)

// Advice is found in what programs say of their end, with what it comes to, where it is of use.
func TestAdvice(t *testing.T) {
	for _, c := range []struct{ log, text, brief string }{
		// PostgreSQL
		{"2026-11-24 02:34:14.899 UTC [13] FATAL:  lock file \"postmaster.pid\" is empty\n2026-11-24 02:34:14.899 UTC [13] HINT:  Either another server is starting, or the lock file is the remnant of a previous server startup crash.", "", ""},
		{"pg_dump: error: query failed: ERROR:  out of shared memory\nHINT:  You might need to increase max_locks_per_transaction.\npg_dump: detail: Query was: LOCK TABLE public.orders", "You might need to increase max_locks_per_transaction.", "increase max_locks_per_transaction"},
		{
			"2026-11-24 02:35:11 UTC [40] FATAL:  database locale is incompatible with operating system\n2026-11-24 02:35:11 UTC [40] DETAIL:  The database was initialized with LC_COLLATE \"utf-8\",  which is not recognized by setlocale().\n2026-11-24 02:35:11 UTC [40] HINT:  Recreate the database with another locale or install the missing locale.",
			"Recreate the database with another locale or install the missing locale.", "recreate the database with another locale or install the missing locale",
		},
		{
			"FATAL:  could not locate required checkpoint record\nHINT:  If you are restoring from a backup, touch \"/data/recovery.signal\" and add required recovery options.\n",
			"If you are restoring from a backup, touch \"/data/recovery.signal\" and add required recovery options.", "if you are restoring from a backup, touch \"/data/recovery.signal\" and add required recovery options",
		},
		{"LOG:  could not bind IPv4 address \"0.0.0.0\": Address already in use\nHINT:  Is another postmaster already running on port 5432? If not, wait a few seconds and retry.\nFATAL:  could not create any TCP/IP sockets", "", ""},
		{"2026-11-24 02:35:11 UTC [40] FATAL:  data directory \"/data\" has wrong ownership\n2026-11-24 02:35:11 UTC [40] HINT:  The server must be started by the user that owns the data directory.", "The server must be started by the user that owns the data directory.", ""},
		{"ERROR:  connection closed\nHINT:  In a moment you should be able to reconnect to the database and repeat your command.", "", ""},
		// MariaDB, Redis
		{"2026-11-24 2:34:14 0 [ERROR] Could not open mysql.plugin table: Table 'mysql.plugin' doesn't exist. Please run mariadb-upgrade to create it.\n2026-11-24 2:34:14 0 [ERROR] Aborting", "Please run mariadb-upgrade to create it.", "run mariadb-upgrade to create it"},
		{"[ERROR] Fatal error: Please read \"Security\" section of the manual to find out how to run mariadbd as root!", "", ""},
		{"2026-11-24 2:34:04 0 [ERROR] Could not open mysql.plugin table\n2026-11-24 2:34:04 0 [Note] InnoDB: Physically writing the file full; Please wait ...", "", ""},
		{
			"1:M 24 Nov 2026 02:35:33.255 # Bad file format reading the append only file appendonly.aof.1.incr.aof: make a backup of your AOF file, then use ./redis-check-aof --fix <filename.manifest>",
			"Bad file format reading the append only file appendonly.aof.1.incr.aof: make a backup of your AOF file, then use ./redis-check-aof --fix <filename.manifest>", "make a backup of your AOF file, then use ./redis-check-aof --fix <filename.manifest>",
		},
		// Python
		{"ERROR: You need to initialize the database. Please run `airflow db init`. Make sure the command is run using Airflow version 2.5.0.", "You need to initialize the database. Please run `airflow db init`. Make sure the command is run using Airflow version 2.5.0.", "initialize the database"},
		{"Traceback (most recent call last):\n  File \"/app/manage.py\", line 22, in <module>\n    main()\ndjango.db.utils.OperationalError: no such table: shop_order", "", ""},
		{"CommandError: You must set settings.ALLOWED_HOSTS if DEBUG is False.", "You must set settings.ALLOWED_HOSTS if DEBUG is False.", "set settings.ALLOWED_HOSTS if DEBUG is False"},
		{"Error: No such option: --prot Did you mean --port?", "Error: No such option: --prot Did you mean --port?", "did you mean --port?"},
		{"Usage: flask run [OPTIONS]\nTry 'flask run --help' for help.\n\nError: No such option: --prot", "", ""},
		{"'admin@local' does not appear to be a valid email address. Please reset the PGADMIN_DEFAULT_EMAIL environment variable and try again.", "Please reset the PGADMIN_DEFAULT_EMAIL environment variable and try again.", "reset the PGADMIN_DEFAULT_EMAIL environment variable and try again"},
		// Node
		{"Error: Mismatching encryption keys. The encryption key in the settings file /home/node/.n8n/config does not match the N8N_ENCRYPTION_KEY env var. Please make sure both keys match. More information: https://docs.n8n.io/hosting/", "Please make sure both keys match.", "make sure both keys match"},
		{"Error [ERR_REQUIRE_ESM]: require() of ES Module /srv/x.js from /srv/y.js not supported.\nInstead change the require of x.js in /srv/y.js to a dynamic import() which is available in all CommonJS modules.\n    at Object.<anonymous> (/srv/y.js:1:9)", "Instead change the require of x.js in /srv/y.js to a dynamic import() which is available in all CommonJS modules.", "change the require of x.js in /srv/y.js to a dynamic import() which is available in all CommonJS modules"},
		{"Error: Could not find a production build in the '.next' directory. Try building your app with 'next build' before starting the production server. https://nextjs.org/docs/messages/production-start-no-build-id", "Try building your app with 'next build' before starting the production server. https://nextjs.org/docs/messages/production-start-no-build-id", "try building your app with 'next build' before starting the production server. https://nextjs.org/docs/messages/production-start-no-build-id"},
		{"Error: connect ECONNREFUSED 10.0.0.7:5432\n(Use `node --trace-uncaught ...` to show where the exception was thrown)\n\nNode.js v22.1.0", "", ""},
		{"npm ERR! Unknown command: \"strat\"\nDid you mean this?\n    npm start # run it", "Did you mean this? npm start # run it", "did you mean this? npm start # run it"},
		// Java
		{"***************************\nAPPLICATION FAILED TO START\n***************************\n\nDescription:\n\nWeb server failed to start. Port 8080 was already in use.\n\nAction:\n\nIdentify and stop the process that's listening on port 8080 or configure this application to listen on another port.", "Identify and stop the process that's listening on port 8080 or configure this application to listen on another port.", "identify and stop the process that's listening on port 8080 or configure this application to listen on another port"},
		{"ERROR: [1] bootstrap checks failed\nbootstrap check failure [1] of [1]: max virtual memory areas vm.max_map_count [65530] is too low, increase to at least [262144]", "bootstrap check failure [1] of [1]: max virtual memory areas vm.max_map_count [65530] is too low, increase to at least [262144]", "increase to at least [262144]"},
		{"Exception in thread \"main\" java.lang.IllegalStateException: Failed to load class file\n\tat com.shop.Main.main(Main.java:8)", "", ""},
		// Ruby, PHP
		{"Could not find rack-3.0.8 in locally installed gems\nRun `bundle install` to install missing gems.", "Run `bundle install` to install missing gems.", "run `bundle install` to install missing gems"},
		{"ActiveRecord::PendingMigrationError: Migrations are pending. To resolve this issue, run:\n\n        bin/rails db:migrate RAILS_ENV=production", "To resolve this issue, run: bin/rails db:migrate RAILS_ENV=production", "to resolve this issue, run: bin/rails db:migrate RAILS_ENV=production"},
		{"PHP Fatal error:  Uncaught RuntimeException: No application encryption key has been specified. in /app/vendor/laravel/Encryption.php:79", "", ""},
		{"PHP Fatal error:  Allowed memory size of 134217728 bytes exhausted. You can increase memory_limit in php.ini in /app/index.php on line 3", "You can increase memory_limit in php.ini in /app/index.php on line 3", "increase memory_limit in php.ini in /app/index.php on line 3"},
		// nginx, HAProxy, RabbitMQ, etcd
		{"2026/11/24 02:35:11 [emerg] 1#1: could not build server_names_hash, you should increase server_names_hash_bucket_size: 32", "[emerg] could not build server_names_hash, you should increase server_names_hash_bucket_size: 32", "increase server_names_hash_bucket_size: 32"},
		{"2026/11/24 02:35:11 [emerg] 1#1: bind() to 0.0.0.0:80 failed (13: Permission denied)", "", ""},
		{"[ALERT]    (1) : config : parsing [/srv/haproxy.cfg:3] : unknown keyword 'maxcon' in 'global' section; did you mean 'maxconn' maybe ?", "[ALERT]    (1) : config : parsing [/srv/haproxy.cfg:3] : unknown keyword 'maxcon' in 'global' section; did you mean 'maxconn' maybe ?", "did you mean 'maxconn' maybe ?"},
		{"Cookie file /var/lib/rabbitmq/.erlang.cookie must be accessible by owner only", "", ""},
		{"2026-11-24 02:35:32.813296 E | etcdmain: error verifying flags, expected IP in URL for binding (http://etcd-0.etcd:2379). See 'etcd --help'.", "", ""},
		{"Error: Database is uninitialized and superuser password is not specified.\n       You must specify POSTGRES_PASSWORD to a non-empty value for the\n       superuser. For example, \"-e POSTGRES_PASSWORD=password\" on \"docker run\".", "You must specify POSTGRES_PASSWORD to a non-empty value for the superuser. For example, \"-e POSTGRES_PASSWORD=password\" on \"docker run\".", "specify POSTGRES_PASSWORD to a non-empty value for the superuser"},
		{"ERROR:  column orders.paid_at does not exist\nLINE 1: SELECT orders.paid_at FROM orders", "", ""},
		// What is no advice, or none about the end.
		{"[WARNING] Deprecated '--logger=capnslog' flag is set; use '--logger=zap' flag instead\nERROR: cannot open /data", "", ""},
		{"ERROR: cannot open /data\nINFO: You can now connect at http://localhost\nINFO: Please star us", "", ""},
		{"ERROR: the service is busy. Please try again later", "", ""},
		{"Error: remove /data/x: no such file or directory", "", ""},
		{"Error: cannot clean up: remove /data/x: read-only file system", "", ""},
		{"Error: Create the table failed: disk", "", ""},
		{"fatal: it is broken. If this is a bug, please report it at https://example.com/issues", "", ""},
		{"error: unknown flag\nUsage:\n  --file  Set the file to read\n  --name  You can set the name", "", ""},
		{"ready", "", ""},
		{"", "", ""},
	} {
		got := words.Read(strings.Split(c.log, "\n")).Advice()
		if got.Text != c.text || got.Brief != c.brief {
			t.Errorf("%s:\n\t%q, %q", c.log, got.Text, got.Brief)
		}
	}
}

// What is only to be looked at, what takes something away and what asks are told apart.
func TestAdviceKinds(t *testing.T) {
	for message, want := range map[string]string{
		"HINT: Remove the file \"/data/postmaster.pid\" or start the other server.": "removes",
		"HINT: Recreate the database with another locale.":                          "removes",
		"it failed. Please check that both keys match":                              "looks",
		"it failed. Make sure the server runs":                                      "looks",
		"it failed. Please set DATABASE_URL":                                        "",
		"unknown keyword; did you mean 'maxconn' maybe ?":                           "asks",
	} {
		a, got := logline.AdviceIn(message), ""
		switch {
		case a.Removes:
			got = "removes"
		case a.Asks:
			got = "asks"
		case a.Looks:
			got = "looks"
		}
		if a.Text == "" || got != want {
			t.Errorf("%s: %+v", message, a)
		}
	}
}

// Advice is a part of what is said, and short.
func FuzzAdvice(f *testing.F) {
	for _, seed := range []string{"FATAL: x\nHINT:  Remove the file \"/a\".", "Error: a. Please set X.\nAction:\n\nrun: \nx", "! . Please é?\x00", "Error: run:\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, log string) {
		a := words.Read(strings.Split(log, "\n")).Advice()
		if len(a.Text) > logline.MostAdvice || a.Text == "" && a != (logline.Advice{}) || utf8.ValidString(log) && !utf8.ValidString(a.Text+a.Brief) {
			t.Errorf("%q: %+v", log, a)
		}
	})
}

// Spring's analysis of a failure has what to do in a paragraph of its own, under a line for that.
func TestAdviceUnderHeadline(t *testing.T) {
	said := "2026-11-27T05:07:16 ERROR 1 --- [main] o.s.b.d.LoggingFailureAnalysisReporter :\n\n***************************\nAPPLICATION FAILED TO START\n***************************\n\nDescription:\n\nInvalid config server configuration.\n\nAction:\n\nIf you are using the git profile, you need to set a Git URI in your configuration.\n"
	if a := words.Read(strings.Split(said, "\n")).Advice(); a.Brief != "if you are using the git profile, you need to set a Git URI in your configuration" {
		t.Errorf("%+v", a)
	}
}
