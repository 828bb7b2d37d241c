package kubelet

import (
	"os"
	"path/filepath"
	"strings"
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

// TestEndpoint: the runtime's socket is where kubelet was told that it is.
func TestEndpoint(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"kubelet.yaml":         "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: unix:///run/own/own.sock\n",
		"bare.yaml":            "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: /run/bare.sock\n",
		"silent.yaml":          "kind: KubeletConfiguration\n",
		"over/10-first.conf":   "containerRuntimeEndpoint: unix:///run/first.sock\n",
		"over/20-other.conf":   "logging: {verbosity: 3}\npodLogsDir: /srv/logs\n",
		"over/30-last.conf":    "containerRuntimeEndpoint: unix:///run/last.sock\n",
		"over/40-ignored.yaml": "containerRuntimeEndpoint: unix:///run/ignored.sock\n",
		"large.yaml":           "containerRuntimeEndpoint: unix:///run/large.sock\n#" + strings.Repeat("x", largest),
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"kubelet"}, ""},
		{[]string{"kubelet", "--config=/kubelet.yaml"}, "unix:///run/own/own.sock"},
		{[]string{"kubelet", "--config=/bare.yaml"}, "unix:///run/bare.sock"},
		{[]string{"kubelet", "--config=/silent.yaml"}, ""},
		{[]string{"kubelet", "--config=/large.yaml"}, ""},
		{[]string{"kubelet", "--config=/none.yaml", "--container-runtime-endpoint", "unix:///run/crio/crio.sock"}, "unix:///run/crio/crio.sock"},
		{[]string{"kubelet", "--config=/kubelet.yaml", "--container-runtime-endpoint=/run/flag.sock"}, "unix:///run/flag.sock"},
		{[]string{"kubelet", "--config=/kubelet.yaml", "--config-dir=/over"}, "unix:///run/last.sock"},
		{[]string{"k0s", "worker", "--cri-socket=remote:unix:///run/k0s.sock"}, "unix:///run/k0s.sock"},
		{[]string{"kubelet", "--container-runtime-endpoint=npipe:////./pipe/containerd"}, ""},
	} {
		if got := (Process{Root: root, Args: c.args}).Endpoint(); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
	over := Process{Root: root, Args: []string{"kubelet", "--config=/kubelet.yaml", "--config-dir=/over"}}
	if dir := over.PodLogs(); dir != "/srv/logs" {
		t.Errorf("logs of pods in %s", dir)
	}
	if dir := (Process{Root: root, Args: []string{"kubelet"}}).PodLogs(); dir != "/var/log/pods" {
		t.Errorf("logs of pods in %s", dir)
	}
	if level, ok := over.configured(); level != 3 || !ok {
		t.Errorf("a drop-in's verbosity: %d %v", level, ok)
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
