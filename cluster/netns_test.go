package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// insideEnv tells a test that it already runs in the network namespace made for it.
const (
	insideEnv = "WHYLET_CLUSTER_TEST_NETNS"
	podNSEnv  = "WHYLET_CLUSTER_TEST_POD_NETNS"
)

const (
	testNodeIP = "10.77.0.1"
	testPodIP  = "10.42.0.5"
)

// inNetns runs the calling test again inside a fresh network namespace that has a
// node address and one pod behind a veth pair, and reports true when it did. In
// the inner run it reports false, and the test goes on.
func inNetns(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideEnv) != "" {
		return false
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	for _, tool := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s: %v", tool, err)
		}
	}
	node, pod := fmt.Sprintf("whylet-cp-%d", os.Getpid()), fmt.Sprintf("whylet-cp-pod-%d", os.Getpid())
	for _, ns := range []string{node, pod} {
		ip(t, "netns add "+ns)
		t.Cleanup(func() { ip(t, "netns del "+ns) })
		ip(t, "-n "+ns+" link set lo up")
	}
	ip(t, "-n "+node+" link add uplink type bridge")
	ip(t, "-n "+node+" addr add "+testNodeIP+"/24 dev uplink")
	ip(t, "-n "+node+" link set uplink up")
	ip(t, "-n "+node+" link add pod type veth peer name eth0 netns "+pod)
	ip(t, "-n "+node+" addr add 10.42.0.1/24 dev pod")
	ip(t, "-n "+node+" link set pod up")
	ip(t, "-n "+pod+" addr add "+testPodIP+"/24 dev eth0")
	ip(t, "-n "+pod+" link set eth0 up")
	ip(t, "-n "+pod+" route add default via 10.42.0.1")

	inner := exec.Command("ip", "netns", "exec", node, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=120s")
	inner.Env = append(os.Environ(), insideEnv+"="+node, podNSEnv+"="+pod)
	out, err := inner.CombinedOutput()
	t.Logf("in network namespace %s:\n%s", node, out)
	if err != nil {
		t.Errorf("inner run: %v", err)
	}
	return true
}

// inPod runs a command in the pod's network namespace.
func inPod(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.Command("ip", append([]string{"netns", "exec", os.Getenv(podNSEnv), name}, args...)...)
}

func ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}
