package why

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// The limit of open files.
func TestFiles(t *testing.T) {
	look := func(open, waiting int, used time.Duration) fact.Looked {
		return fact.Looked{
			PID: 100, State: "S", Processes: 1, CPUUsed: used, Over: time.Second,
			Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Backlog: waiting}},
			Files:     &fact.Files{PID: 100, Command: "serve", Open: open, Limit: 64, Most: 1024},
		}
	}
	fail := func(s *tale, b fact.Probed, look fact.Looked) {
		s.in("app", fact.Looked{PID: 100, Calm: true, Files: &fact.Files{PID: 100, Open: 7, Limit: 64}})
		s.probe("app", 3, good(fact.Liveness, time.Millisecond))
		s.probe("app", 1, b)
		s.in("app", look)
		s.probe("app", 2, b)
	}
	reset := attempt(fact.Liveness, fact.Evidence{Errno: "ECONNRESET"})
	for _, q := range []question{
		{name: "connections wait for files", cause: answer.AppHang, says: "serve, pid 100 has 64 open of 64, and had 7 ", tale: func(s *tale) {
			fail(s, noAnswer(fact.Liveness), look(64, 2, 0))
		}},
		{name: "it closes them as it ends", cause: answer.AppHang, says: "64 open of 64", tale: func(s *tale) {
			s.during = look(3, 0, 0)
			fail(s, noAnswer(fact.Liveness), look(64, 2, 0))
		}},
		{name: "it tries again and again", cause: answer.AppOverloaded, says: "RLIMIT_NOFILE", tale: func(s *tale) {
			fail(s, noAnswer(fact.Liveness), look(64, 2, 990*time.Millisecond))
		}},
		{name: "only its log says so", cause: answer.AppHang, says: "too many open files; retrying", tale: func(s *tale) {
			s.words = []string{"http: Accept error: accept tcp [::]:8080: accept4: too many open files; retrying in 1s"}
			fail(s, noAnswer(fact.Liveness), look(9, 0, 0))
		}},
		{name: "its answer says so", cause: answer.AppUnhealthy, says: "(RLIMIT_NOFILE)", tale: func(s *tale) {
			fail(s, status(fact.Liveness, 500, "java.net.SocketException: Too many open files"), look(9, 0, 0))
		}},
		{name: "it accepts with a file in reserve, and closes", cause: answer.AppUnhealthy, says: "64 open of 64", tale: func(s *tale) {
			fail(s, reset, look(64, 0, 0))
		}},
		{name: "it hangs with files left", cause: answer.AppHang, says: "hangs: it holds port 8080", tale: func(s *tale) {
			fail(s, noAnswer(fact.Liveness), look(63, 2, 0))
		}},
		{name: "by its last words", cause: answer.AppExitError, says: "EMFILE: too many open files", tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, LastLines: []string{"Error: EMFILE: too many open files, open '/etc/hosts'"}})
		}},
		{name: "inotify's instances are counted elsewhere", cause: answer.AppExitError, says: "fs.inotify.max_user_instances", tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, Message: "failed to create fsnotify watcher: too many open files"})
		}},
	} {
		q.symptom, q.pod = answer.Restarted, web()
		t.Run(q.name, q.run)
	}
}

func TestEMFILE(t *testing.T) {
	for text, want := range map[string]bool{
		"2026/11/22 05:00:00 [alert] 7#7: *1 accept4() failed (24: Too many open files)": true,
		"OSError: [Errno 24] Too many open files: '/tmp/x'":                              true,
		"Error: Too many open files (os error 24)":                                       true,
		"Errno::EMFILE": true,
		"open /data/1: too many open files in system": false,
		"ENFILE":                 false,
		"cannot read systemfile": false,
	} {
		if words.OpenFiles.In(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
