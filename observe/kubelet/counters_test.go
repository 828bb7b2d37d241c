package kubelet

import (
	"testing"

	"whylet.dev/whylet/fact"
)

func TestReadCounters(t *testing.T) {
	page := `# HELP prober_probe_total [BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.
# TYPE prober_probe_total counter
prober_probe_duration_seconds_bucket{container="c",le="0.005"} 3
prober_probe_total{container="c",namespace="shop",pod="web",pod_uid="u",probe_type="Liveness",result="failed"} 3
prober_probe_total{container="c",namespace="shop",pod="web",pod_uid="u",probe_type="Liveness",result="successful"} 1.2e+02
prober_probe_total{container="c",namespace="shop",pod="web",pod_uid="u",probe_type="Readiness",result="unknown"} 1 1700000000
prober_probe_total{container="c",namespace="shop
prober_probe_total{probe_type="Other",result="failed"} 1
`
	all := ReadCounters([]byte(page))
	of := ProbeOf{"u", "shop", "web", "c", fact.Liveness}
	if got := all[of]; got != (Count{Successes: 120, Failures: 3}) {
		t.Errorf("%+v", got)
	}
	of.Kind = fact.Readiness
	if got := all[of]; got != (Count{Unknowns: 1}) || len(all) != 2 {
		t.Errorf("%+v", all)
	}
}

func FuzzReadCounters(f *testing.F) {
	f.Add([]byte(`prober_probe_total{pod="a\"b",probe_type="Startup",result="failed"} 1`))
	f.Add([]byte("prober_probe_total{}\nprober_probe_total{=\"\"} x"))
	f.Fuzz(func(t *testing.T, page []byte) {
		for of, c := range ReadCounters(page) {
			if c.Failures < 0 || c.Successes < 0 || c.Unknowns < 0 {
				t.Errorf("%+v: %+v", of, c)
			}
		}
	})
}
