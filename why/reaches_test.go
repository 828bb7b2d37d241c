package why

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Where a pod asks is known from what its init container's command names, from its own name
// servers where they do not answer, and from what a look of seconds ago still tells.
func TestReaches(t *testing.T) {
	refused := connectionRefused(fact.Readiness)
	for name, test := range map[string]struct {
		pod   *v1.Pod
		tale  func(*tale)
		place string
		how   answer.Reached
	}{
		"the command of an init container": {withInit("sh", "-c", "until nc -w 1 db 5432 </dev/null; do sleep 2; done"), func(s *tale) { s.wait(time.Minute) }, "db", answer.ReachSaid},
		"a name server of its own": {resolvedBy("10.43.0.53"), func(s *tale) {
			s.probe("app", 2, refused)
			s.in("app", fact.Looked{PID: 100, State: "S", Said: []string{"could not translate host name \"db\" to address: Temporary failure in name resolution"}})
		}, "10.43.0.53:53", answer.ReachSaid},
		"a connection that was on its way a moment ago": {web(ready), func(s *tale) {
			s.probe("app", 1, refused)
			s.in("app", fact.Looked{PID: 100, State: "S", Dialing: []fact.Dial{{Remote: "192.0.2.7:5432", PID: 100}}})
			s.probe("app", 2, refused)
			s.in("app", fact.Looked{PID: 100, State: "S"})
		}, "192.0.2.7:5432", answer.ReachDialing},
		"a question without an answer": {web(ready), func(s *tale) {
			s.probe("app", 1, refused)
			s.in("app", fact.Looked{PID: 100, State: "S", Open: []fact.Dial{{Remote: "192.0.2.7:5432", PID: 100, Unanswered: 2 * time.Second}}})
		}, "192.0.2.7:5432", answer.ReachAwaits},
		"a connection that it gave up a moment ago": {web(ready), func(s *tale) {
			s.probe("app", 1, status(fact.Readiness, 504, "too late"))
			s.in("app", fact.Looked{PID: 100, State: "S", Open: []fact.Dial{{Remote: "192.0.2.7:80", PID: 100, Unanswered: 2 * time.Second}}})
			s.probe("app", 3, status(fact.Readiness, 504, "too late"))
			s.in("app", fact.Looked{PID: 100, State: "S"})
		}, "192.0.2.7:80", answer.ReachLately},
		"for whom it waited until the node ended it": {web(), func(s *tale) {
			s.probe("app", 2, command(fact.Liveness, 1))
			s.in("app", fact.Looked{PID: 100, State: "S", Open: []fact.Dial{{Remote: "192.0.2.7:6379", PID: 100, Unanswered: 9 * time.Second}}})
			s.probe("app", 1, command(fact.Liveness, 1))
			s.wait(5 * time.Second)
			s.in("app", fact.Looked{PID: 101, State: "S", Lately: []string{"192.0.2.7:6379"}})
		}, "192.0.2.7:6379", answer.ReachAwaits},
		"for whom it waited long ago": {web(), func(s *tale) {
			s.probe("app", 2, command(fact.Liveness, 1))
			s.in("app", fact.Looked{PID: 100, State: "S", Open: []fact.Dial{{Remote: "192.0.2.7:6379", PID: 100, Unanswered: 9 * time.Second}}})
			s.probe("app", 1, command(fact.Liveness, 1))
			s.wait(5 * time.Minute)
			s.in("app", fact.Looked{PID: 101, State: "S", Lately: []string{"192.0.2.7:6379"}})
		}, "192.0.2.7:6379", answer.ReachLately},
	} {
		s := tell(t, test.pod)
		test.tale(s)
		all := s.ask().Reaches
		if !slices.ContainsFunc(all, func(r answer.Reach) bool { return r.Place == test.place && r.How == test.how }) {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// Whom an init container waited for that is done, it found.
func TestReachesOfWhatIsDone(t *testing.T) {
	for code, want := range map[int32]bool{0: false, 1: true} {
		s := tell(t, withInit("sh", "-c", "until psql -h db; do sleep 1; done"))
		s.in("wait", fact.Started{PID: 90})
		s.wait(3 * time.Second)
		s.exit("wait", fact.Exited{ExitCode: code, LastLines: []string{`psql: error: connection to server at "db" (10.43.0.9), port 5432 failed: Connection refused`}})
		all := s.ask().Reaches
		if got := slices.ContainsFunc(all, func(r answer.Reach) bool { return r.Place == "db" }); got != want {
			t.Errorf("exit code %d: %+v", code, all)
		}
	}
}

func withInit(command ...string) *v1.Pod {
	pod := web(silentProbe)
	pod.Spec.InitContainers = []v1.Container{{Name: "wait", Command: command}}
	return pod
}

func resolvedBy(server string) *v1.Pod {
	pod := web(ready)
	pod.Spec.DNSPolicy, pod.Spec.DNSConfig = v1.DNSNone, &v1.PodDNSConfig{Nameservers: []string{server}}
	return pod
}

// What a container that goes on complains of is its read-only root's, where no volume is named, or of the rights that
// its security context takes from it.
func TestComplainsOfItsReadOnlyRoot(t *testing.T) {
	readOnly := func(c *v1.Container) {
		yes, user := true, int64(1000)
		c.SecurityContext = &v1.SecurityContext{ReadOnlyRootFilesystem: &yes, RunAsUser: &user}
		c.VolumeMounts = []v1.VolumeMount{{Name: "cache", MountPath: "/cache"}}
	}
	for said, want := range map[string]answer.Cause{
		"ERROR: Failed opening the temp RDB file temp-11.rdb (in server root dir /data) for saving: Read-only file system": answer.SecurityRefused,
		"ERROR: cannot write /cache/x: Read-only file system":                                                              "",
		"ERROR: Failed opening the temp RDB file temp-56.rdb (in server root dir /data) for saving: Permission denied":     answer.SecurityRefused,
		"ERROR: cannot write /data/x: I/O error":                                                                           "",
	} {
		pod := web(silentProbe, readOnly)
		pod.Spec.Volumes = []v1.Volume{{Name: "cache", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		s := tell(t, pod)
		s.in("app", fact.Looked{PID: 100, State: "S", Over: time.Second, Said: []string{said}, SaidAt: []time.Time{s.now}})
		if all := s.ask().Complaints; len(all) != 1 || all[0].Cause != want {
			t.Errorf("%s: %+v", said, all)
		}
	}
}
