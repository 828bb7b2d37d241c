package why

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// How a process ends is its own affair: what it said before tells why, whatever signal it
// sends to itself and whatever code it gives.
func TestOwnWayToEnd(t *testing.T) {
	self := fact.Signalled{Signal: 15, PID: 100, Main: true, Origin: fact.FromContainer, SenderPID: 100}
	aborting := []string{"2026-11-23 1:53:26 0 [ERROR] Fatal error: Can't open and lock privilege tables", "2026-11-23 1:53:26 0 [ERROR] Aborting"}
	for name, test := range map[string]struct {
		signal *fact.Signalled
		exit   fact.Exited
		cause  answer.Cause
		says   string
	}{
		"a signal to itself, and a code of its own":  {&self, fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: aborting}, answer.AppExitError, "Can't open and lock privilege tables"},
		"a signal to itself, of which it died":       {&self, fact.Exited{ExitCode: 143, Signal: 15, StatusKnown: true, OOMKnown: true}, answer.AppCrashSignal, "to itself"},
		"success after the words of a failure":       {nil, fact.Exited{StatusKnown: true, OOMKnown: true, LastLines: []string{"BOOT FAILED", "Crash dump is being written to: erl_crash.dump"}}, answer.AppExitError, "called it a success"},
		"success after an error that it survived":    {nil, fact.Exited{StatusKnown: true, OOMKnown: true, LastLines: []string{"error: no cache", "done"}}, answer.AppExitSuccess, ""},
		"an abort, after a disk was full":            {nil, fact.Exited{ExitCode: 134, Signal: 6, StatusKnown: true, OOMKnown: true, LastLines: []string{`PANIC:  could not write to file "pg_wal/xlogtemp.1": No space left on device`}}, answer.DiskFull, "No space left"},
		"an abort, and why":                          {nil, fact.Exited{ExitCode: 134, Signal: 6, StatusKnown: true, OOMKnown: true, LastLines: []string{"PANIC:  could not locate a valid checkpoint record"}}, answer.AppCrashSignal, "valid checkpoint record"},
		"a name that is not known, above the stack":  {nil, fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{"Error: getaddrinfo ENOTFOUND redis-master", "    at GetAddrInfoReqWrap.onlookup [as oncomplete] (node:dns:108:26) {", "  errno: -3008,", "  syscall: 'getaddrinfo',", "}", "Node.js v18.20.4"}}, answer.DependencyDown, "redis-master"},
		"nowhere to write to, though it may be read": {nil, fact.Exited{ExitCode: 255, StatusKnown: true, OOMKnown: true, LastLines: []string{"FileNotFoundError: [Errno 2] No usable temporary directory found in ['/tmp']"}}, answer.SecurityRefused, "readOnlyRootFilesystem"},
	} {
		t.Run(name, func(t *testing.T) {
			q := question{pod: web(), symptom: answer.Restarted, cause: test.cause, says: test.says, tale: func(s *tale) {
				s.wait(10 * time.Second)
				if test.signal != nil {
					s.in("app", *test.signal)
				}
				s.exit("app", test.exit)
			}}
			if test.cause == answer.SecurityRefused {
				yes := true
				q.pod = web(func(c *v1.Container) { c.SecurityContext = &v1.SecurityContext{ReadOnlyRootFilesystem: &yes} })
			}
			q.run(t)
		})
	}
}

// A failure of which a program told, and after which it went on, is not what it ended for.
func TestSurvivedFailure(t *testing.T) {
	for cause, lines := range map[answer.Cause][]string{
		answer.AppExitSuccess: {"KeyError: 'name'", "again", "5 records read", "5 records written", "all is done"},
		answer.AppExitError:   {"5 records read", "KeyError: 'name'", "exiting"},
	} {
		q := question{name: string(cause), pod: web(silentProbe), symptom: answer.Restarted, cause: cause, tale: func(s *tale) {
			s.wait(5 * time.Second)
			s.exit("app", fact.Exited{OOMKnown: true, StatusKnown: true, LastLines: lines})
		}}
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}
