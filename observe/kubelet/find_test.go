package kubelet

import (
	"os"
	"path/filepath"
	"testing"
)

// Its log says as much as its flag or, without one, its configuration says.
func TestVerbosity(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "kubelet.yaml"), []byte("kind: KubeletConfiguration\nlogging: {verbosity: 2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		level int
		ok    bool
	}{
		{[]string{"kubelet"}, 0, false},
		{[]string{"kubelet", "--config=/kubelet.yaml"}, 2, true},
		{[]string{"kubelet", "--config", "/kubelet.yaml", "-v", "4"}, 0, false},
		{[]string{"kubelet", "--config=/none.yaml"}, 0, false},
	} {
		if level, ok := (Process{Root: root, Args: c.args}).configured(); level != c.level || ok != c.ok {
			t.Errorf("%v: %d %v", c.args, level, ok)
		}
	}
	if level := verbosity([]string{"kubelet", "-v", "4"}); level != 4 {
		t.Error(level)
	}
}

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
