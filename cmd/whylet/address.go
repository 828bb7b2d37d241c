package main

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// defaultRouteAddress is this machine's IPv4 address towards the rest of the
// world: the source that the kernel would choose on the default route. ok is
// false where there is no such route, as in a bare network namespace.
func defaultRouteAddress() (address netip.Addr, ok bool, err error) {
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return netip.Addr{}, false, fmt.Errorf("reading the routes: %w", err)
	}
	for _, r := range routes {
		if r.Dst != nil && r.Dst.String() != "0.0.0.0/0" {
			continue
		}
		if src, valid := netip.AddrFromSlice(r.Src.To4()); valid {
			return src, true, nil
		}
		link, err := netlink.LinkByIndex(r.LinkIndex)
		if err != nil {
			continue
		}
		addresses, err := netlink.AddrList(link, netlink.FAMILY_V4)
		if err != nil {
			return netip.Addr{}, false, fmt.Errorf("reading the addresses of %s: %w", link.Attrs().Name, err)
		}
		for _, a := range addresses {
			if a.Scope != unix.RT_SCOPE_UNIVERSE {
				continue
			}
			if ip, valid := netip.AddrFromSlice(a.IP.To4()); valid {
				return ip, true, nil
			}
		}
	}
	return netip.Addr{}, false, nil
}
