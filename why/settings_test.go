package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

func TestHeapOf(t *testing.T) {
	command := func(words ...string) *v1.Container { return &v1.Container{Command: words} }
	for name, test := range map[string]struct {
		spec *v1.Container
		want string
		size int64
	}{
		"of a JVM":                {command("java", "-Xmx1g", "-jar", "app.jar"), "-Xmx1g in its command", 1 << 30},
		"the last counts":         {command("java", "-Xmx1g", "-Xmx512m", "Main"), "-Xmx512m in its command", 512 << 20},
		"in bytes":                {command("java", "-XX:MaxHeapSize=1048576", "Main"), "-XX:MaxHeapSize=1048576 in its command", 1 << 20},
		"of Node.js":              {&v1.Container{Env: []v1.EnvVar{{Name: "NODE_OPTIONS", Value: "--max-old-space-size=300"}}}, "--max-old-space-size=300 in its variable NODE_OPTIONS", 300 << 20},
		"none":                    {command("java", "-jar", "app.jar"), "", 0},
		"a word that looks alike": {command("app", "--name=-Xmxl"), "", 0},
		"more than there can be":  {command("java", "-Xmx999999999999t"), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g, ok := heapOf(test.spec)
			if ok != (test.want != "") || ok && (g.String() != test.want || g.bytes != test.size) {
				t.Errorf("%s of %d, %v", g, g.bytes, ok)
			}
		})
	}
}

// What a spec shows of heaps, volumes and shells is said where it matters.
func TestSettings(t *testing.T) {
	limited := func(command ...string) *v1.Pod {
		return web(silentProbe, func(c *v1.Container) {
			c.Command, c.Resources.Limits = command, v1.ResourceList{v1.ResourceMemory: resource.MustParse("24Mi")}
		})
	}
	oom := func(s *tale) {
		s.in("app", oomOfMain)
		s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true, RuntimeReason: "OOMKilled"})
	}
	files := limited()
	files.Spec.Volumes = []v1.Volume{{Name: "cache", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}}}
	files.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "cache", MountPath: "/cache"}}
	readOnly := web(silentProbe, func(c *v1.Container) {
		c.VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data", ReadOnly: true}}
	})
	for _, q := range []question{
		{name: "a heap beyond the limit", pod: limited("java", "-Xmx1g", "Main"), cause: answer.MemoryLimit, says: "Its heap may grow to 1Gi (-Xmx1g in its command), and so beyond that limit.", tale: oom},
		{name: "a heap that leaves too little", pod: limited("java", "-Xmx22m", "Main"), cause: answer.MemoryLimit, says: "leaves 2Mi of that limit", tale: oom},
		{name: "files in memory", pod: files, cause: answer.MemoryBackedVolume, says: "volume cache (at /cache) is an emptyDir of medium Memory", tale: func(s *tale) {
			in := oomOfMain
			in.AnonRSS, in.Tasks = 1<<20, []fact.OOMTask{{PID: 100, Command: "app", RSS: 1 << 20}}
			s.in("app", in)
			s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
		}},
		{name: "a key that others may read", pod: web(silentProbe), cause: answer.AppExitError, says: "others than its owner may read", tale: func(s *tale) {
			s.wait(5 * time.Second)
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, StatusKnown: true, LastLines: []string{"Cookie file /data/.erlang.cookie must be accessible by owner only"}})
		}},
		{name: "a volume that it may not write", pod: readOnly, cause: answer.AppExitError, says: "Its volume data (at /data) is mounted readOnly.", tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, StatusKnown: true, LastLines: []string{`[ERROR] mariadbd: Can't create/write to file './ddl_recovery.log' (Errcode: 30 "Read-only file system")`, "[ERROR] Aborting"}})
		}},
		{name: "a script whose interpreter is not there", pod: web(silentProbe), cause: answer.AppStartFailed, says: "the interpreter that its first line names is not", tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 127, OOMKnown: true, StatusKnown: true, LastLines: []string{"bash: line 1: /srv/run.sh: cannot execute: required file not found"}})
		}},
	} {
		q.symptom = answer.Restarted
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// A shell in front of the program hears the stop signal in its place.
func TestShellInFront(t *testing.T) {
	for want, commands := range map[bool][][]string{
		true:  {{"sh", "-c", "setup; serve"}, {"/bin/bash", "-ec", "serve --port 80"}},
		false: {{"sh", "-c", "setup; exec serve"}, {"sh", "/run.sh"}, {"serve"}, {"sh", "-c", "trap 'kill $!' TERM; serve & wait"}, nil},
	} {
		for _, c := range commands {
			if got := shellInFront(&v1.Container{Command: c}); got != want {
				t.Errorf("%q: %v", c, got)
			}
		}
	}
	q := question{
		name: "perhaps", pod: web(func(c *v1.Container) { c.Command = []string{"sh", "-c", "serve"} }), symptom: answer.Restarted, cause: answer.AppUnhealthy,
		set: func(s *tale) { s.code = 137 }, tale: func(s *tale) { s.probe("app", 3, command(fact.Liveness, 1)) }, contributing: []answer.Cause{answer.AppIgnoredSIGTERM},
	}
	q.run(t)
	for command, want := range map[string]string{"sh": "its main process is a shell", "serve": "exit code 137 comes from that", "": "if its main process was still the shell"} {
		s := tell(t, web(func(c *v1.Container) { c.Command = []string{"sh", "-c", "serve"} }), func(s *tale) {
			s.code = 137
			if command != "" {
				s.during = fact.ProcessEnded{PID: 100, Command: command, Main: true, Signal: 9}
			}
		})
		s.probe("app", 3, attempt(fact.Liveness, fact.Evidence{Handler: fact.Exec, Target: "check", ExitCode: new(int)}))
		if v := s.ask().Verdicts[0]; len(v.Contributing) != 1 || !strings.Contains(v.Contributing[0].Text, want) || command == "serve" && !strings.HasSuffix(v.Contributing[0].Text, want) {
			t.Errorf("%q: %+v", command, v.Contributing)
		}
	}
}

// A file that may not be executed: the mode stands where it comes from.
func TestModeFix(t *testing.T) {
	pod := web(silentProbe)
	pod.Spec.Volumes = []v1.Volume{{Name: "scripts", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}}, {Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "scripts", MountPath: "/scripts"}, {Name: "data", MountPath: "/data/"}}
	for file, want := range map[string]string{
		"/scripts/run.sh": "set defaultMode: 0755 in volume scripts, whose files are not executable without, or start /scripts/run.sh by its interpreter",
		"/data/run.sh":    "make /data/run.sh executable in volume data (chmod +x), or start it by its interpreter",
		"/app":            "make /app executable in the image (chmod +x)",
	} {
		s := tell(t, pod.DeepCopy(), func(s *tale) {
			s.fails = fact.StartFailed{Reason: "RunContainerError", Message: `runc create failed: unable to start container process: error during container init: exec: "` + file + `": permission denied: unknown`}
		})
		a := s.ask()
		if v := a.Verdicts[0]; v.Cause != answer.AppStartFailed || len(v.Fixes) == 0 || v.Fixes[0].Text != want {
			t.Error(a.Text(answer.Style{}))
		}
	}
}

// A supervisor that gave its program up.
func TestProgramGivenUp(t *testing.T) {
	log := []string{"KeyError: 'SECRET_KEY'", "2026-11-23 05:00:01,123 INFO exited: web (exit status 3; not expected)", "2026-11-23 05:00:02,123 INFO gave up: web entered FATAL state, too many start retries too quickly"}
	tale := func(look fact.Looked) func(*tale) {
		look.PID, look.State, look.Over, look.Processes = 100, "S", 2*time.Second, 1
		return func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Readiness))
			s.in("app", look)
			s.probe("app", 4, connectionRefused(fact.Readiness))
		}
	}
	for _, q := range []question{
		{name: "given up", cause: answer.ChildProcessEnded, says: "has given its program web up: so nothing listens on port 8080", tale: tale(fact.Looked{Said: log})},
		{name: "and why", cause: answer.ChildProcessEnded, says: "SECRET_KEY", tale: tale(fact.Looked{Said: log})},
		{name: "another of its programs listens", cause: answer.ChildProcessEnded, tale: tale(fact.Looked{Said: log, Listeners: []fact.Listener{{Address: "0.0.0.0:9001", PID: 100}}})},
		{name: "its database is not there", cause: answer.DependencyDown, tale: tale(fact.Looked{Said: append([]string{"Error: connect ECONNREFUSED 10.0.0.9:5432"}, log[1:]...)})},
		{name: "not yet", cause: answer.AppNotListening, tale: tale(fact.Looked{Said: log[:2]})},
	} {
		q.pod, q.symptom = web(ready), answer.NotReady
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

func FuzzHeap(f *testing.F) {
	for _, text := range []string{"java -Xmx1g", "-XX:MaxHeapSize=4096k", "node --max_old_space_size=64", "-Xmx99999999999t"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if g, ok := heapOf(&v1.Container{Command: []string{text}}); ok && g.bytes < 0 {
			t.Fatalf("%d bytes of %q", g.bytes, text)
		}
	})
}

// What a log tells of meanwhile is quoted where nothing is answered.
func TestHangComplains(t *testing.T) {
	hangs := fact.Looked{PID: 100, State: "S", Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Backlog: 3}}}
	for _, q := range []question{
		{name: "an error", says: "Its log says: [CRITICAL] Socket error processing request.", tale: func(s *tale) {
			hangs.Said = []string{"[2026-11-23 06:54:18 +0000] [6] [CRITICAL] Socket error processing request.", "[2026-11-23 06:54:18 +0000] [9] [INFO] Booting worker with pid: 9"}
			s.probe("app", 1, noAnswer(fact.Readiness))
			s.in("app", hangs)
			s.probe("app", 3, noAnswer(fact.Readiness))
		}},
		{name: "none", says: "3 connections wait to be accepted, that of the readiness probe of container app", tale: func(s *tale) {
			hangs.Said = []string{"[INFO] Listening"}
			s.probe("app", 1, noAnswer(fact.Readiness))
			s.in("app", hangs)
			s.probe("app", 3, noAnswer(fact.Readiness))
		}},
	} {
		q.pod, q.symptom, q.cause = web(ready), answer.NotReady, answer.AppHang
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}
