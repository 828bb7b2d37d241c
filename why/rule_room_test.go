package why

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Where there is no more room, the volume is named that has none, and how it gets more.
func TestMoreRoom(t *testing.T) {
	size := resource.MustParse("16Mi")
	memory := v1.Volume{Name: "shm", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory, SizeLimit: &size}}}
	claim := v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-db-0"}}}
	scratch := v1.Volume{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}
	at := map[string]string{"shm": "/dev/shm", "data": "/var/lib/db", "tmp": "/tmp"}
	for _, tt := range []struct {
		said    string
		volumes []v1.Volume
		want    string
	}{
		{"could not resize shared memory segment \"/PostgreSQL.12\": No space left on device", []v1.Volume{claim, memory}, "raise the sizeLimit of volume shm, which is in memory (emptyDir, now 16Mi), and the container's memory limit with it"},
		{"could not resize shared memory segment \"/PostgreSQL.12\": No space left on device", []v1.Volume{claim}, "mount an emptyDir with medium: Memory at /dev/shm"},
		{"write /var/lib/db/wal/0001: no space left on device", []v1.Volume{claim, memory}, "delete what is not needed there, or have claim data-db-0 ask for more"},
		{"could not write to file \"pg_wal/1\": No space left on device", []v1.Volume{claim, scratch}, "if it is at /var/lib/db: delete what"},
		{"could not write to file \"pg_wal/1\": No space left on device", []v1.Volume{claim, memory}, "have it write less, or give it more room where it writes"},
		{"write /tmp/x: No space left on device", []v1.Volume{claim, scratch}, "have it write less to volume tmp, or give that more room"},
	} {
		pod := web(silentProbe)
		pod.Spec.Volumes = tt.volumes
		for _, v := range tt.volumes {
			pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: v.Name, MountPath: at[v.Name]})
		}
		s := tell(t, pod)
		s.exit("app", fact.Exited{ExitCode: 2, OOMKnown: true, Message: tt.said})
		a := s.ask()
		check(t, a)
		found := false
		for _, f := range a.Verdicts[0].Fixes {
			found = found || strings.HasPrefix(f.Text, tt.want)
		}
		if a.Verdicts[0].Cause != answer.DiskFull || !found {
			t.Errorf("%s: %+v", tt.said, a.Verdicts[0].Fixes)
		}
	}
}

// A variable that is missed although the spec has it got lost on the way to who wants it.
func TestLostSetting(t *testing.T) {
	with := func(in string) *v1.Pod {
		pod := with("php")(web(ready))
		for i := range pod.Spec.Containers {
			if c := &pod.Spec.Containers[i]; c.Name == in {
				c.Env = []v1.EnvVar{{Name: "DB_HOST", Value: "db"}}
			}
		}
		return pod
	}
	own, passed := "ERROR: environment variable DB_HOST is not set", `[error] 7#7: *1 FastCGI sent in stderr: "PHP message: environment variable DB_HOST is not set"`
	for _, tt := range []struct {
		in, said, want string
	}{
		{"app", own, "Variable DB_HOST is in the env of container app, and does not reach"},
		{"php", passed, "Variable DB_HOST is in the env of container php, and does not reach"},
		{"php", own, ""},
		{"", passed, ""},
	} {
		s := tell(t, with(tt.in), func(s *tale) { s.pids["php"] = 500 })
		s.probe("app", 3, status(fact.Readiness, 500, ""))
		s.said(nil, tt.said)
		s.probe("app", 1, status(fact.Readiness, 500, ""))
		v := s.ask().Verdicts[0]
		if tt.want == "" && strings.Contains(v.Text, "does not reach the process") || !strings.Contains(v.Text, tt.want) {
			t.Errorf("%s of %s: %s", tt.said, tt.in, v.Text)
		}
		if tt.want != "" && !strings.Contains(v.Fixes[0].Command, "exec web-1 -c "+tt.in+" -- sh -c 'grep -lz ^DB_HOST= ") {
			t.Errorf("%+v", v.Fixes)
		}
	}
}
