package runtime

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A pod's container is started, killed with its shim's knowledge, reached over
// the pod network and over a host port; then containerd dies and comes back, and
// nothing is left after the purge.
func TestPodsOutliveContainerdAndPurgeLeavesNothing(t *testing.T) {
	needRuntime(t)
	dir := dataDir(t)
	c := testConfig(dir)
	before := listing(t, c)
	var events []Event
	c.OnEvent = func(e Event) { events = append(events, e) }
	r, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadImage(t.Context(), r.Endpoint(), boxArchive(t, "box.tar.gz"), ""); err != nil {
		t.Fatal(err)
	}
	s := connect(t, r.Endpoint())
	web := runPod(t, s, c, "web", []*cri.PortMapping{{Protocol: cri.Protocol_TCP, ContainerPort: 80, HostPort: 8087}},
		"/bin/busybox", "httpd", "-f", "-p", "80", "-h", "/www")
	gateway := Gateway(c.PodCIDR).String()
	for _, url := range []string{"http://" + web.ip + "/", "http://" + gateway + ":8087/"} {
		eventually(t, url+" answers", func() bool { return get(url) == "ok" })
	}

	first := r.PID()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := get("http://" + web.ip + "/"); got != "ok" {
		t.Errorf("while containerd is dead the pod answers %q", got)
	}
	eventually(t, "containerd is started again", func() bool { pid := r.PID(); return pid != 0 && pid != first })
	if state, _ := containerState(t.Context(), s, web.container); state != cri.ContainerState_CONTAINER_RUNNING {
		t.Errorf("after containerd's return the container is %v", state)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := get("http://" + web.ip + "/"); got != "ok" {
		t.Errorf("after Stop the pod answers %q", got)
	}
	during := listing(t, c)
	for _, what := range []string{"processes", "mounts", "files and cgroups", "network interfaces", "nftables rules"} {
		if len(newLines(before[what], during[what])) == 0 {
			t.Errorf("no %s are seen while the pod runs, so their absence would show nothing", what)
		}
	}
	if err := Purge(t.Context(), testConfig(dir)); err != nil {
		t.Fatal(err)
	}
	for what, lines := range listing(t, c) {
		if left := newLines(before[what], lines); len(left) > 0 {
			t.Errorf("%s left behind:\n%s", what, strings.Join(left, "\n"))
		}
	}
	kinds := fmt.Sprint(events[0].Kind, events[1].Kind, events[2].Kind)
	if kinds != fmt.Sprint(Started, Exited, Started) {
		t.Errorf("events: %v", events)
	}
}

// The agent is killed with SIGKILL; the next one adopts containerd and finds the
// container running. A changed configuration replaces containerd, and the
// container still runs.
func TestAgentKilledAndAdopted(t *testing.T) {
	needRuntime(t)
	dir := dataDir(t)
	c := testConfig(dir)
	agent, pid := startAgent(t, dir)
	if _, err := LoadImage(t.Context(), Endpoint(dir), boxArchive(t, "box.tar"), ""); err != nil {
		t.Fatal(err)
	}
	s := connect(t, Endpoint(dir))
	p := runPod(t, s, c, "sleeper", nil, "/bin/sh", "-c", "trap 'exit 7' TERM; while :; do sleep 0.1; done")
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()

	var events []Event
	c.OnEvent = func(e Event) { events = append(events, e) }
	r, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 1 || events[0].Kind != Adopted || events[0].PID != pid {
		t.Errorf("events %v, want the adoption of %d", events, pid)
	}
	if state, _ := containerState(t.Context(), s, p.container); state != cri.ContainerState_CONTAINER_RUNNING {
		t.Errorf("after the adoption the container is %v", state)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	_, pid = startAgent(t, dir)
	events = nil
	if err := os.WriteFile(c.paths().config, []byte("# of an older version\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err = Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 2 || events[0].Kind != Replaced || events[0].PID != pid || events[1].Kind != Started {
		t.Errorf("events %v, want the replacement of %d", events, pid)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_, err = s.runtime.StopContainer(context.Background(), &cri.StopContainerRequest{ContainerId: p.container, Timeout: 5})
	}()
	<-stopped
	if err != nil {
		t.Fatal(err)
	}
	if state, code := containerState(t.Context(), s, p.container); state != cri.ContainerState_CONTAINER_EXITED || code != 7 {
		t.Errorf("the container is %v with code %d, want exited with 7", state, code)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Pods come and go at once, faster than their shims could start and end for each,
// and none is lost to a shim that ends because another pod left it. Then pods are
// taken away from outside, and by the death of their shim.
func TestPodsComeAndGoInSharedShims(t *testing.T) {
	needRuntime(t)
	dir := dataDir(t)
	c := testConfig(dir)
	r, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadImage(t.Context(), r.Endpoint(), boxArchive(t, "box.tar"), ""); err != nil {
		t.Fatal(err)
	}
	s := connect(t, r.Endpoint())
	const rounds, atOnce = 12, 4
	each(rounds, atOnce, func(i int) {
		p, err := startPod(t.Context(), s, c, fmt.Sprintf("p%d", i), nil, "/bin/busybox", "sleep", "3600")
		if err != nil {
			t.Error(err)
			return
		}
		if state, _ := containerState(t.Context(), s, p.container); state != cri.ContainerState_CONTAINER_RUNNING {
			t.Errorf("pod %d is %v", i, state)
		}
		if _, err := s.runtime.StopPodSandbox(t.Context(), &cri.StopPodSandboxRequest{PodSandboxId: p.sandbox}); err != nil {
			t.Error(err)
		}
		if _, err := s.runtime.RemovePodSandbox(t.Context(), &cri.RemovePodSandboxRequest{PodSandboxId: p.sandbox}); err != nil {
			t.Error(err)
		}
	})

	if left := leftOfContainers(t, c); len(left) > 0 {
		t.Errorf("the pods are gone, and there is still:\n%s", strings.Join(left, "\n"))
	}

	// Taking a node's pods out of a runtime leaves those of others.
	runPod(t, s, c, "ours", nil, "/bin/busybox", "sleep", "3600")
	if left := leftOfContainers(t, c); len(left) < 4 {
		t.Errorf("a pod runs, and all that is seen of it is %q, so that the absence of others shows little", left)
	}
	if n, err := RemovePods(t.Context(), r.Endpoint(), "/somebody/else"); n != 0 || err != nil {
		t.Errorf("%d pods of somebody else removed, error %v", n, err)
	}
	if n, err := RemovePods(t.Context(), r.Endpoint(), filepath.Join(dir, "podlogs")); n != 1 || err != nil {
		t.Errorf("%d of our pods removed, error %v; want 1", n, err)
	}

	// When a shim dies, its pods end, and are seen to; the next pod finds a new one.
	p := runPod(t, s, c, "victim", nil, "/bin/busybox", "sleep", "3600")
	shims, err := findProcesses(c.isShim)
	if err != nil || len(shims) == 0 || len(shims) > 4 {
		t.Fatalf("shims %v, error %v; want one to four", shims, err)
	}
	for _, pid := range shims {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the container of a dead shim has ended", func() bool {
		state, _ := containerState(t.Context(), s, p.container)
		return state == cri.ContainerState_CONTAINER_EXITED
	})
	runPod(t, s, c, "next", nil, "/bin/busybox", "sleep", "3600")
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// leftOfContainers is what runc makes for a container and removes with it: its
// state, its cgroups, its mounts and its processes.
func leftOfContainers(t *testing.T, c Config) []string {
	t.Helper()
	p := c.paths()
	patterns := []string{filepath.Join(p.state, "runc", "*", "*")}
	cgroups, err := cgroupMounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range cgroups {
		patterns = append(patterns, filepath.Join(m, c.CgroupRoot, "*", strings.Repeat("[0-9a-f]", 64)))
	}
	left, err := mountPoints(func(point string) bool { return strings.HasPrefix(point, p.state+"/") })
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, found...)
	}
	pids, err := containerProcesses(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		left = append(left, fmt.Sprint("process ", pid, commandLine(pid)))
	}
	return left
}

// startAgent starts an agent process and returns it with its containerd's pid.
func startAgent(t *testing.T, dir string) (*exec.Cmd, int) {
	t.Helper()
	agent := exec.Command(os.Args[0], agentSubcommand, dir)
	agent.Env = append(os.Environ(), inNamespace+"=1")
	agent.Stderr = os.Stderr
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("the agent did not become ready:", err)
	}
	var pid int
	if _, err := fmt.Sscanf(line, "ready %d", &pid); err != nil {
		t.Fatalf("the agent says %q: %v", line, err)
	}
	return agent, pid
}

// get is the body behind url, empty when there is none within a second.
func get(url string) string {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

// listing is all that a node with this configuration could leave on the machine,
// by sort. Other nodes may come and go meanwhile: what bears the name of another
// is not listed, and interfaces and rules are those of the test's own namespace.
func listing(t *testing.T, c Config) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		all["network interfaces"] = append(all["network interfaces"], l.Attrs().Name)
	}
	all["mounts"], err = mountPoints(func(point string) bool { return strings.HasPrefix(point, c.DataDir) })
	if err != nil {
		t.Fatal(err)
	}
	rules, err := exec.Command("nft", "list", "ruleset").Output()
	if err != nil {
		t.Fatal(err)
	}
	all["nftables rules"] = strings.Split(string(rules), "\n")
	named, err := findProcesses(func(args []string) bool { return strings.Contains(strings.Join(args, " "), c.DataDir) })
	if err != nil {
		t.Fatal(err)
	}
	contained, err := containerProcesses(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range append(named, contained...) {
		all["processes"] = append(all["processes"], fmt.Sprint(pid, commandLine(pid)))
	}
	mounts, err := cgroupMounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range append(mounts, cniResults, "/run", "/opt", "/etc/cni") {
		matches, err := filepath.Glob(filepath.Join(m, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range matches {
			if !strings.HasPrefix(filepath.Base(path), "whylet") || strings.Contains(path, ID(c.DataDir)) {
				all["files and cgroups"] = append(all["files and cgroups"], path)
			}
		}
	}
	return all
}

// newLines are the lines of after that were not there before.
func newLines(before, after []string) []string {
	old := map[string]bool{}
	for _, l := range before {
		old[l] = true
	}
	var added []string
	for _, l := range after {
		if !old[l] {
			added = append(added, l)
		}
	}
	return added
}
