package main

import (
	"errors"
	"fmt"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ip"
	"github.com/containernetworking/plugins/pkg/netlinksafe"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
)

// check says what is missing of what add made.
func check(args *skel.CmdArgs) error {
	n, err := parse(args)
	if err != nil {
		return err
	}
	if n.previous == nil {
		return invalid("CHECK needs the result of ADD")
	}
	leases, err := n.leases()
	if err != nil {
		return err
	}
	address := leases[types.GCAttachment{ContainerID: args.ContainerID, IfName: args.IfName}]
	if address == nil {
		return errors.New("the pod has no address in the store")
	}
	for _, given := range n.previous.IPs {
		if !given.Address.IP.Equal(address) {
			return fmt.Errorf("the pod was given %s, and in the store it has %s", given.Address.IP, address)
		}
	}
	err = ns.WithNetNSPath(args.Netns, func(ns.NetNS) error {
		return errors.Join(
			ip.ValidateExpectedInterfaceIPs(args.IfName, n.previous.IPs),
			ip.ValidateExpectedRoute(n.previous.Routes))
	})
	if err != nil {
		return fmt.Errorf("in the pod: %w", err)
	}
	if err := n.checkPort(); err != nil {
		return err
	}
	return n.checkPorts(args.ContainerID)
}

// checkPort looks at the host's end: it is on the bridge.
func (n *network) checkPort() error {
	on, err := netlinksafe.LinkByName(n.Bridge)
	if err != nil {
		return fmt.Errorf("the bridge %s: %w", n.Bridge, err)
	}
	for _, i := range n.previous.Interfaces {
		if isPort(i, n.Bridge) {
			link, err := netlinksafe.LinkByName(i.Name)
			if err != nil {
				return fmt.Errorf("the host's end %s: %w", i.Name, err)
			}
			if link.Attrs().MasterIndex != on.Attrs().Index {
				return fmt.Errorf("the host's end %s is not on %s", i.Name, n.Bridge)
			}
		}
	}
	return nil
}

func isPort(i *current.Interface, bridge string) bool { return i.Sandbox == "" && i.Name != bridge }

// The codes of STATUS in the CNI specification, which the library does not name.
const errNotAvailable uint = 50

// status says whether pods could be attached now.
func status(args *skel.CmdArgs) error {
	n, err := parse(args)
	if err != nil {
		return err
	}
	link, err := netlinksafe.LinkByName(n.Bridge)
	switch {
	case errors.As(err, &netlink.LinkNotFoundError{}): // ADD makes it.
	case err != nil:
		return types.NewError(errNotAvailable, err.Error(), "")
	case link.Type() != "bridge":
		return types.NewError(errNotAvailable, fmt.Sprintf("network interface %s is a %s, not a bridge", n.Bridge, link.Type()), "")
	}
	leases, err := n.leases()
	if err != nil {
		return types.NewError(errNotAvailable, err.Error(), "")
	}
	// All but the network's address, its broadcast address and the gateway.
	ones, bits := n.addresses.Ranges[0][0].Subnet.Mask.Size()
	if most := 1<<(bits-ones) - 3; len(leases) >= most {
		return types.NewError(errNotAvailable, fmt.Sprintf("all %d addresses are taken", most), "")
	}
	return nil
}
