package main

import (
	"math"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What goes wrong in the first minutes is named, and the mend is for the case at hand.
func TestFirstMinutes(t *testing.T) {
	api := port{"127.0.0.1:6443", "whylet up --api-port chooses another"}
	wsl := kernelView{release: "5.15.167.4-microsoft-standard-WSL2"}
	disk := func(kind int64, files, free uint64) finding {
		list := judgeFileSystem(kind, files, free, "/data")
		if len(list) == 0 {
			return finding{Name: "file system", Verdict: found}
		}
		return list[0]
	}
	for _, c := range []struct {
		name    string
		got     finding
		verdict verdict
		says    []string // of detail and fix
		never   string
	}{
		{"port of nobody that can be seen", judgePort(api, "6443", 0, ""), missing, []string{"ss -ltnp 'sport = :6443'", "--api-port"}, "Kubernetes"},
		{"port of a web server", judgePort(api, "6443", 7, "nginx"), missing, []string{"process 7 (nginx)", "stop that process", "--api-port"}, "Kubernetes"},
		{"port of k3s", judgePort(api, "6443", 7, "k3s-server"), missing, []string{"process 7 (k3s-server)", "stop that Kubernetes", "ip netns add"}, "ss -ltnp"},
		{"port of another Whylet", judgePort(api, "6443", 7, "whylet"), missing, []string{"whylet down", "ip netns add"}, "kill"},

		{"memory", judgeMemory(4<<30, math.MaxUint64), found, []string{"4.0 GiB available"}, "swap"},
		{"little memory", judgeMemory(500<<20, math.MaxUint64), degraded, []string{"500 MiB", "swapon"}, "docker"},
		{"no memory", judgeMemory(100<<20, math.MaxUint64), missing, []string{"100 MiB", "swapon"}, "docker"},
		{"a container's limit", judgeMemory(8<<30, 128<<20), missing, []string{"128 MiB", "docker: --memory"}, "swapon"},

		{"ext4", disk(unix.EXT4_SUPER_MAGIC, 1e6, 9e5), found, nil, "choose"},
		{"btrfs says no number of files", disk(unix.BTRFS_SUPER_MAGIC, 0, 0), found, nil, "choose"},
		{"in memory", disk(unix.TMPFS_MAGIC, 1e6, 9e5), degraded, []string{"in memory", "--data-dir"}, "docker"},
		{"a container's layer", disk(unix.OVERLAYFS_SUPER_MAGIC, 1e6, 9e5), degraded, []string{"docker: -v whylet:/data"}, "memory"},
		{"a folder of Windows", disk(unix.V9FS_MAGIC, 0, 0), degraded, []string{"shared", "ext4"}, "memory"},
		{"no more files", disk(unix.EXT4_SUPER_MAGIC, 1e6, 12), missing, []string{"12 more files", "du --inodes"}, "memory"},

		{"a module on Debian", finding{Verdict: missing, Fix: kernelView{release: "6.1.0", modules: true}.load("veth")}, missing, []string{"modprobe -a veth", "modules-load.d"}, "wsl"},
		{"a module under WSL", finding{Verdict: missing, Fix: wsl.load("br_netfilter")}, missing, []string{"wsl --update", wsl.release}, "modprobe"},
		{"a module in a container", finding{Verdict: missing, Fix: kernelView{release: "6.1.0", container: "/.dockerenv"}.load("overlay")}, missing, []string{"outside of the container"}, "modules-load.d"},
		{"a kernel without modules", finding{Verdict: missing, Fix: kernelView{release: "6.1.0"}.load("veth", "bridge")}, missing, []string{"a kernel that has veth, bridge"}, "modprobe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.got.Detail + " mend: " + c.got.Fix
			if c.got.Verdict != c.verdict || strings.Contains(text, c.never) || c.verdict != found && c.got.Fix == "" {
				t.Errorf("%s: %s", c.got.Verdict, text)
			}
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in %s", want, text)
				}
			}
		})
	}
}

// A proxy is left out of what is the node's own, and what the user exempts stays.
func TestExemptFromProxy(t *testing.T) {
	own := ownAddresses("up", settings{PodCIDR: "10.42.0.0/16"}, netip.MustParseAddr("192.0.2.7"))
	got := exempt(" corp.example, 127.0.0.0/8,", own)
	const want = "corp.example,127.0.0.0/8,localhost,192.0.2.7,10.42.0.0/16,10.43.0.0/16,198.19.254.53,.svc,.cluster.local"
	if got != want {
		t.Errorf("NO_PROXY is %s, want %s", got, want)
	}
	if again := exempt(got, own); again != want {
		t.Errorf("the second time it is %s", again)
	}
	// What is behind a cluster's API server elsewhere may well be behind the proxy.
	if joined := exempt("", ownAddresses("node", settings{PodCIDR: "10.44.0.0/16"}, netip.Addr{})); joined != "localhost,127.0.0.0/8,10.44.0.0/16" {
		t.Errorf("of a node that joins: %s", joined)
	}
	env := map[string]string{"https_proxy": "http://p:3128", "no_proxy": "x"}
	if variable, address := proxyOf(func(v string) string { return env[v] }); variable != "https_proxy" || address != "http://p:3128" {
		t.Errorf("proxy %s=%s", variable, address)
	}
	if list := noProxy(func(v string) string { return env[v] }); list != "x" {
		t.Errorf("exempt before: %s", list)
	}
}
