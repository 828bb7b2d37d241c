package kubelet

import "testing"

func TestUnitOf(t *testing.T) {
	for groups, want := range map[string]string{
		"0::/system.slice/kubelet.service\n":                                                "kubelet.service",
		"12:cpu:/x\n1:name=systemd:/system.slice/k3s.service\n0::/system.slice/k3s.service": "k3s.service",
		"0::/kubepods/besteffort/podu/c\n":                                                  "",
	} {
		if got := unitOf(groups); got != want {
			t.Errorf("%q: %q, want %q", groups, got, want)
		}
	}
}
