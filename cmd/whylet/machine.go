package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"whylet.dev/whylet/cluster"
	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/exit"
)

// verdict is how one thing that the node needs was found.
type verdict string

const (
	found    verdict = "ok"
	degraded verdict = "degraded" // the node runs without it, but worse
	missing  verdict = "missing"  // the node cannot run
)

// finding is the result of one check.
type finding struct {
	Name    string  `json:"name"`
	Verdict verdict `json:"verdict"`
	// Detail says what was found, or what is worse without it.
	Detail string `json:"detail,omitempty"`
	// Fix is the command that mends it; empty where no command does.
	Fix string `json:"fix,omitempty"`
}

// need is what a node on this machine would use.
type need struct {
	dataDir  string
	settings settings
	// running: what it needs of ports and memory it has.
	running bool
	// listen has to be free where it does not run.
	listen []port
	// ownRuntime: containerd is ours, so its helper programs must be there.
	ownRuntime bool
}

// port is where a node listens: host:port, and the command that moves it elsewhere.
type port struct{ address, move string }

// beside looks at what a node that is to start finds taken; nothing where it runs.
func (n need) beside() []finding {
	if n.running {
		return nil
	}
	return slices.Concat(checkMemory(), checkPorts(n.listen), checkOthers())
}

// examine makes all checks, in the order in which they are shown.
func examine(n need) []finding {
	checks := []func() []finding{
		checkRoot,
		checkPlace,
		func() []finding { return []finding{checkNFT(n.dataDir)} },
		func() []finding { return checkHelpers(n) },
		func() []finding { return checkHosts(hostsFile) },
		checkNetwork,
		checkForwarding,
		checkCgroups,
		func() []finding { return checkStorage(n.dataDir, n.settings) },
		func() []finding { return n.beside() },
		checkProxy,
		checkEvidence,
	}
	results := make([][]finding, len(checks))
	var wg sync.WaitGroup
	for i, check := range checks {
		wg.Go(func() { results[i] = check() })
	}
	wg.Wait()
	return slices.Concat(results...)
}

func checkRoot() []finding {
	if os.Geteuid() != 0 {
		return []finding{{"root", missing, "containers, cgroups and the network need root", "sudo whylet up"}}
	}
	return []finding{{Name: "root", Verdict: found}}
}

// checkNFT looks for the program by which kube-proxy and the CNI plugin write their rules.
func checkNFT(dataDir string) finding {
	f := finding{Name: "program nft", Verdict: found}
	path, within, err := runtime.FindNFT(dataDir)
	switch {
	case err != nil:
		f.Verdict, f.Detail, f.Fix = missing, "not in PATH", "apt-get install -y nftables"
	case within:
		f.Detail = "within whylet"
	default:
		f.Detail = path
	}
	return f
}

func checkHelpers(n need) []finding {
	if !n.ownRuntime {
		return nil
	}
	f := finding{Name: "helper programs", Verdict: found, Detail: "runc, shim, pause and CNI plugin in libexec"}
	absent, err := runtime.MissingHelpers("")
	switch {
	case err != nil:
		f.Verdict, f.Detail = missing, err.Error()
	case len(absent) > 0:
		f.Verdict, f.Detail, f.Fix = missing, strings.Join(absent, ", "), "make build"
	}
	return []finding{f}
}

// hostsFile is where resolvers look for it, and runtimes.
const hostsFile = "/etc/hosts"

// checkHosts looks for the file that containerd and CRI-O copy for pods on the node's
// network: containerd starts no pod at all without it, and debootstrap writes none.
func checkHosts(file string) []finding {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return []finding{{Name: "hosts file", Verdict: found, Detail: "whylet up writes " + file}}
	} else if err != nil {
		return []finding{{"hosts file", missing, err.Error(), "ls -ld " + file}}
	}
	return nil
}

// ensureTemp makes the folder for temporary files, which a root with nothing but whylet lacks.
func ensureTemp(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	return errors.Join(os.MkdirAll(dir, 0o777), os.Chmod(dir, 0o777|os.ModeSticky))
}

// ensureHosts writes a machine's hosts file where there is none.
func ensureHosts(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pods on the node's network need a hosts file: %w", err)
	}
	_, err = f.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	return errors.Join(err, f.Close())
}

// checkNetwork tries in a network namespace of its own, which ends with it, what
// pods need of the kernel: a namespace, a bridge, a veth pair, and nftables
// with NAT and the fib expression that kube-proxy uses.
func checkNetwork() []finding {
	if os.Geteuid() != 0 {
		return []finding{{"kernel network features", missing, "can only be tried as root", "sudo whylet doctor"}}
	}
	var list []finding
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread keeps the namespace and is thrown away with the goroutine.
		list = tryNetwork()
	}()
	<-done
	return list
}

func tryNetwork() []finding {
	lockThread()
	f := finding{Name: "network namespaces", Verdict: found}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		f.Verdict, f.Detail = missing, err.Error()
		f.Fix = "run on a kernel with CONFIG_NET_NS, or in a container with CAP_SYS_ADMIN"
		return []finding{f}
	}
	list := []finding{f}
	attrs := func(name string) netlink.LinkAttrs {
		a := netlink.NewLinkAttrs()
		a.Name = name
		return a
	}
	for _, l := range []struct {
		what, module string
		link         netlink.Link
	}{
		{"bridge", "bridge", &netlink.Bridge{LinkAttrs: attrs("b0")}},
		{"veth pair", "veth", &netlink.Veth{LinkAttrs: attrs("v0"), PeerName: "v1"}},
	} {
		f := finding{Name: l.what, Verdict: found}
		if err := netlink.LinkAdd(l.link); err != nil {
			f.Verdict, f.Detail, f.Fix = missing, err.Error(), lookAtKernel().load(l.module)
		}
		list = append(list, f)
	}
	return append(list, tryNFTables())
}

// checkForwarding looks at the two switches that up turns on.
func checkForwarding() []finding {
	forward := finding{Name: "net.ipv4.ip_forward", Verdict: found, Detail: "whylet up turns it on"}
	if _, err := os.Stat("/proc/sys/net/ipv4/ip_forward"); err != nil {
		forward.Verdict, forward.Detail = missing, err.Error()
	}
	bridge := finding{Name: "bridge-nf-call-iptables", Verdict: found, Detail: "whylet up turns it on"}
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil {
		bridge.Verdict = degraded
		bridge.Detail = "a pod cannot reach a Service whose endpoint is another pod of this node"
		bridge.Fix = lookAtKernel().load("br_netfilter")
	}
	return []finding{forward, bridge}
}

func checkStorage(dataDir string, set settings) []finding {
	dir := existingParent(dataDir)
	space := checkSpace(dataDir)
	overlay := finding{Name: "overlayfs", Verdict: found}
	if os.Geteuid() != 0 {
		overlay.Verdict, overlay.Detail = degraded, "can only be tried as root"
	} else if err := runtime.OverlayWorks(dir); err != nil {
		overlay.Verdict = degraded
		overlay.Detail = fmt.Sprintf("images are copied for each container: %v", err)
		overlay.Fix = lookAtKernel().load("overlay") + "; or choose a --data-dir on ext4 or xfs"
	}
	list := []finding{space, overlay}
	if note := tooFullNote(dir, set); note != "" {
		list = append(list, finding{Name: "room before evictions", Verdict: degraded, Detail: note, Fix: otherThresholds})
	}
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) == nil {
		list = append(list, judgeFileSystem(int64(fs.Type), fs.Files, fs.Ffree, dir)...)
	}
	return list
}

// checkEvidence looks at what makes answers better and is never required.
func checkEvidence() []finding {
	oom := finding{Name: "CAP_SYS_RESOURCE", Verdict: found}
	if lower, err := runtime.CanLowerOOMScore(); err != nil || !lower {
		oom.Verdict = degraded
		oom.Detail = "no container can get an oom_score_adj below the agent's own, which would protect it from the OOM killer"
		oom.Fix = "start whylet with the capability (docker: --cap-add SYS_RESOURCE)"
	}
	list := []finding{oom}
	for _, e := range []struct{ name, path, without, fix string }{
		{"kernel log", "/dev/kmsg", "which process the OOM killer chose is not known", "mknod -m 600 /dev/kmsg c 1 11"},
		{"pressure stall information", "/proc/pressure/memory", "pressure is not recorded", "boot with psi=1"},
	} {
		f := finding{Name: e.name, Verdict: found}
		if file, err := os.Open(e.path); err != nil {
			f.Verdict, f.Detail, f.Fix = degraded, e.without, e.fix
		} else {
			file.Close()
		}
		list = append(list, f)
	}
	return append(list, checkConnector(), checkSignals())
}

// checkConnector tries whether the kernel tells how processes end.
func checkConnector() finding {
	f := finding{Name: "process connector", Verdict: found}
	c, err := evidence.OpenConnector(func(evidence.ProcessEvent) {}, func() {})
	if err != nil {
		f.Verdict = degraded
		f.Detail = fmt.Sprintf("SIGKILL and exit code 137 look the same, and the ends of child processes are not seen (%v)", err)
		f.Fix = "use a kernel with CONFIG_PROC_EVENTS, outside of a container"
		return f
	}
	_ = c.Close()
	return f
}

// checkSignals tries whether the kernel tells who sends signals.
func checkSignals() finding {
	f := finding{Name: "tracing of signals", Verdict: found}
	s, err := evidence.OpenSignals(func(evidence.Signal) {}, func(int64) {})
	if err != nil {
		f.Verdict = degraded
		f.Detail = fmt.Sprintf("who sent a container a signal is not known (%v)", err)
		f.Fix = "use a kernel with tracefs, outside of a container"
		return f
	}
	if err := s.Close(); err != nil {
		f.Verdict, f.Detail = degraded, err.Error()
	}
	return f
}

// checkMachine stops the start when something is missing.
func (s *stack) checkMachine() error {
	var errs []error
	for _, f := range examine(s.need()) {
		if f.Verdict != missing {
			continue
		}
		err := fmt.Errorf("%s: %s", f.Name, f.Detail)
		if f.Fix != "" {
			err = fmt.Errorf("%w\n       fix: %s", err, f.Fix)
		}
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return exit.With(exit.Machine, errors.Join(errs...))
	}
	return nil
}

// need is what this node uses of the machine.
func (s *stack) need() need {
	n := need{dataDir: s.dataDir, settings: s.instance.Settings, ownRuntime: s.instance.Settings.RuntimeEndpoint == ""}
	ip := cluster.DefaultHostAddress
	if address, ok, err := defaultRouteAddress(); err == nil && ok {
		ip = address.String()
	}
	command := "whylet " + s.instance.Command
	n.listen = append(n.listen, port{
		net.JoinHostPort(ip, strconv.Itoa(s.instance.Settings.nodeAPIPort())), command + " --node-api-port chooses another for the node's HTTPS API",
	})
	if s.instance.Command == "up" {
		address, number := s.instance.Settings.APIAddress, s.instance.Settings.APIPort
		if address == "" {
			address = cluster.DefaultAPIAddress
		}
		if number == 0 {
			number = cluster.DefaultAPIPort
		}
		if _, err := netip.ParseAddr(address); err == nil {
			n.listen = append(n.listen, port{net.JoinHostPort(address, strconv.Itoa(number)), command + " --api-port chooses another for the API server"})
		}
	}
	return n
}
