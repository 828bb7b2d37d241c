package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/vishvananda/netlink"
)

const testBridge = "podnet-t0"

// cluster is a network on which tests attach pods through the CNI library, which
// starts this test binary as the plugin.
type cluster struct {
	*libcni.CNIConfig
	list *libcni.NetworkConfigList
	dir  string
}

func newCluster(t *testing.T, subnet string) *cluster {
	t.Helper()
	needRoot(t)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "podnet")); err != nil {
		t.Fatal(err)
	}
	list, err := libcni.ConfListFromBytes(fmt.Appendf(nil, `{"cniVersion": "1.1.0", "name": "testnet", "plugins": [%s]}`, config(dir, subnet)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if link, err := netlink.LinkByName(testBridge); err == nil {
			_ = netlink.LinkDel(link)
		}
	})
	return &cluster{libcni.NewCNIConfigWithCacheDir([]string{dir}, filepath.Join(dir, "cache"), nil), list, dir}
}

func config(dir, subnet string) string {
	return fmt.Sprintf(`{"type": "podnet", "bridge": %q, "capabilities": {"portMappings": true}, "ipam": {
		"type": "host-local", "dataDir": %q, "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}}`,
		testBridge, filepath.Join(dir, "leases"), subnet)
}

// pod is one attachment.
type pod struct {
	rt *libcni.RuntimeConf
	ip net.IP
}

func attachment(netns, id string, ports ...portMapping) *libcni.RuntimeConf {
	return &libcni.RuntimeConf{
		ContainerID: id, NetNS: netns, IfName: "eth0",
		CapabilityArgs: map[string]any{"portMappings": ports},
	}
}

func (c *cluster) add(t *testing.T, id string, ports ...portMapping) pod {
	t.Helper()
	p := pod{rt: attachment(newNamespace(t), id, ports...)}
	answer, err := c.AddNetworkList(t.Context(), c.list, p.rt)
	if err != nil {
		t.Fatal(err)
	}
	result, err := current.NewResultFromResult(answer)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.IPs) != 1 || len(result.Interfaces) != 3 || result.Interfaces[*result.IPs[0].Interface].Sandbox != p.rt.NetNS {
		t.Fatalf("the result is %+v", result)
	}
	p.ip = result.IPs[0].Address.IP
	return p
}

func (c *cluster) leases(t *testing.T) map[types.GCAttachment]net.IP {
	t.Helper()
	n, err := parse(&skel.CmdArgs{StdinData: fmt.Appendf(nil, `{"name": "testnet", %s`, config(c.dir, "10.99.0.0/24")[1:])})
	if err != nil {
		t.Fatal(err)
	}
	leases, err := n.leases()
	if err != nil {
		t.Fatal(err)
	}
	return leases
}

// serve answers at port 80 of the pod with the address of who asks.
func (p pod) serve(t *testing.T) {
	t.Helper()
	var listener net.Listener
	inside(t, p.rt.NetNS, func() {
		var err error
		if listener, err = net.Listen("tcp4", ":80"); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, conn.RemoteAddr())
			conn.Close()
		}
	}()
}

// ask says as whom the caller is seen at an address; "" when nobody answers.
func ask(address string) string {
	conn, err := net.DialTimeout("tcp4", address, time.Minute)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	line, _ := bufio.NewReader(conn).ReadString('\n')
	host, _, _ := net.SplitHostPort(strings.TrimSpace(line))
	return host
}

// ask asks in the pod.
func (p pod) ask(t *testing.T, address string) (seenAs string) {
	t.Helper()
	inside(t, p.rt.NetNS, func() { seenAs = ask(address) })
	return seenAs
}

// rules is the rule set of the test's network namespace.
func rules(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("nft", "list", "ruleset").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func ports(t *testing.T) []string {
	t.Helper()
	on, err := netlink.LinkByName(testBridge)
	if err != nil {
		t.Fatal(err)
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range links {
		if l.Attrs().MasterIndex == on.Attrs().Index {
			names = append(names, l.Attrs().Name)
		}
	}
	return names
}

// The whole life of an attachment: two pods reach each other and the host, the
// checks see what is missing, and nothing is left.
func TestPodsReachEachOther(t *testing.T) {
	c := newCluster(t, "10.99.0.0/24")
	before := rules(t)
	if err := c.GetStatusNetworkList(t.Context(), c.list); err != nil {
		t.Error("status:", err)
	}
	a, b := c.add(t, "aaaa"), c.add(t, "bbbb")
	a.serve(t)
	if got := b.ask(t, a.ip.String()+":80"); got != b.ip.String() {
		t.Errorf("one pod is seen by the other as %q, want %s", got, b.ip)
	}
	if got := ask(a.ip.String() + ":80"); got != "10.99.0.1" {
		t.Errorf("the host is seen by a pod as %q", got)
	}
	inside(t, a.rt.NetNS, func() {
		routes, err := netlink.RouteGet(net.IPv4(192, 0, 2, 7))
		if err != nil || len(routes) != 1 || !routes[0].Gw.Equal(net.IPv4(10, 99, 0, 1)) {
			t.Errorf("the way out of a pod is %v, error %v", routes, err)
		}
	})
	if got := rules(t); got != before {
		t.Errorf("pods without host ports have rules:\n%s", got)
	}
	if err := c.CheckNetworkList(t.Context(), c.list, a.rt); err != nil {
		t.Error("check:", err)
	}
	inside(t, b.rt.NetNS, func() {
		eth0, err := netlink.LinkByName("eth0")
		if err == nil {
			err = netlink.LinkSetDown(eth0) // which takes its routes away
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err := c.CheckNetworkList(t.Context(), c.list, b.rt); err == nil {
		t.Error("a pod without a route passes the check")
	}
	for _, p := range []pod{a, b, a, b} { // twice, for whoever asks again
		if err := c.DelNetworkList(t.Context(), c.list, p.rt); err != nil {
			t.Error("del:", err)
		}
	}
	if left, leases := ports(t), c.leases(t); len(left) > 0 || len(leases) > 0 {
		t.Errorf("left behind: interfaces %v, leases %v", left, leases)
	}
}

// A host port leads to its pod from everywhere: the host's addresses, loopback,
// another pod, and the pod itself, which answers under the host's name.
func TestHostPorts(t *testing.T) {
	c := newCluster(t, "10.99.0.0/24")
	before := rules(t)
	web := c.add(t, "eeee",
		portMapping{HostPort: 8088, ContainerPort: 80, Protocol: "tcp"},
		portMapping{HostPort: 8089, ContainerPort: 80, Protocol: "tcp", HostIP: "127.0.0.1"},
		portMapping{HostPort: 8090, ContainerPort: 80, Protocol: "tcp", HostIP: "::1"},
		portMapping{HostPort: 8088, ContainerPort: 53, Protocol: "udp"})
	web.serve(t)
	other := c.add(t, "ffff", portMapping{HostPort: 8091, ContainerPort: 80, Protocol: "tcp"})
	for _, address := range []string{"127.0.0.1:8088", "10.99.0.1:8088", "127.0.0.1:8089"} {
		if ask(address) == "" {
			t.Errorf("from the host nobody answers at %s", address)
		}
	}
	for _, address := range []string{"10.99.0.1:8089", "127.0.0.1:8090", "127.0.0.1:80"} {
		if got := ask(address); got != "" {
			t.Errorf("somebody answers at %s and sees %s", address, got)
		}
	}
	if got := other.ask(t, "10.99.0.1:8088"); got != other.ip.String() {
		t.Errorf("another pod is seen as %q, want %s", got, other.ip)
	}
	if got := web.ask(t, "10.99.0.1:8088"); got != "10.99.0.1" {
		t.Errorf("the pod sees itself as %q, want the host", got)
	}
	for _, p := range []pod{web, other} {
		if err := c.CheckNetworkList(t.Context(), c.list, p.rt); err != nil {
			t.Error("check:", err)
		}
	}
	if err := closePorts("eeee"); err != nil {
		t.Fatal(err)
	}
	if err := c.CheckNetworkList(t.Context(), c.list, web.rt); err == nil {
		t.Error("a pod without its host ports passes the check")
	}
	for _, p := range []pod{web, other, other} {
		if err := c.DelNetworkList(t.Context(), c.list, p.rt); err != nil {
			t.Error("del:", err)
		}
	}
	for _, word := range []string{"eeee", "ffff", "dnat", "masquerade"} {
		if after := rules(t); before == "" && strings.Contains(after, word) {
			t.Errorf("%s is left in the rules:\n%s", word, after)
		}
	}
}

// Many pods at once get an address each, and when their node forgets them, all
// goes back.
func TestManyAtOnceAndGarbage(t *testing.T) {
	c := newCluster(t, "10.99.0.0/24")
	const pods = 8
	var all [pods]*libcni.RuntimeConf
	for i := range all {
		all[i] = attachment(newNamespace(t), fmt.Sprintf("pod%d", i), portMapping{HostPort: 9000 + i, ContainerPort: 80, Protocol: "tcp"})
	}
	each := func(do func(*libcni.RuntimeConf) error) {
		var group sync.WaitGroup
		for _, rt := range all {
			group.Go(func() {
				if err := do(rt); err != nil {
					t.Error(rt.ContainerID, err)
				}
			})
		}
		group.Wait()
	}
	each(func(rt *libcni.RuntimeConf) error {
		_, err := c.AddNetworkList(t.Context(), c.list, rt)
		return err
	})
	if got := len(c.leases(t)); got != pods {
		t.Fatalf("%d pods have %d addresses", pods, got)
	}
	each(func(rt *libcni.RuntimeConf) error { return c.CheckNetworkList(t.Context(), c.list, rt) })

	// The runtime's memory is lost, and it knows of one pod only.
	if err := os.RemoveAll(filepath.Join(c.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	kept := types.GCAttachment{ContainerID: all[3].ContainerID, IfName: "eth0"}
	if err := c.GCNetworkList(t.Context(), c.list, &libcni.GCArgs{ValidAttachments: []types.GCAttachment{kept}}); err != nil {
		t.Fatal("gc:", err)
	}
	if leases := c.leases(t); len(leases) != 1 || leases[kept] == nil {
		t.Errorf("after the collection there is %v, want the address of %v", leases, kept)
	}
	if after := rules(t); !strings.Contains(after, "pod3") || strings.Contains(after, "pod4") {
		t.Errorf("after the collection the rules are\n%s", after)
	}
	each(func(rt *libcni.RuntimeConf) error { return c.DelNetworkList(t.Context(), c.list, rt) })
	if left, leases := ports(t), c.leases(t); len(left) > 0 || len(leases) > 0 {
		t.Errorf("left behind: interfaces %v, leases %v", left, leases)
	}
}

// What fails leaves nothing, and says why: no address left, no namespace, a
// bridge that is none. What is gone already is deleted without complaint.
func TestFailures(t *testing.T) {
	c := newCluster(t, "10.99.0.0/30") // room for one pod
	only := c.add(t, "aaaa")
	if err := c.GetStatusNetworkList(t.Context(), c.list); err == nil || !strings.Contains(err.Error(), "taken") {
		t.Errorf("with no address left the status is %v", err)
	}
	full := attachment(newNamespace(t), "bbbb")
	if _, err := c.AddNetworkList(t.Context(), c.list, full); err == nil || !strings.Contains(err.Error(), "no IP addresses available") {
		t.Errorf("one pod too many: %v", err)
	}
	if err := c.DelNetworkList(t.Context(), c.list, full); err != nil {
		t.Error("del of what could not be added:", err)
	}
	if _, err := c.AddNetworkList(t.Context(), c.list, only.rt); err == nil {
		t.Error("a pod is attached twice")
	}
	if leases := c.leases(t); len(leases) != 1 || len(ports(t)) != 1 {
		t.Errorf("after failures there are leases %v, interfaces %v", leases, ports(t))
	}
	gone := *only.rt
	gone.NetNS = filepath.Join(c.dir, "podnet") // a file, as a reboot leaves one of a namespace
	if err := c.DelNetworkList(t.Context(), c.list, &gone); err != nil {
		t.Error("del after a reboot:", err)
	}
	if leases := c.leases(t); len(leases) != 0 {
		t.Errorf("after a reboot there are leases %v", leases)
	}
	if _, err := c.AddNetworkList(t.Context(), c.list, attachment("/nowhere", "cccc")); err == nil || len(c.leases(t)) != 0 {
		t.Errorf("a pod without a namespace: %v, leases %v", err, c.leases(t))
	}

	link, err := netlink.LinkByName(testBridge)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil {
		t.Fatal(err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = testBridge
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "podnet-t1"}); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"status": c.GetStatusNetworkList(t.Context(), c.list),
		"add":    func() error { _, err := c.AddNetworkList(t.Context(), c.list, full); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "not a bridge") {
			t.Errorf("%s with a bridge that is none: %v", what, err)
		}
	}
}

// What the reference plugins made is taken away by this one: same store, same
// table, same names. Their programs are there once the peer is built.
func TestPodOfTheReferencePlugins(t *testing.T) {
	plugins, err := filepath.Abs("../../../bin/peer/cni")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(plugins, "portmap")); err != nil {
		t.Skip("needs make peer:", err)
	}
	c := newCluster(t, "10.99.0.0/24")
	var own map[string]any
	if err := json.Unmarshal([]byte(config(c.dir, "10.99.0.0/24")), &own); err != nil {
		t.Fatal(err)
	}
	ipam, err := json.Marshal(own["ipam"])
	if err != nil {
		t.Fatal(err)
	}
	list, err := libcni.ConfListFromBytes(fmt.Appendf(nil, `{"cniVersion": "1.0.0", "name": "testnet", "plugins": [
		{"type": "bridge", "bridge": %q, "isGateway": true, "hairpinMode": true, "ipam": %s},
		{"type": "portmap", "backend": "nftables", "snat": true, "capabilities": {"portMappings": true}}]}`, testBridge, ipam))
	if err != nil {
		t.Fatal(err)
	}
	reference := libcni.NewCNIConfigWithCacheDir([]string{plugins}, filepath.Join(c.dir, "cache"), nil)
	rt := attachment(newNamespace(t), "0ddba11", portMapping{HostPort: 8090, ContainerPort: 80, Protocol: "tcp"})
	if _, err := reference.AddNetworkList(context.Background(), list, rt); err != nil {
		t.Fatal(err)
	}
	if len(c.leases(t)) != 1 || !strings.Contains(rules(t), "0ddba11") || len(ports(t)) != 1 {
		t.Fatalf("the reference plugins made %v, %v\n%s", c.leases(t), ports(t), rules(t))
	}
	if err := c.DelNetworkList(t.Context(), c.list, rt); err != nil {
		t.Fatal(err)
	}
	if len(c.leases(t)) != 0 || strings.Contains(rules(t), "0ddba11") || len(ports(t)) != 0 {
		t.Errorf("left behind: %v, %v\n%s", c.leases(t), ports(t), rules(t))
	}
}
