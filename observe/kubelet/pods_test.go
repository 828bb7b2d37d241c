package kubelet

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Only kubelet itself is believed: root, the process that was found, outside of pods.
func TestDialPods(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("kubelet is root")
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "kubelet", "pods-api"), 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(root, "kubelet", "pods-api", "pods-api.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for link, target := range map[string]string{"moved": "/kubelet", "outside": filepath.Join(root, "kubelet")} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	own := os.Getpid()
	for name, c := range map[string]struct {
		p  Process
		ok bool
	}{
		"kubelet":                 {Process{PID: own, Args: []string{"kubelet", "--root-dir=/kubelet/"}}, true},
		"a link in its root":      {Process{PID: own, Args: []string{"kubelet", "--root-dir=/moved"}}, true},
		"a link out of its root":  {Process{PID: own, Args: []string{"kubelet", "--root-dir=/outside"}}, false},
		"another process listens": {Process{PID: own + 1, Args: []string{"kubelet", "--root-dir=/kubelet"}}, false},
		"in a pod":                {Process{PID: own, InPod: true, Args: []string{"kubelet", "--root-dir=/kubelet"}}, false},
		"relative":                {Process{PID: own, Args: []string{"kubelet", "--root-dir=kubelet"}}, false},
		"not clean":               {Process{PID: own, Args: []string{"kubelet", "--root-dir=/x/../kubelet"}}, false},
		"none":                    {Process{PID: own, Args: []string{"kubelet", "--root-dir=/none"}}, false},
	} {
		c.p.Root = root
		conn, err := c.p.DialPods(t.Context())
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = conn.Close() // nothing was sent
		}
	}
	if peer, err := peerOf(dial(t, socket)); err != nil || peer.Uid != 0 || int(peer.Pid) != own {
		t.Errorf("%+v %v", peer, err)
	}
}

func dial(t *testing.T, socket string) *net.UnixConn {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // nothing was sent
	return conn
}

func TestPodCgroup(t *testing.T) {
	for groups, want := range map[string]bool{
		"0::/system.slice/kubelet.service\n":                                                                     false,
		"0::/../../../../system.slice/k3s.service\n":                                                             false,
		"0::/kubepods/besteffort/pod3c9ec2b3-0b8e-4e53-a4b4-2ad9b2cbd5b5/c\n":                                    true,
		"0::/kubepods.slice/kubepods-pod3c9ec2b3_0b8e_4e53_a4b4_2ad9b2cbd5b5.slice/c.scope\n":                    true,
		"0::/../../kubepods-burstable-pod3c9ec2b3_0b8e_4e53_a4b4_2ad9b2cbd5b5.slice/c.scope":                     true,
		"0::/../../../besteffort/pod3c9ec2b3-0b8e-4e53-a4b4-2ad9b2cbd5b5/c\n":                                    true,
		"12:cpu:/system.slice/x.service\n1:name=systemd:/kubelet/kubepods/podd41d8cd98f00b204e9800998ecf8427e\n": true,
		"0::/podman/x\n": false,
	} {
		if got := podCgroup.MatchString(groups); got != want {
			t.Errorf("%q: %t", groups, got)
		}
	}
}
