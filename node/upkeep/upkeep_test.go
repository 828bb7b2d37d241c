package upkeep

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// Only pods with a bound cost a walk through their files.
func TestLimitsStorage(t *testing.T) {
	quantity := resource.MustParse("1Mi")
	ephemeral := v1.Container{Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceEphemeralStorage: quantity}}}
	for _, c := range []struct {
		name         string
		spec         v1.PodSpec
		any, onLayer bool
	}{
		{"nothing", v1.PodSpec{Containers: []v1.Container{{}}}, false, false},
		{"an emptyDir without a limit", v1.PodSpec{Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}}, false, false},
		{"an emptyDir with one", v1.PodSpec{Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: &quantity}}}}}, true, false},
		{"a container with one", v1.PodSpec{Containers: []v1.Container{{}, ephemeral}}, true, true},
	} {
		pod := &v1.Pod{Spec: c.spec}
		if limitsStorage(pod) != c.any || limitsEphemeral(pod) != c.onLayer {
			t.Errorf("%s: %v %v", c.name, limitsStorage(pod), limitsEphemeral(pod))
		}
	}
}

// The logs of earlier runs and rotated ones are on the disk too.
func TestLogsOf(t *testing.T) {
	p := pods.Pod{Object: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "u"}}}
	d := disks{logs: t.TempDir()}
	if got := d.logsOf(p, "web"); got != (onDisk{}) {
		t.Errorf("without a folder: %+v", got)
	}
	dir := filepath.Join(containers.PodLogDir(d.logs, p.Object), "web")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"0.log": 100, "1.log": 20, "1.log.20260101-000000.gz": 3} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.logsOf(p, "web"); got.bytes != 123 || got.inodes != 3 {
		t.Errorf("%+v", got)
	}
}

func TestRunningNames(t *testing.T) {
	v := pods.Pod{
		Object:     &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{Name: "proxy"}}, Containers: []v1.Container{{Name: "b"}, {Name: "a"}, {Name: "ended"}}}},
		Containers: map[string]pods.Container{"a": {Running: true}, "b": {Running: true}, "proxy": {Running: true}, "ended": {}, "debug": {Running: true}},
	}
	if got := runningNames(v); !slices.Equal(got, []string{"b", "a", "proxy"}) {
		t.Errorf("%v", got)
	}
}

// Memory is given back with the containers, disk with the volumes: until then the next
// pod must not go.
func TestEnded(t *testing.T) {
	running, stopped := map[string]pods.Container{"c": {Running: true}}, map[string]pods.Container{"c": {}}
	for _, c := range []struct {
		name         string
		pod          *pods.Pod
		memory, disk bool
	}{
		{"gone", nil, true, true},
		{"running", &pods.Pod{Containers: running, Sandbox: pods.Sandbox{ID: "s"}}, false, false},
		{"stopped, with its volumes", &pods.Pod{Containers: stopped, Sandbox: pods.Sandbox{ID: "s"}}, true, false},
		{"torn down", &pods.Pod{Containers: stopped}, true, true},
	} {
		s := &shortages{Upkeep: &Upkeep{Config: Config{Known: one{c.pod}}}}
		if m, d := s.ended(fact.Pod{UID: "u"}, pressure.MemoryAvailable), s.ended(fact.Pod{UID: "u"}, pressure.NodeFSAvailable); m != c.memory || d != c.disk {
			t.Errorf("%s: memory %v, disk %v", c.name, m, d)
		}
	}
}

// one knows one pod at most.
type one struct{ pod *pods.Pod }

func (o one) Get(types.UID) (pods.Pod, bool) {
	if o.pod == nil {
		return pods.Pod{}, false
	}
	return *o.pod, true
}
func (one) Named(string, string, time.Time) (pods.Pod, bool) { return pods.Pod{}, false }
func (one) All() []pods.Pod                                  { return nil }
func (one) ByID(string) (pods.Run, bool)                     { return pods.Run{}, false }
func (one) ByPID(int) (pods.Run, bool)                       { return pods.Run{}, false }
func (one) ByCgroup(string) (pods.Run, bool)                 { return pods.Run{}, false }
