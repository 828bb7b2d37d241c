package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// What the last words of a process tell, and what they do not.
func TestLastWords(t *testing.T) {
	yes := true
	readOnly := func(c *v1.Container) {
		c.LivenessProbe, c.SecurityContext = nil, &v1.SecurityContext{ReadOnlyRootFilesystem: &yes}
	}
	said := func(code int32, words string) func(*tale) {
		return func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: code, OOMKnown: true, Message: words})
		}
	}
	logged := func(code int32, lines ...string) func(*tale) {
		return func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: code, OOMKnown: true, LastLines: lines})
		}
	}
	dated := func(ago time.Duration, lines ...string) func(*tale) {
		return func(s *tale) {
			s.wait(ago)
			e := fact.Exited{ExitCode: 1, OOMKnown: true}
			e.Say(lines, []time.Time{s.now.Add(-ago), s.now.Add(-ago)}, s.now)
			s.exit("app", e)
		}
	}
	user, killed := int64(1000), 137
	asUser := func(c *v1.Container) {
		c.LivenessProbe, c.SecurityContext = nil, &v1.SecurityContext{RunAsUser: &user}
	}
	capable := func(c v1.Capabilities) func(*v1.Container) {
		return func(k *v1.Container) {
			k.LivenessProbe, k.SecurityContext = nil, &v1.SecurityContext{Capabilities: &c}
		}
	}
	dropping := func(name v1.Capability) func(*v1.Container) {
		return capable(v1.Capabilities{Drop: []v1.Capability{name}})
	}
	adding := func(name v1.Capability) func(*v1.Container) {
		return capable(v1.Capabilities{Add: []v1.Capability{name}})
	}
	rootAlone := int32(0o400)
	mounting := func(at string, from v1.VolumeSource, user *int64) *v1.Pod {
		pod := web(silentProbe, func(c *v1.Container) {
			c.SecurityContext = &v1.SecurityContext{RunAsUser: user}
			c.VolumeMounts = []v1.VolumeMount{{Name: "files", MountPath: at}}
		})
		pod.Spec.Volumes = []v1.Volume{{Name: "files", VolumeSource: from}}
		return pod
	}
	storing := func(pod *v1.Pod) *v1.Pod {
		pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "DATABASE_FILE", Value: "/data/app.db"}}
		return pod
	}
	for _, q := range []question{
		{name: "another architecture", pod: web(silentProbe), cause: answer.AppStartFailed, tale: said(255, "exec /app: exec format error")},
		{name: "it only speaks of one", pod: web(silentProbe), cause: answer.AppExitError, tale: said(1, "plugin x: exec format error")},
		{name: "its root cannot be written", pod: web(readOnly), cause: answer.SecurityRefused, says: "readOnlyRootFilesystem", tale: said(1, "sh: can't create /run.pid: Read-only file system")},
		{name: "a volume cannot be written", pod: web(silentProbe), cause: answer.AppExitError, tale: said(1, "open /data/x: read-only file system")},
		{name: "its log ends", pod: web(silentProbe), cause: answer.AppExitError, says: "the last that it said: bye", tale: logged(3, "hello", "bye", "")},
		{name: "its log says that a disk is full", pod: web(silentProbe), cause: answer.DiskFull, tale: logged(1, "write /data/x: No space left on device", "1+0 records in")},
		{name: "it lived with a full disk", pod: web(silentProbe), cause: answer.AppExitSuccess, tale: logged(0, "write /data/x: No space left on device")},
		{name: "no watch is left", pod: web(silentProbe), cause: answer.AppExitError, tale: logged(1, "tail: cannot watch '/var/log/x': No space left on device")},
		{name: "no semaphore is left", pod: web(silentProbe), cause: answer.AppExitError, tale: logged(1, "could not create semaphores: No space left on device")},
		{name: "an empty socket is no process limit", pod: web(silentProbe), cause: answer.AppExitError, tale: logged(1, "error while executing recv: Resource temporarily unavailable")},
		{name: "another user than its image is made for", pod: web(asUser), cause: answer.SecurityRefused, says: "runs as user 1000", tale: logged(1, "nginx: [emerg] bind() to 0.0.0.0:80 failed (13: Permission denied)")},
		{name: "without its capabilities", pod: web(func(c *v1.Container) {
			c.LivenessProbe, c.SecurityContext = nil, &v1.SecurityContext{Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}}}
		}), cause: answer.SecurityRefused, says: "without capabilities", tale: logged(5, "dnsmasq[1]: failed to change group-id to nogroup: Operation not permitted")},
		{name: "it may not set the clock", pod: web(silentProbe), cause: answer.SecurityRefused, says: "needs capability SYS_TIME, which none has unless its security context adds it: Fatal error : adjtimex(0x8001)", tale: logged(1, "2026-11-23T22:55:50Z chronyd version 4.3 starting", "2026-11-23T22:55:50Z CAP_SYS_TIME not present", "2026-11-23T22:55:50Z Fatal error : adjtimex(0x8001) failed : Operation not permitted")},
		{name: "a capability that it names is dropped", pod: web(dropping("NET_RAW")), cause: answer.SecurityRefused, says: "capability NET_RAW, which its security context drops", tale: logged(1, "FATAL: process is missing required capability NET_RAW")},
		{name: "it may set the clock", pod: web(adding("SYS_TIME")), cause: answer.AppExitError, tale: logged(1, "Fatal error : adjtimex(0x8001) failed : Operation not permitted")},
		{name: "refused what it has the capability for", pod: web(silentProbe), cause: answer.AppExitError, tale: logged(1, "setuid: Operation not permitted")},
		{name: "it got over what it was refused", pod: web(silentProbe), cause: answer.AppExitError, says: "bad line 7", tale: logged(1, "warning: settimeofday: Operation not permitted", "starting", "listening", "FATAL: bad line 7")},
		{name: "refused by a program, not the system", pod: web(asUser), cause: answer.AppExitError, tale: logged(1, "ERROR: permission denied for table users")},
		{name: "refused by a server", pod: web(asUser), cause: answer.AppExitError, tale: logged(1, "PUT https://vault:8200/v1/x: permission denied")},
		{name: "refused as root", pod: web(silentProbe), cause: answer.AppExitError, tale: logged(1, "mkdir: can't create directory '/data/pg': Permission denied")},
		{name: "an interpreter that is not there", pod: web(silentProbe), cause: answer.AppStartFailed, says: "interpreter", tale: logged(255, "exec /run.sh: no such file or directory")},
		{name: "a program that may not be executed", pod: web(silentProbe), cause: answer.AppStartFailed, tale: logged(255, "exec /run.sh: permission denied")},
		{name: "it says that it could not start another", pod: web(silentProbe), cause: answer.AppExitError, tale: logged(255, "starting", "exec /run.sh: no such file or directory")},
		{name: "it gave up on another", pod: web(silentProbe), cause: answer.DependencyDown, tale: dated(time.Minute, "starting", "dial tcp 10.43.0.9:5432: connect: connection refused")},
		{name: "it got over that", pod: web(silentProbe), cause: answer.AppExitError, says: "the last that it said (10 min before): dial tcp", tale: dated(10*time.Minute, "starting", "dial tcp 10.43.0.9:5432: connect: connection refused")},
		{name: "a port that was taken at first", pod: web(silentProbe), cause: answer.AppExitError, says: "ended by itself", tale: dated(time.Hour, "httpd: bind: Address already in use", "trying the next")},
		{name: "its port is taken", pod: web(silentProbe), cause: answer.AppExitError, says: "the port that it wants is taken", tale: logged(1, "httpd: bind: Address already in use")},
		{name: "its socket is there already", pod: web(silentProbe), cause: answer.AppExitError, says: "the socket that it wants to listen on, /run/app/app.sock, is there already", tale: logged(1, "Error: listen EADDRINUSE: address already in use /run/app/app.sock")},
		{name: "its port is taken, and it calls that a success", pod: web(silentProbe), cause: answer.AppExitError, says: "on port [8005] / java.net.BindException", tale: logged(0, "23-Nov-2026 17:08:38.076 SEVERE [main] o.a.c.Server.await Failed to listen on port [8005]", "\tjava.net.BindException: Address already in use", "23-Nov-2026 17:08:38.078 INFO [main] o.a.c.Http.pause Pausing it", "23-Nov-2026 17:08:38.085 INFO [main] o.a.c.Server.stop Stopping it", "23-Nov-2026 17:08:38.086 INFO [main] o.a.c.Http.stop Stopping it", "23-Nov-2026 17:08:38.092 INFO [main] o.a.c.Http.destroy Destroying it")},
		{name: "its probe's command has it", pod: web(func(c *v1.Container) {
			c.LivenessProbe, c.Env = nil, []v1.EnvVar{{Name: "JAVA_TOOL_OPTIONS", Value: "-agentlib:jdwp=address=*:5005"}}
		}), cause: answer.AppExitError, says: `taken, by the command of its own readiness probe, which runs at that time and says "Listening for transport dt_socket at address: 5005"`, tale: func(s *tale) {
			s.probe("app", 1, attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "jcmd 1", ExitCode: &killed, Output: "Listening for transport dt_socket at address: 5005\nPicked up JAVA_TOOL_OPTIONS"}))
			logged(2, "ERROR: transport error 202: bind failed: Address already in use")(s)
		}},
		{name: "its image's user, in a volume", pod: mounting("/data", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, nil), cause: answer.SecurityRefused, says: "in volume files, and belongs to another user than its image has it run as", tale: logged(1, "mkdir: can't create directory '/data/pg': Permission denied")},
		{name: "what nobody else may fill", pod: mounting("/data", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}, nil), cause: answer.AppExitError, tale: logged(1, "mkdir: can't create directory '/data/pg': Permission denied")},
		{name: "a file that root alone may read", pod: mounting("/etc/app", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{DefaultMode: &rootAlone}}, &user), cause: answer.SecurityRefused, says: "volume files lets root alone read its files (defaultMode 0400)", tale: logged(1, "Error: Unable to open config file /etc/app/app.conf.")},
		{name: "a file that all may read", pod: mounting("/etc/app", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}, &user), cause: answer.AppExitError, tale: logged(1, "Error: Unable to open config file /etc/app/app.conf.")},
		{name: "another user, and called a success", pod: web(asUser), cause: answer.SecurityRefused, says: "runs as user 1000", tale: logged(0, "SEVERE [main] could not start process engine", "Caused by: java.nio.file.AccessDeniedException: /data/h2")},
		{name: "SQLite's file, in another's volume", pod: storing(mounting("/data", v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}, &user)), cause: answer.SecurityRefused, says: "most likely since it runs as user 1000 (runAsUser), and volume files, in which /data/app.db is, belongs to another one", tale: logged(1, "sqlite3.OperationalError: unable to open database file")},
		{name: "SQLite's file, where everybody may write", pod: storing(mounting("/data", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, &user)), cause: answer.AppExitError, tale: logged(1, "sqlite3.OperationalError: unable to open database file")},
		{name: "SQLite's file, of root", pod: storing(mounting("/data", v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}, nil)), cause: answer.AppExitError, tale: logged(1, "sqlite3.OperationalError: unable to open database file")},
		{name: "its port was taken, and it went on", pod: web(silentProbe), cause: answer.AppExitSuccess, tale: logged(0, "httpd: bind: Address already in use", "trying 8081", "listening", "5 requests", "done")},
	} {
		q.symptom = answer.Restarted
		t.Run(q.name, q.run)
	}
}

// Who was refused something is told where it may do that, or what lets it.
func TestMayThen(t *testing.T) {
	user := int64(101)
	for said, want := range map[string]string{
		"[emerg] bind() to 0.0.0.0:80 failed (13: Permission denied)":                   "have it listen on a port above 1023 in place of 80",
		`[emerg] mkdir() "/var/lib/nginx/body" failed (13: Permission denied)`:          "let its user write to /var/lib/nginx, which is of the image",
		"error: cannot write in dir /data: Permission denied":                           "let its user write to /data, which is of the image",
		"error: cannot write in dir /cache: Permission denied":                          "give its user volume cache, mounted at /cache",
		"FATAL: could not open /etc/shadow: Permission denied":                          "give that user the files",
		"FATAL failed to assume identity of user 'postgres': Operation not permitted":   "take the user that it changes to out of its configuration",
		"FATAL: not permitted: Permission denied":                                       "give that user the files",
		`(13)Permission denied: AH00072: make_sock: could not bind to address [::]:443`: "have it listen on a port above 1023 in place of 443",
	} {
		pod := web(silentProbe, func(c *v1.Container) {
			c.SecurityContext = &v1.SecurityContext{RunAsUser: &user}
			c.VolumeMounts = []v1.VolumeMount{{Name: "cache", MountPath: "/cache"}}
		})
		pod.Spec.Volumes = []v1.Volume{{Name: "cache", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		s := tell(t, pod)
		s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{said}})
		v := s.ask().Verdicts[0]
		if !slices.ContainsFunc(v.Fixes, func(f answer.Fix) bool { return strings.HasPrefix(f.Text, want) }) {
			t.Errorf("%s: %s: %+v", said, v.Cause, v.Fixes)
		}
	}
}
