package words

import "regexp"

// The kernel's answers to system calls, in the C library's words (strerror(3)), which
// most languages pass on.
var (
	// NoSpace is ENOSPC and EDQUOT of a disk. The kernel also answers ENOSPC where no
	// disk is meant: to who wants one more watch of a file (inotify_add_watch(2)),
	// semaphore (semget(2)) or segment of System V shared memory (shmget(2); PostgreSQL
	// can "create" none then).
	NoSpace = says("strerror(3), ENOSPC and EDQUOT",
		[]string{"no space left on device", "disk quota exceeded"},
		"write /data/x: No space left on device", "OSError: [Errno 122] Disk quota exceeded: '/data/x'").except(notDisk)
	notDisk = fits("inotify_add_watch(2), semget(2), shmget(2); PostgreSQL 17, sysv_shmem.c",
		`(?i)\bwatch(es|ers?|ing)?\b|inotify|semaphore|semget|shmget|create shared memory segment`,
		"Error: ENOSPC: System limit for number of file watchers reached, watch '/app'", "FATAL:  could not create shared memory segment: No space left on device",
		"FATAL:  could not create semaphores: No space left on device")
	// OpenFiles is EMFILE. ENFILE's text begins with the same words.
	OpenFiles = fits("strerror(3), EMFILE; Node 24 and Ruby 3.4 give the name",
		`(?i)\bemfile\b|too many open files`,
		"Error: EMFILE: too many open files, open '/etc/hosts'", "accept4() failed (24: Too many open files)").except(nodeFiles)
	nodeFiles = says("strerror(3), ENFILE", []string{"open files in system"}, "Too many open files in system")
	// Inotify's instances are counted for each user of the node, and inotify_init(2) gives
	// EMFILE, too, when there are too many.
	Inotify = says("inotify_init(2); fsnotify 1.9",
		[]string{"inotify", "fsnotify"},
		"Failed to create inotify instance: Too many open files", "fsnotify: too many open files")
	ReadOnly = says("strerror(3), EROFS", []string{"read-only file system"}, "sh: can't create /run.pid: Read-only file system")
	NoFile   = says("strerror(3), ENOENT; OpenJDK 25", []string{"no such file or directory", "unable to access jarfile", "nosuchfileexception", "could not find file '", ": file not found"}, "java.nio.file.NoSuchFileException: /app/config.yaml", "zone shop/IN: loading from master file /etc/bind/db.shop failed: file not found", "Could not find file '/app/appsettings.json'.", "Error: Unable to access jarfile /app/app.jar", "exec /app/run.sh: no such file or directory")
	PortUsed = fits("strerror(3), EADDRINUSE; Node 24 and Rust 1.90 give the name; Spring Boot 4, RabbitMQ 4",
		`(?i)\baddress (is )?(already )?in use\b|\be?addrinuse\b|\bport \d+\b.{0,8} (is|was) (already )?in use\b|\bonly one usage of each socket address\b|\bBindException\b`, "Only one usage of each socket address (protocol/network address/port) is normally permitted.",
		"Web server failed to start. Port 8080 was already in use.", "could not bind to distribution port 25672, it is in use by another node: rabbit@queue",
		"listen tcp :8080: bind: address already in use", "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address in use)", "Error: listen EADDRINUSE: address already in use :::3000")
	// Refused is EACCES or EPERM behind what was tried, as the C library, nginx, Python,
	// Node and Go write it. A database's "permission denied for table" and ssh's
	// "Permission denied (publickey)" are other refusals.
	Refused = fits("strerror(3), EACCES and EPERM; nginx 1.28, CPython 3.14, Node 24, Go 1.26",
		`(?i)(\S: "?|\((1|13)(: |\) ?)|errno (1|13)\] |e(acces|perm): )(permission denied|operation not permitted)($|[^\w\s]| [/{\[@]| \((1|13|(e?[ug]id|errno|os error|code)\b[^)]*\)?)\)| \d)|\S/\S+ \(permission denied\)|\baccess to the path '\S+' is denied|\baccessdeniedexception: [\w.@+-]*/|\b(bind|socket|open|create|mkdir|lock)\b.{0,30}[ (:]permission denied\)? (for )?(\[|\d|/)|\(errcode: (1|13)\b|\berrno\.e(acces|perm)\b|(?:: |\{error,|,)e(?:acces|perm)\b(?:$|[^:])`,
		"Starting frontend web: cannot bind socket (Permission denied) for [0.0.0.0:80]", "Binding [/etc/haproxy.cfg:3] for frontend GLOBAL: cannot bind UNIX socket (Permission denied) [/run/haproxy/admin.sock]", "Error: Cannot open an HTTP server: socket.error reported errno.EACCES (13)", "Can't create/write to file './ddl_recovery.log' (Errcode: 13 \"Permission denied\")",
		"open /data/x: permission denied", "FATAL: Failed to make swap directory /var/spool/squid/00: (13) Permission denied", "PermissionError: [Errno 13] Permission denied: '/data'", "nginx: [emerg] mkdir() \"/var/cache\" failed (13: Permission denied)",
		"Error: EACCES: permission denied, mkdir '/data'", "java.nio.file.AccessDeniedException: /data/node.lock", "java.nio.file.AccessDeniedException: config/application.properties", "java.io.FileNotFoundException: /var/log/app.log (Permission denied)", "System.UnauthorizedAccessException: Access to the path '/app/data' is denied.", "Errno::EACCES: Permission denied @ dir_s_mkdir - /app/tmp/cache", "chown: /data: Operation not permitted", "Error: mkdir(/var/mail/ann) failed: Permission denied (euid=5000(vmail) egid=5000(vmail) missing +w perm: /var/mail)", "Error: Permission denied (os error 13)", "Failed to create cookie file '/data/.erlang.cookie': eacces", "{badmatch,{error,eacces}}").except(aURL)
	aURL   = says("RFC 3986", []string{"://"}, "git clone https://example.com/x: Permission denied")
	noFork = says("busybox 1.37, bash 5.3, Go 1.26, OpenJDK 25",
		[]string{"can't fork", "cannot fork", "fork failed", "failed to create new os thread", "unable to create native thread", "unable to create new native thread"},
		"sh: can't fork: Resource temporarily unavailable", "bash: cannot fork: Resource temporarily unavailable", "apr_proc_fork: fork failed", "runtime: failed to create new OS thread (have 9 already; errno=11)",
		"java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory", "java.lang.OutOfMemoryError: unable to create new native thread")
	again = says("strerror(3), EAGAIN", []string{"resource temporarily unavailable"}, "sh: can't fork: Resource temporarily unavailable")
	// start is what EAGAIN answers where processes are the limit.
	start = says("clone(2), pthread_create(3)", []string{"fork", "clone", "thread", "exec "},
		"fork: retry: Resource temporarily unavailable", "clone: Resource temporarily unavailable", "pthread_create: Resource temporarily unavailable: thread", "exec /bin/x: resource temporarily unavailable")
)

// NoFork says whether something could not start a process or a thread for want of ids.
func NoFork(text string) bool { return noFork.In(text) || again.In(text) && start.In(text) }

// capabilities are what the kernel asks of who does what a line tells of (capabilities(7)).
var capabilities = []struct {
	does *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`(?i)\b(set(re|res)?gid|setgroups|initgroups)\b|\bgroup[- ]?id\b`), "SETGID"},
	{regexp.MustCompile(`(?i)\bset(re|res)?uid\b|\buser[- ]?id\b`), "SETUID"},
	{regexp.MustCompile(`(?i)\bchown\b`), "CHOWN"},
	{regexp.MustCompile(`(?i)\bchroot\b`), "SYS_CHROOT"},
	{regexp.MustCompile(`(?i)\bbind(ing)?\b`), "NET_BIND_SERVICE"},
	{regexp.MustCompile(`(?i)\bmlock(all)?\b`), "IPC_LOCK"},
	{regexp.MustCompile(`(?i)\braw socket\b|\bSOCK_RAW\b`), "NET_RAW"},
	{regexp.MustCompile(`\b((clock_)?adjtimex?|clock_settime|settimeofday|stime)\b`), "SYS_TIME"},
	{regexp.MustCompile(`\b(sethostname|setdomainname|pivot_root|swapon|swapoff|umount2)\b`), "SYS_ADMIN"},
	{regexp.MustCompile(`\bRTNETLINK answers\b|\bTUNSETIFF\b|\bSIOCSIF[A-Z]+\b|\bSIOC(ADD|DEL)RT\b`), "NET_ADMIN"},
	{regexp.MustCompile(`\b(f?init_module|delete_module)\b`), "SYS_MODULE"},
	{regexp.MustCompile(`\b(iopl|ioperm)\b`), "SYS_RAWIO"},
	{regexp.MustCompile(`\bklogctl\b`), "SYSLOG"},
	{regexp.MustCompile(`\bsched_set(scheduler|param|attr)\b`), "SYS_NICE"},
}

// notPermitted is EPERM at the end of what was tried.
var notPermitted = regexp.MustCompile(`(?i)(\boperation not permitted\b|\beperm\b)\W*((errno=)?\d+\W*)?$`)

// NeededCapability is the one that a call needs that was refused, as Kubernetes names it; "" where
// the line does not tell which call that was.
func NeededCapability(said string) string {
	for _, c := range capabilities {
		if c.does.MatchString(said) {
			return c.name
		}
	}
	return ""
}

// missing fits what programs say of a capability that they do not have.
var missing = regexp.MustCompile(`(?i)\b(miss(es|ing)?|lacks?|lacking|needs?|requires?|required|without|absent|not (present|available|permitted|granted|held|effective|set)|(does|do) not have|must have|no)\b`)

// named fits the name of a capability that is called one.
var named = regexp.MustCompile(`\bCAP_([A-Z]{3,}(?:_[A-Z]+)*)\b|\bcapability:? ([A-Z]{3,}_[A-Z]+(?:_[A-Z]+)*)\b`)

// LackedCapability is the one, as Kubernetes names it, that a line says is missing, or that the
// call needs that it says was refused with EPERM; "" where it tells of none.
func LackedCapability(line string) string {
	if m := named.FindStringSubmatch(line); m != nil && (missing.MatchString(line) || notPermitted.MatchString(line)) {
		return m[1] + m[2]
	}
	if notPermitted.MatchString(line) {
		return NeededCapability(line)
	}
	return ""
}
