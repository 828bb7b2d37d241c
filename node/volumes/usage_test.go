package volumes

import (
	"os"
	"reflect"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"whylet.dev/whylet/fact"
)

func TestUsageOfVolumes(t *testing.T) {
	n := newNode(t, rootCA("1", "pem"))
	pod := podWith(emptyDir("disk", "", "1Mi"), emptyDir("mem", v1.StorageMediumMemory, "4Mi"), apiAccess())
	n.setUp(pod)
	for _, name := range []string{"disk", "mem"} {
		if err := os.WriteFile(n.path(pod, name)+"/f", make([]byte, 2<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := n.Usage(pod.UID, 0)
	if len(u.Ephemeral) != 1 || len(u.Persistent) != 2 {
		t.Fatalf("got %+v", u)
	}
	if used := u.EphemeralBytes(); used < 2<<20 || used > 3<<20 {
		t.Errorf("the emptyDir uses %d bytes", used)
	}
	if mem, ok := u.Volume("mem"); !ok || *mem.UsedBytes < 2<<20 || *mem.CapacityBytes != 4<<20 {
		t.Errorf("memory volume: %+v", mem)
	}
	if again := n.Usage(pod.UID, time.Hour); again.At != u.At {
		t.Error("measured again, although fresh")
	}
	over := OverLimit(pod, u, nil)
	if over == nil || over.Message != `Usage of EmptyDir volume "disk" exceeds the limit "1Mi". ` {
		t.Errorf("got %+v", over)
	}
	n.tearDown(pod.UID)
	if gone := n.Usage(pod.UID, 0); !gone.At.IsZero() {
		t.Errorf("got %+v for a pod that is gone", gone)
	}
}

func TestOverLimit(t *testing.T) {
	limited := func(limits ...string) *v1.Pod {
		pod := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{emptyDir("d", "", "")}}}
		for i, l := range limits {
			c := v1.Container{Name: string(rune('a' + i)), Resources: v1.ResourceRequirements{Limits: v1.ResourceList{}}}
			if l != "" {
				c.Resources.Limits[v1.ResourceEphemeralStorage] = resource.MustParse(l)
			}
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
		return pod
	}
	withSidecar := limited("")
	withSidecar.Spec.InitContainers = []v1.Container{
		{Name: "s", RestartPolicy: ptr(v1.ContainerRestartPolicyAlways), Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse("100")}}},
	}
	withSidecar.Spec.Containers = append(withSidecar.Spec.Containers, limited("1000").Spec.Containers...)
	uses := func(bytes uint64) Usage {
		return Usage{Ephemeral: []statsapi.VolumeStats{{Name: "d", FsStats: statsapi.FsStats{UsedBytes: &bytes}}}}
	}
	for _, c := range []struct {
		name  string
		pod   *v1.Pod
		usage Usage
		disks []ContainerDisk
		want  *fact.EvictionNeeded
	}{
		{"no limits", limited(""), uses(1 << 40), []ContainerDisk{{"a", 1 << 40, 1 << 40}}, nil},
		{"at the limit", limited("100"), uses(50), []ContainerDisk{{"a", 25, 25}}, nil},
		{"pod over", limited("100", "100"), uses(150), []ContainerDisk{{"a", 25, 26}}, &fact.EvictionNeeded{
			Reason: "Evicted", Signal: SignalPod, GraceSeconds: 1,
			Message: "Pod ephemeral local storage usage exceeds the total limit of containers 200. ",
		}},
		{"container over", limited("100", "100"), uses(0), []ContainerDisk{{"a", 100, 1}}, &fact.EvictionNeeded{
			Reason: "Evicted", Signal: SignalContainer, GraceSeconds: 1,
			Message: `Container a exceeded its local ephemeral storage limit "100". `,
		}},
		{"sidecar over", withSidecar, uses(0), []ContainerDisk{{"s", 100, 1}}, &fact.EvictionNeeded{
			Reason: "Evicted", Signal: SignalContainer, GraceSeconds: 1,
			Message: `Container s exceeded its local ephemeral storage limit "100". `,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := OverLimit(c.pod, c.usage, c.disks)
			if (got == nil) != (c.want == nil) || (got != nil && !reflect.DeepEqual(*got, *c.want)) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}
