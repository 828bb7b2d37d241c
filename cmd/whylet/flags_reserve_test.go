package main

import (
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/node/pressure"
)

func TestEvictionFlags(t *testing.T) {
	s := settings{EvictionSoft: "memory.available<300Mi,nodefs.available<15%", EvictionSoftGrace: "nodefs.available=2m, memory.available=90s", EvictionReclaim: "nodefs.available=500Mi"}
	all, err := s.eviction()
	if err != nil {
		t.Fatal(err)
	}
	soft := map[pressure.Signal]time.Duration{}
	for _, threshold := range all {
		if !threshold.Hard() {
			soft[threshold.Signal] = threshold.Grace
		}
	}
	if len(all) != len(pressure.Defaults())+2 || soft["memory.available"] != 90*time.Second || soft["nodefs.available"] != 2*time.Minute {
		t.Errorf("the thresholds are %+v", all)
	}
	for _, threshold := range all {
		want := int64(0)
		if threshold.Signal == pressure.NodeFSAvailable {
			want = 500 << 20
		}
		if threshold.Reclaim.Value() != want {
			t.Errorf("%+v", threshold)
		}
	}
	if all, err := (settings{}).eviction(); all != nil || err != nil {
		t.Errorf("without flags: %v, %v", all, err)
	}
	for _, c := range []struct {
		s    settings
		says string
	}{
		{settings{EvictionSoft: "memory.available<1Gi"}, "needs a grace period"},
		{settings{EvictionSoft: "memory.available<1Gi", EvictionSoftGrace: "memory.available=soon"}, `"soon"`},
		{settings{EvictionSoft: "memory.available<1Gi", EvictionSoftGrace: "memory.available=1m,nodefs.available=1m"}, "no threshold of nodefs.available"},
		{settings{EvictionSoftGrace: "memory.available=1m"}, "is for --eviction-soft"},
		{settings{EvictionSoft: "memory", EvictionSoftGrace: "memory=1m"}, "--eviction-soft"},
		{settings{EvictionReclaim: "nodefs.available"}, "--eviction-minimum-reclaim"},
		{settings{EvictionReclaim: "nodefs.free=1Gi"}, "no threshold of nodefs.free"},
		{settings{EvictionHard: "memory.available>1Gi"}, "--eviction-hard"},
	} {
		if _, err := c.s.eviction(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.says)
		}
	}
}

func TestReservedFlags(t *testing.T) {
	list, err := reserved("--system-reserved", "cpu=200m, memory=500Mi,ephemeral-storage=1Gi")
	if err != nil || list.Cpu().MilliValue() != 200 || list.Memory().Value() != 500<<20 || list.StorageEphemeral().Value() != 1<<30 {
		t.Errorf("%v, %v", list, err)
	}
	for text, says := range map[string]string{
		"pid=100":               `"pid" cannot be kept back`,
		"memory":                "name=value",
		"memory=-1":             "is not an amount",
		"memory=1Gi,memory=2Gi": "each name once",
	} {
		if _, err := reserved("--system-reserved", text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// What users type must never be more than refused.
func FuzzReserved(f *testing.F) {
	f.Add("cpu=200m,memory=500Mi", "memory.available<300Mi", "memory.available=90s")
	f.Add("=,", "<", "=1m")
	f.Fuzz(func(t *testing.T, kept, soft, grace string) {
		if list, err := reserved("--kube-reserved", kept); err == nil {
			for name, q := range list {
				if q.Sign() < 0 {
					t.Errorf("%s is %s", name, q.String())
				}
			}
		}
		s := settings{EvictionSoft: soft, EvictionSoftGrace: grace}
		if all, err := s.soft(); err == nil {
			for _, threshold := range all {
				if threshold.Hard() {
					t.Errorf("%q with %q is a hard threshold", soft, grace)
				}
			}
		}
	})
}
