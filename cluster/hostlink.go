package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// linkName is the interface that carries HostAddress: a bridge that nothing is
// ever plugged into, since the kernel's dummy device is missing on some machines
// and pod networks need bridges anyway. There is one in each network namespace
// that a control plane runs in.
const linkName = "whylet0"

// linkAlias marks the interface as ours, so that nothing else is ever deleted.
const linkAlias = "whylet: API server and DNS for pods"

// ensureHostLink makes the interface with HostAddress and the route for
// the service range. What is there already stays.
func ensureHostLink(c Config) error {
	link, err := ourLink()
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		link, err = addLink()
	}
	if err != nil {
		return err
	}
	if err := netlink.LinkSetAlias(link, linkAlias); err != nil {
		return fmt.Errorf("mark interface %s as ours: %w", linkName, err)
	}
	address := netip.MustParseAddr(c.HostAddress)
	err = netlink.AddrReplace(link, &netlink.Addr{IPNet: netIPNet(netip.PrefixFrom(address, 32))})
	if err != nil {
		return fmt.Errorf("set address %s on interface %s: %w", address, linkName, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring up interface %s: %w", linkName, err)
	}
	// kube-proxy rewrites the destination before this route is followed. It is
	// there so that the kernel has a route to look up at all on a host without a
	// default one, and so that what no Service claims does not leave the machine.
	services := netip.MustParsePrefix(c.ServiceCIDR)
	err = netlink.RouteReplace(&netlink.Route{
		LinkIndex: link.Attrs().Index, Dst: netIPNet(services), Scope: netlink.SCOPE_LINK, Src: address.AsSlice(),
	})
	if err != nil {
		return fmt.Errorf("route service range %s to interface %s: %w", services, linkName, err)
	}
	return nil
}

func addLink() (netlink.Link, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = linkName
	err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs})
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, fmt.Errorf("make interface %s: the kernel has no bridge device, which pods need too; load it with: modprobe bridge", linkName)
	}
	if err != nil {
		return nil, fmt.Errorf("make interface %s: %w", linkName, err)
	}
	link, err := netlink.LinkByName(linkName)
	if err != nil {
		return nil, fmt.Errorf("find interface %s: %w", linkName, err)
	}
	return link, nil
}

// ourLink returns the interface; netlink.LinkNotFoundError if there is none, and
// another error if one of that name belongs to somebody else.
func ourLink() (netlink.Link, error) {
	link, err := netlink.LinkByName(linkName)
	if err != nil {
		return nil, fmt.Errorf("find interface %s: %w", linkName, err)
	}
	// A start that was killed right after making the interface left no alias.
	ours := link.Attrs().Alias == linkAlias || link.Attrs().Alias == ""
	if link.Type() != "bridge" || !ours {
		return nil, fmt.Errorf("interface %s exists but is not Whylet's (%s, alias %q); rename or remove it", linkName, link.Type(), link.Attrs().Alias)
	}
	return link, nil
}

// removeHostLink removes the interface and with it its address and route.
func removeHostLink() error {
	link, err := ourLink()
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := netlink.LinkDel(link); err != nil {
		return fmt.Errorf("remove interface %s: %w", linkName, err)
	}
	return nil
}

func netIPNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
