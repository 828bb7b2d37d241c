package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"sigs.k8s.io/knftables"
)

// Gateway is the address of the pods' bridge: the first of podCIDR.
func Gateway(podCIDR netip.Prefix) netip.Addr { return podCIDR.Masked().Addr().Next() }

// EnsureBridge makes the pods' bridge in the current network namespace, gives it
// the first address of podCIDR and brings it up, and returns that address. It
// may be called again at any time; an address of an earlier CIDR is removed.
//
// The CNI bridge plugin would make it with the first pod. Making it at the start
// gives the node an address to listen on where there is no other network.
func EnsureBridge(name string, podCIDR netip.Prefix) (netip.Addr, error) {
	if !podCIDR.IsValid() || podCIDR.Bits() > podCIDR.Addr().BitLen()-2 {
		return netip.Addr{}, fmt.Errorf("%w: pod CIDR %q is not a network with room for pods (10.42.0.0/16 is one)", ErrConfig, podCIDR)
	}
	gateway := Gateway(podCIDR)
	link, err := bridgeLink(name, gateway)
	if err != nil {
		return netip.Addr{}, err
	}
	want := &netlink.Addr{IPNet: &net.IPNet{
		IP:   gateway.AsSlice(),
		Mask: net.CIDRMask(podCIDR.Bits(), gateway.BitLen()),
	}}
	have, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("reading the addresses of %s: %w", name, err)
	}
	for _, a := range have {
		if a.IPNet.String() == want.IPNet.String() {
			continue
		}
		if err := netlink.AddrDel(link, &a); err != nil {
			return netip.Addr{}, fmt.Errorf("removing the former address %s from %s: %w", a.IPNet, name, err)
		}
	}
	if err := netlink.AddrReplace(link, want); err != nil {
		return netip.Addr{}, fmt.Errorf("giving %s the address %s: %w", name, want.IPNet, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return netip.Addr{}, fmt.Errorf("bringing %s up: %w", name, err)
	}
	return gateway, nil
}

// bridgeLink finds or makes the bridge. Its MAC is fixed, because a bridge
// without one takes the lowest of its ports and would change with the pods,
// which breaks the neighbours' caches.
func bridgeLink(name string, gateway netip.Addr) (netlink.Link, error) {
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
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return nil, fmt.Errorf("making the bridge %s: %w", name, err)
	}
	link, err = netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("looking for the bridge %s that was just made: %w", name, err)
	}
	return link, nil
}

// networkSysctls let the node route for its pods and let Service addresses work
// between two pods of one bridge (their replies must pass conntrack). In the
// order they are tried; a missing bridge-nf file is reported by the doctor.
var networkSysctls = map[string]string{
	"net/ipv4/ip_forward":                "1",
	"net/bridge/bridge-nf-call-iptables": "1",
}

func setNetworkSysctls() error {
	for name, value := range networkSysctls {
		path := filepath.Join("/proc/sys", name)
		err := os.WriteFile(path, []byte(value), 0o644)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s does not exist; load its module (modprobe br_netfilter)", path)
		}
		if err != nil {
			return fmt.Errorf("setting %s to %s: %w", path, value, err)
		}
	}
	return nil
}

// writeNetworkConfig writes the CNI configuration: a bridge, addresses from the
// pod CIDR, and host ports. Masquerading is not the plugin's job but one rule of
// ensureMasquerade: the plugin would add a rule per pod.
func writeNetworkConfig(c Config) error {
	p := c.paths()
	type object = map[string]any
	conf, err := json.MarshalIndent(object{
		"cniVersion": "1.0.0",
		"name":       c.networkName(),
		"plugins": []object{
			{
				"type":        "bridge",
				"bridge":      c.Bridge,
				"isGateway":   true,
				"hairpinMode": true,
				"ipam": object{
					"type":    "host-local",
					"dataDir": p.cniLeases,
					"ranges":  [][]object{{{"subnet": c.PodCIDR.Masked().String()}}},
					"routes":  []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{
				"type":         "portmap",
				"backend":      "nftables",
				"snat":         true,
				"capabilities": object{"portMappings": true},
			},
		},
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the CNI configuration: %w", err)
	}
	for _, dir := range []string{p.cniConf, p.cniLeases} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
	}
	return writeFile(filepath.Join(p.cniConf, "10-whylet.conflist"), append(conf, '\n'))
}

// masqueradeTable is the name of the instance's own nftables table.
func (c Config) masqueradeTable() string { return "whylet-" + ID(c.DataDir) }

// ensureMasquerade lets pods reach what lies beyond the node, under the node's
// address. One rule serves all pods.
func ensureMasquerade(ctx context.Context, c Config) error {
	nft, err := knftables.New(knftables.IPv4Family, c.masqueradeTable())
	if err != nil {
		return fmt.Errorf("nftables is needed for the pods' network: %w", err)
	}
	cidr := c.PodCIDR.Masked().String()
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{Comment: knftables.PtrTo("whylet: pods reach out")})
	tx.Add(&knftables.Chain{
		Name:     "postrouting",
		Type:     knftables.PtrTo(knftables.NATType),
		Hook:     knftables.PtrTo(knftables.PostroutingHook),
		Priority: knftables.PtrTo(knftables.SNATPriority),
	})
	tx.Flush(&knftables.Chain{Name: "postrouting"})
	tx.Add(&knftables.Rule{
		Chain: "postrouting",
		Rule:  knftables.Concat("ip saddr", cidr, "ip daddr !=", cidr, "ip daddr != 224.0.0.0/4", "masquerade"),
	})
	if err := nft.Run(ctx, tx); err != nil {
		return fmt.Errorf("adding the masquerade rule for pods: %w", err)
	}
	return nil
}
