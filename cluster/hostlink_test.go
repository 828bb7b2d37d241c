package cluster

import (
	"testing"

	"github.com/vishvananda/netlink"
)

func TestHostLink(t *testing.T) {
	if inNetns(t) {
		return
	}
	c := valid("/d").withDefaults()
	bridge := func(alias string) {
		t.Helper()
		attrs := netlink.NewLinkAttrs()
		attrs.Name = linkName
		link := &netlink.Bridge{LinkAttrs: attrs}
		if err := netlink.LinkAdd(link); err != nil {
			t.Fatal(err)
		}
		if err := netlink.LinkSetAlias(link, alias); err != nil {
			t.Fatal(err)
		}
	}
	exists := func() bool {
		_, err := netlink.LinkByName(linkName)
		return err == nil
	}

	if err := removeHostLink(); err != nil {
		t.Errorf("nothing to remove is no error: %v", err)
	}
	for range 2 { // the second time it is there already
		if err := ensureHostLink(c); err != nil {
			t.Fatal(err)
		}
	}
	routes, err := netlink.RouteGet(c.serviceIP(77).AsSlice())
	if err != nil || len(routes) != 1 || routes[0].Src.String() != c.HostAddress {
		t.Errorf("a Service's address is routed %v, %v", routes, err)
	}
	if err := removeHostLink(); err != nil || exists() {
		t.Errorf("the interface is left: %v", err)
	}

	bridge("")
	if err := ensureHostLink(c); err != nil {
		t.Errorf("an interface of a start that was killed is not taken over: %v", err)
	}
	if err := removeHostLink(); err != nil {
		t.Error(err)
	}

	bridge("somebody else's")
	if ensureHostLink(c) == nil || removeHostLink() == nil || !exists() {
		t.Error("somebody else's interface was touched")
	}
}
