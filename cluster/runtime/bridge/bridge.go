// Package bridge makes the bridge that connects the pods of a node. The runtime
// does so when it starts, and the CNI plugin when somebody has removed it.
package bridge

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ErrCIDR marks addresses with which there can be no network of pods.
var ErrCIDR = errors.New("pod network")

// Gateway is the address of the pods' bridge: the first of podCIDR.
func Gateway(podCIDR netip.Prefix) netip.Addr { return podCIDR.Masked().Addr().Next() }

// Ensure makes the pods' bridge in the current network namespace, gives it
// the first address of podCIDR and brings it up. It may be called again at any
// time; an address of an earlier CIDR is removed.
//
// The first pod would do. Making it at the start gives the node an address to
// listen on where there is no other network.
func Ensure(name string, podCIDR netip.Prefix) error {
	if !podCIDR.IsValid() || !podCIDR.Addr().Is4() || podCIDR.Bits() > podCIDR.Addr().BitLen()-2 {
		return fmt.Errorf("%w: pod CIDR %q is not a network of IPv4 with room for pods (10.42.0.0/16 is one)", ErrCIDR, podCIDR)
	}
	gateway := Gateway(podCIDR)
	link, err := ensureLink(name, gateway)
	if err != nil {
		return err
	}
	want := &netlink.Addr{IPNet: &net.IPNet{
		IP:   gateway.AsSlice(),
		Mask: net.CIDRMask(podCIDR.Bits(), gateway.BitLen()),
	}}
	have, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("reading the addresses of %s: %w", name, err)
	}
	for _, a := range have {
		if a.IPNet.String() == want.IPNet.String() {
			continue
		}
		if err := netlink.AddrDel(link, &a); err != nil {
			return fmt.Errorf("removing the former address %s from %s: %w", a.IPNet, name, err)
		}
	}
	if err := netlink.AddrReplace(link, want); err != nil {
		return fmt.Errorf("giving %s the address %s: %w", name, want.IPNet, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bringing %s up: %w", name, err)
	}
	return nil
}

// ensureLink finds or makes the bridge. Its MAC is fixed, because a bridge
// without one takes the lowest of its ports and would change with the pods,
// which breaks the neighbours' caches.
func ensureLink(name string, gateway netip.Addr) (netlink.Link, error) {
	link, err := netlink.LinkByName(name)
	if err == nil {
		if link.Type() != "bridge" {
			return nil, fmt.Errorf("network interface %s exists and is a %s, not a bridge: remove it (ip link del %s) or name another bridge", name, link.Type(), name)
		}
		return link, nil
	}
	if !errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil, fmt.Errorf("looking for the bridge %s: %w", name, err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	if gateway.Is4() {
		attrs.HardwareAddr = append(net.HardwareAddr{0x0a, 0x58}, gateway.AsSlice()...)
	}
	// Two pods may find at once that there is none.
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("making the bridge %s: %w", name, err)
	}
	link, err = netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("looking for the bridge %s that was just made: %w", name, err)
	}
	return link, nil
}
