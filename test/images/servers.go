package main

import v1 "github.com/google/go-containerregistry/pkg/v1"

// users are the accounts of the servers' packages, which their installation scripts
// would make.
const users = "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33:www-data:/var/www:/bin/false\n" +
	"postgres:x:101:101:postgres:/tmp:/bin/sh\nmysql:x:102:102:mysql:/tmp:/bin/sh\nrabbitmq:x:103:103:rabbitmq:/data:/bin/sh\n" +
	"tomcat:x:104:104:tomcat:/tmp:/bin/sh\nhaproxy:x:105:105:haproxy:/run:/bin/false\nmemcache:x:106:106:memcache:/run:/bin/false\n" +
	"mosquitto:x:107:107:mosquitto:/tmp:/bin/false\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"

const groups = "root:x:0:\nwww-data:x:33:\npostgres:x:101:\nmysql:x:102:\nrabbitmq:x:103:\ntomcat:x:104:\nhaproxy:x:105:\n" +
	"memcache:x:106:\nmosquitto:x:107:\nnogroup:x:65534:\n"

// servers are images of servers as people deploy them, for the scenarios in
// test/e2e/scenarios/servers. They are large, so nothing else loads them.
var servers = []recipe{
	{
		// What serves Python: gunicorn, uWSGI and supervisord, Flask, and clients of the
		// usual databases and queues.
		name: "python", tag: "python:1",
		packages: []string{
			"busybox-static", "bash", "python3-minimal", "python3.11-minimal", "gunicorn", "python3-gunicorn", "uwsgi-core", "uwsgi-plugin-python3", "supervisor", "python3-flask",
			"python3-redis", "python3-psycopg2", "python3-pymysql", "python3-pika", "libpam0g", "libsystemd0", "openssl",
		},
		files:  map[string]string{"etc/passwd": users, "etc/group": groups, "run/": "", "var/log/supervisor/": ""},
		config: v1.Config{Env: []string{path, "PYTHONUNBUFFERED=1"}, Cmd: []string{"sh"}},
	},
	{
		name: "redis", tag: "redis:1",
		packages: []string{"busybox-static", "redis-server", "redis-tools", "libsystemd0"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups, "data/": ""},
		config:   v1.Config{Env: []string{path}, WorkingDir: "/data", Cmd: []string{"redis-server", "--protected-mode", "no", "--save", ""}},
	},
	{
		// PostgreSQL and PgBouncer. run-postgres makes the database where there is none. What Debian has in
		// /usr/bin are scripts that need Perl, so the programs themselves come first in PATH.
		name: "postgres", tag: "postgres:1",
		packages: []string{"busybox-static", "bash", "postgresql-15", "postgresql-client-15", "pgbouncer", "libpam0g", "libsystemd0", "openssl", "tzdata"},
		files: map[string]string{
			"etc/passwd": users, "etc/group": groups, "run/postgresql/": "", "data/": "",
			"usr/lib/run-postgres": "[ -s /data/pg/PG_VERSION ] || initdb -D /data/pg -U postgres --auth=trust --no-locale -E UTF8 --no-sync\n" +
				"[ -e /data/pg/hba ] || { echo 'host all all all trust' >>/data/pg/pg_hba.conf; touch /data/pg/hba; }\n" +
				"exec postgres -D /data/pg -c unix_socket_directories=/tmp -c listen_addresses='*' -c fsync=off \"$@\"\n",
		},
		config: v1.Config{Env: []string{"PATH=/usr/lib/postgresql/15/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PGHOST=/tmp", "PGUSER=postgres"}, User: "101:101", Cmd: []string{"sh", "/usr/lib/run-postgres"}},
	},
	{
		name: "mariadb", tag: "mariadb:1",
		packages: []string{"busybox-static", "bash", "mariadb-server", "mariadb-server-core", "mariadb-client-core", "libpam0g", "libsystemd0", "openssl"},
		files: map[string]string{
			"etc/passwd": users, "etc/group": groups, "run/mysqld/": "", "data/": "",
			"usr/lib/run-mariadb": "[ -d /data/db/mysql ] || mariadb-install-db --force --datadir=/data/db --auth-root-authentication-method=normal --skip-test-db >/dev/null\n" +
				"exec mariadbd --datadir=/data/db --socket=/tmp/mysqld.sock --pid-file=/tmp/mysqld.pid --bind-address=0.0.0.0 \"$@\"\n",
		},
		config: v1.Config{Env: []string{path}, User: "102:102", Cmd: []string{"sh", "/usr/lib/run-mariadb"}},
	},
	{
		name: "php", tag: "php:1",
		packages: []string{"busybox-static", "php8.2-fpm", "php8.2-mysql", "libsystemd0", "libpam0g", "openssl", "tzdata"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups, "run/php/": "", "var/log/": "", "srv/": ""},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"php-fpm8.2", "-F", "-O"}},
	},
	{
		name: "haproxy", tag: "haproxy:1",
		packages: []string{"busybox-static", "haproxy", "libsystemd0", "openssl"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups, "run/haproxy/": "", "var/lib/haproxy/": ""},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"haproxy", "-W", "-db", "-f", "/etc/haproxy/haproxy.cfg"}, StopSignal: "SIGUSR1"},
	},
	{
		name: "rabbitmq", tag: "rabbitmq:1",
		packages: []string{"busybox-static", "bash", "rabbitmq-server", "libsystemd0", "openssl"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups, "data/": "", "etc/rabbitmq/": "", "var/log/rabbitmq/": ""},
		config: v1.Config{
			Env: []string{
				"PATH=/usr/lib/rabbitmq/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/data", "RABBITMQ_MNESIA_BASE=/data/mnesia", "RABBITMQ_LOGS=-",
				"RABBITMQ_LOG_BASE=/data/log", "RABBITMQ_PID_FILE=/data/pid", "RABBITMQ_ENABLED_PLUGINS_FILE=/data/plugins", "LANG=C.UTF-8",
			},
			User: "103:103", Cmd: []string{"rabbitmq-server"},
		},
	},
	{
		// A JDK that runs sources, Tomcat and ZooKeeper.
		name: "java", tag: "java:1",
		packages: []string{"busybox-static", "bash", "libtinfo6", "openjdk-17-jdk-headless", "tomcat10", "tomcat10-common", "zookeeper"},
		files: map[string]string{
			"etc/passwd": users, "etc/group": groups, "data/": "",
			"usr/lib/run-tomcat": "mkdir -p /data/tomcat/webapps /data/tomcat/logs /data/tomcat/temp /data/tomcat/work\n" +
				"cp -r /usr/share/tomcat10/etc /data/tomcat/conf 2>/dev/null; cp -r /etc/tomcat10/. /data/tomcat/conf/ 2>/dev/null\n" +
				"[ -d /srv/webapps ] && cp -rL /srv/webapps/. /data/tomcat/webapps/\n" +
				"export CATALINA_HOME=/usr/share/tomcat10 CATALINA_BASE=/data/tomcat\n" +
				"exec sh /usr/share/tomcat10/bin/catalina.sh run\n",
		},
		links: map[string]string{"usr/bin/java": "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"},
		config: v1.Config{
			Env: []string{path, "JAVA_HOME=/usr/lib/jvm/java-17-openjdk-amd64"}, Cmd: []string{"sh"},
		},
	},
	{
		name: "node", tag: "node:1",
		packages: []string{"busybox-static", "nodejs", "libnode108"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		// Smaller ones that need little beside themselves.
		name: "daemons", tag: "daemons:1",
		packages: []string{"busybox-static", "memcached", "mosquitto", "nats-server", "prometheus", "caddy", "lighttpd", "libsystemd0", "libpam0g", "openssl"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups, "run/": "", "data/": ""},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		// Celery's workers and beat, and what serves Python without WSGI.
		name: "workers", tag: "workers:1",
		packages: []string{"busybox-static", "python3-minimal", "python3.11-minimal", "celery", "python3-celery", "python3-redis", "python3-psycopg2", "uvicorn", "python3-uvicorn", "python3-fastapi"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups, "run/": "", "data/": ""},
		config:   v1.Config{Env: []string{path, "PYTHONUNBUFFERED=1"}, Cmd: []string{"sh"}},
	},
	{
		name: "etcd", tag: "etcd:1",
		packages: []string{"busybox-static", "etcd-server"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups, "data/": ""},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"etcd"}},
	},
	{
		// What stands at the edge or carries for others.
		name: "edge", tag: "edge:1",
		packages: []string{"busybox-static", "squid", "dnsmasq-base", "openssh-server", "stunnel4", "libpam0g", "libsystemd0", "openssl"},
		files: map[string]string{
			"etc/passwd": users + "sshd:x:108:65534:sshd:/run/sshd:/bin/false\n", "etc/group": groups, "run/sshd/": "", "var/spool/squid/": "", "var/log/squid/": "",
		},
		config: v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		name: "ruby", tag: "ruby:1",
		packages: []string{"busybox-static", "ruby", "puma"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		// A directory, and an application that asks it.
		name: "directory", tag: "directory:1",
		packages: []string{"busybox-static", "slapd", "ldap-utils", "python3-minimal", "python3.11-minimal", "python3-ldap", "gunicorn", "python3-gunicorn", "python3-flask"},
		files: map[string]string{
			"etc/passwd": users + "openldap:x:109:109:openldap:/var/lib/ldap:/bin/false\n", "etc/group": groups + "openldap:x:109:\n", "data/": "", "run/slapd/": "",
		},
		config: v1.Config{Env: []string{path, "PYTHONUNBUFFERED=1"}, Cmd: []string{"sh"}},
	},
	{
		// What keeps jobs, series and images.
		name: "stores", tag: "stores:1",
		packages: []string{"busybox-static", "beanstalkd", "influxdb", "docker-registry", "libsystemd0"},
		files: map[string]string{
			"etc/passwd": users + "influxdb:x:110:110:influxdb:/data:/bin/false\n", "etc/group": groups + "influxdb:x:110:\n", "data/": "",
		},
		config: v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		// Perl's own, whole, and Starman, which forks before it serves.
		name: "starman", tag: "starman:1",
		packages: []string{"busybox-static", "perl", "perl-base", "libc6", "libcrypt1", "starman"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		name: "sidekiq", tag: "sidekiq:1",
		packages: []string{"busybox-static", "ruby", "ruby-sidekiq"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups},
		config:   v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		name: "hypercorn", tag: "hypercorn:1",
		packages: []string{"busybox-static", "python3-minimal", "python3.11-minimal", "python3-hypercorn", "python3-starlette", "openssl"},
		files:    map[string]string{"etc/passwd": users, "etc/group": groups},
		config:   v1.Config{Env: []string{path, "PYTHONUNBUFFERED=1"}, Cmd: []string{"sh"}},
	},
	{
		// What answers for names and for the time.
		name: "names", tag: "names:1",
		packages: []string{"busybox-static", "bind9", "unbound", "chrony", "libsystemd0", "openssl"},
		files: map[string]string{
			"etc/passwd": users + "unbound:x:111:111:unbound:/var/lib/unbound:/bin/false\n", "etc/group": groups + "unbound:x:111:\n", "run/": "", "data/": "",
		},
		config: v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
	{
		// A mail server. Its queue's folders are made when it starts.
		name: "mail", tag: "mail:1",
		packages: []string{"busybox-static", "postfix", "netbase"},
		files: map[string]string{
			"etc/passwd": users + "postfix:x:112:112:postfix:/var/spool/postfix:/bin/false\n", "etc/group": groups + "postfix:x:112:\npostdrop:x:113:\n", "var/mail/": "",
		},
		config: v1.Config{Env: []string{path}, Cmd: []string{"sh"}},
	},
}
