package object

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

func TestResources(t *testing.T) {
	m := Machine{CPUs: 2, Memory: 24 << 30, Disk: 100 << 30, HugePages: map[int64]int64{2 << 20: 64 << 20, 1 << 30: 0}}
	for name, c := range map[string]struct {
		reserve               Reserve
		capacity, allocatable map[v1.ResourceName]string
	}{
		"nothing reserved": {
			Reserve{MaxPods: 110},
			map[v1.ResourceName]string{
				"cpu": "2", "memory": "24Gi", "pods": "110", "ephemeral-storage": "100Gi", "hugepages-2Mi": "64Mi", "hugepages-1Gi": "0",
			},
			map[v1.ResourceName]string{
				"cpu": "2", "memory": "24512Mi", "pods": "110", "ephemeral-storage": "100Gi", "hugepages-2Mi": "64Mi", "hugepages-1Gi": "0",
			},
		},
		"a small node": {
			Reserve{Memory: 2 << 30, Kept: v1.ResourceList{"memory": resource.MustParse("128Mi"), "cpu": resource.MustParse("300m"), "ephemeral-storage": resource.MustParse("1Gi")}, EvictionMemory: DefaultEvictionMemory, EvictionDisk: DefaultEvictionDisk, MaxPods: 5},
			map[v1.ResourceName]string{"memory": "2Gi", "pods": "5", "ephemeral-storage": "100Gi"},
			map[v1.ResourceName]string{"cpu": "1700m", "memory": "1756Mi", "pods": "5", "ephemeral-storage": "89Gi"},
		},
		"more than the machine has": {
			Reserve{Memory: 1 << 50},
			map[v1.ResourceName]string{"memory": "24Gi"},
			map[v1.ResourceName]string{"memory": "24512Mi"},
		},
		"all of it reserved": {
			Reserve{Memory: 64 << 20, EvictionMemory: DefaultEvictionMemory},
			map[v1.ResourceName]string{"memory": "64Mi"},
			map[v1.ResourceName]string{"memory": "0"},
		},
	} {
		capacity, allocatable := Resources(m, c.reserve)
		same(t, name+", capacity", capacity, c.capacity)
		same(t, name+", allocatable", allocatable, c.allocatable)
	}
}

func same(t *testing.T, what string, got v1.ResourceList, want map[v1.ResourceName]string) {
	t.Helper()
	for name, quantity := range want {
		have, ok := got[name]
		if !ok || have.Cmp(resource.MustParse(quantity)) != 0 {
			t.Errorf("%s: %s is %s (there: %v), want %s", what, name, have.String(), ok, quantity)
		}
	}
}

func TestAllocatableIsWithinCapacity(t *testing.T) {
	size := rapid.Int64Range(0, 1<<50)
	rapid.Check(t, func(t *rapid.T) {
		m := Machine{
			CPUs: rapid.IntRange(1, 512).Draw(t, "cpus"), Memory: size.Draw(t, "memory"), Disk: size.Draw(t, "disk"),
			HugePages: map[int64]int64{2 << 20: size.Draw(t, "huge pages")},
		}
		r := Reserve{
			Memory: size.Draw(t, "node memory"), Kept: v1.ResourceList{"memory": *resource.NewQuantity(size.Draw(t, "system"), resource.BinarySI)}, EvictionMemory: size.Draw(t, "eviction"),
			EvictionDisk: rapid.Float64Range(0, 1).Draw(t, "disk eviction"), MaxPods: rapid.IntRange(0, 1000).Draw(t, "pods"),
		}
		capacity, allocatable := Resources(m, r)
		for name, all := range capacity {
			free, ok := allocatable[name]
			if !ok || free.Sign() < 0 || free.Cmp(all) > 0 {
				t.Fatalf("%s: %s of %s", name, free.String(), all.String())
			}
		}
	})
}

func TestExtendedResourcesStay(t *testing.T) {
	status := &v1.NodeStatus{
		Capacity:    v1.ResourceList{"example.com/fpga": resource.MustParse("3"), "hugepages-16Mi": resource.MustParse("1"), "cpu": resource.MustParse("64")},
		Allocatable: v1.ResourceList{"cpu": resource.MustParse("64")},
	}
	ours := v1.ResourceList{"cpu": resource.MustParse("2")}
	setResources(status, ours, ours)
	for what, got := range map[string]v1.ResourceList{"capacity": status.Capacity, "allocatable": status.Allocatable} {
		same(t, what, got, map[v1.ResourceName]string{"example.com/fpga": "3", "cpu": "2"})
		if len(got) != 2 {
			t.Errorf("%s: %v", what, got)
		}
	}
}
