package cgroupfs

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

// The trees below testdata were recorded from real kernels: v2 on Debian's 6.1,
// v1 (hybrid) on 6.18. Each is of a container that may have 20 MiB, 0.1 CPU and
// 50 processes, was throttled, and had one process killed by the kernel when it
// took 100 MiB.
func TestRecordedTrees(t *testing.T) {
	const limit = 20 << 20
	for _, c := range []struct {
		name  string
		group Group
		want  Sample
	}{
		{
			name:  "v2",
			group: Layout{V2: true, Unified: "testdata/v2"}.At("/ctr"),
			want: Sample{
				Sampled: fact.Sampled{
					MemoryCurrent: 4534272, MemoryPeak: limit, MemoryLimit: limit, MemoryFile: 4194304, MemoryShmem: 4194304,
					WorkingSet: 4534272, OOMKills: 1,
					CPUUsage: 543394 * time.Microsecond, Periods: 56, ThrottledPeriods: 53, ThrottledTime: 4877255 * time.Microsecond,
					PIDs: 1, PIDLimit: 50,
					CPUSome: 4282200 * time.Microsecond, MemorySome: 2661 * time.Microsecond, MemoryFull: 2661 * time.Microsecond,
				},
				MemoryAnon: 49152, PageFaults: 1142, LimitHits: 40, PSI: true,
				CPUPressure: Pressure{
					Some: Stall{25.43, 6.44, 1.42, 4282200 * time.Microsecond},
					Full: Stall{25.43, 6.44, 1.42, 4281253 * time.Microsecond},
				},
				MemoryPressure: Pressure{Some: Stall{Total: 2661 * time.Microsecond}, Full: Stall{Total: 2661 * time.Microsecond}},
			},
		},
		{
			name: "v1 with an empty v2 beside it",
			group: Layout{Unified: "testdata/v1/unified", Controllers: map[string]string{
				"memory": "testdata/v1/memory", "cpu": "testdata/v1/cpu", "cpuacct": "testdata/v1/cpuacct", "pids": "testdata/v1/pids",
			}}.At("/ctr"),
			want: Sample{
				Sampled: fact.Sampled{
					MemoryCurrent: 438272, MemoryPeak: limit, MemoryLimit: limit, WorkingSet: 438272, OOMKills: 1,
					CPUUsage: 52924577, Periods: 7, ThrottledPeriods: 3, ThrottledTime: 108943901,
					PIDs: 1, PIDLimit: 50,
				},
				MemoryAnon: 110592, PageFaults: 5887, MajorFaults: 1, LimitHits: 133, PSI: true,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.group.Read()
			if err != nil {
				t.Fatal(err)
			}
			if !c.group.V2 { // its pressure is checked with v2's
				c.want.CPUPressure, c.want.MemoryPressure, c.want.IOPressure = got.CPUPressure, got.MemoryPressure, got.IOPressure
				c.want.CPUSome, c.want.IOSome = got.CPUPressure.Some.Total, got.IOPressure.Some.Total
				c.want.MemorySome, c.want.MemoryFull = got.MemoryPressure.Some.Total, got.MemoryPressure.Full.Total
				if got.CPUSome == 0 {
					t.Error("no pressure was read")
				}
			}
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}
