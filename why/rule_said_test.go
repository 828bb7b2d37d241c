package why

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
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
	for _, q := range []question{
		{name: "another architecture", pod: web(silentProbe), cause: AppStartFailed, tale: said(255, "exec /app: exec format error")},
		{name: "it only speaks of one", pod: web(silentProbe), cause: AppExitError, tale: said(1, "plugin x: exec format error")},
		{name: "its root cannot be written", pod: web(readOnly), cause: SecurityRefused, says: "readOnlyRootFilesystem", tale: said(1, "sh: can't create /run.pid: Read-only file system")},
		{name: "a volume cannot be written", pod: web(silentProbe), cause: AppExitError, tale: said(1, "open /data/x: read-only file system")},
	} {
		q.symptom = Restarted
		t.Run(q.name, q.run)
	}
}

func TestComplaintIn(t *testing.T) {
	for text, want := range map[string]fact.Complaint{
		"dd: error writing '/v/f': No space left on device": fact.NoSpace,
		"sh: can't fork: Resource temporarily unavailable":  fact.NoFork,
		"open /x: read-only file system":                    fact.ReadOnly,
		"recv: Resource temporarily unavailable":            "",
		"":                                                  "",
	} {
		if got := ComplaintIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
