package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ip"
	"github.com/containernetworking/plugins/pkg/ipam"
	"github.com/containernetworking/plugins/pkg/netlinksafe"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/containernetworking/plugins/pkg/utils/sysctl"
	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/allocator"
	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/disk"
	"github.com/vishvananda/netlink"

	"whylet.dev/whylet/cluster/runtime/bridge"
)

func add(args *skel.CmdArgs) error {
	n, err := parse(args)
	if err != nil {
		return err
	}
	result, err := n.attach(args)
	if err != nil {
		return err
	}
	return types.PrintResult(result, n.CNIVersion)
}

// attach gives the pod its interface, address, route and host ports. What it has
// made it takes back when something fails.
func (n *network) attach(args *skel.CmdArgs) (result *current.Result, err error) {
	netns, err := ns.GetNS(args.Netns)
	if err != nil {
		return nil, fmt.Errorf("opening the pod's network namespace: %w", err)
	}
	defer netns.Close()
	var undo []func() error
	defer func() {
		for i := len(undo) - 1; i >= 0 && err != nil; i-- {
			err = errors.Join(err, undo[i]())
		}
	}()

	address, err := n.lease(args)
	if err != nil {
		return nil, fmt.Errorf("finding an address for the pod: %w", err)
	}
	undo = append(undo, func() error { return n.release(args.ContainerID, args.IfName) })
	address.Interface = current.Int(2)
	result = &current.Result{
		CNIVersion: current.ImplementedSpecVersion,
		IPs:        []*current.IPConfig{address}, Routes: n.addresses.Routes, DNS: n.DNS,
	}

	host, err := n.connect(netns, args.IfName, result)
	if err != nil {
		return nil, fmt.Errorf("connecting the pod to %s: %w", n.Bridge, err)
	}
	undo = append(undo, func() error { return disconnect(args.Netns, args.IfName) })
	err = netns.Do(func(ns.NetNS) error {
		// Neighbours may still hold the interface of the pod that had the address before.
		_, _ = sysctl.Sysctl("net/ipv4/conf/"+args.IfName+"/arp_notify", "1")
		return ipam.ConfigureIface(args.IfName, result)
	})
	if err != nil {
		return nil, fmt.Errorf("giving the pod its address: %w", err)
	}
	if err := awaitUp(host); err != nil {
		return nil, err
	}
	if err := n.openPorts(args.ContainerID, address.Address.IP); err != nil {
		return nil, err
	}
	return result, nil
}

// lease takes an address for the pod. host-local's store locks itself, so that
// two pods at once get two.
func (n *network) lease(args *skel.CmdArgs) (*current.IPConfig, error) {
	store, err := disk.New(n.Name, n.addresses.DataDir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return allocator.NewIPAllocator(&n.addresses.Ranges[0], store, 0).Get(args.ContainerID, args.IfName, nil)
}

func (n *network) release(container, ifName string) error {
	store, err := disk.New(n.Name, n.addresses.DataDir)
	if err != nil {
		return err
	}
	defer store.Close()
	return allocator.NewIPAllocator(&n.addresses.Ranges[0], store, 0).Release(container, ifName)
}

// connect makes the veth pair, whose end on the host it returns, and fills in the
// result's interfaces.
func (n *network) connect(netns ns.NetNS, ifName string, result *current.Result) (netlink.Link, error) {
	on, err := n.bridge()
	if err != nil {
		return nil, err
	}
	pod, host := &current.Interface{Sandbox: netns.Path()}, &current.Interface{}
	err = netns.Do(func(hostNS ns.NetNS) error {
		h, p, err := ip.SetupVeth(ifName, 0, "", hostNS)
		pod.Name, pod.Mac, host.Name, host.Mac = p.Name, p.HardwareAddr.String(), h.Name, h.HardwareAddr.String()
		return err
	})
	if err != nil {
		return nil, err
	}
	link, err := netlinksafe.LinkByName(host.Name)
	if err == nil {
		err = netlink.LinkSetMaster(link, on)
	}
	if err == nil {
		// A pod reaches itself through its own Service.
		err = netlink.LinkSetHairpin(link, true)
	}
	if err != nil {
		return nil, errors.Join(err, disconnect(netns.Path(), ifName))
	}
	result.Interfaces = []*current.Interface{{Name: n.Bridge, Mac: on.Attrs().HardwareAddr.String()}, host, pod}
	return link, nil
}

// bridge finds the bridge. The node makes it when it starts; should somebody have
// removed it since, it is made again.
func (n *network) bridge() (netlink.Link, error) {
	link, err := netlinksafe.LinkByName(n.Bridge)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		subnet := n.addresses.Ranges[0][0].Subnet
		bits, _ := subnet.Mask.Size()
		address, _ := netip.AddrFromSlice(subnet.IP.To4())
		if err := bridge.Ensure(n.Bridge, netip.PrefixFrom(address, bits)); err != nil {
			return nil, err
		}
		link, err = netlinksafe.LinkByName(n.Bridge)
	}
	if err != nil {
		return nil, err
	}
	if link.Type() != "bridge" {
		return nil, fmt.Errorf("network interface %s is a %s, not a bridge", n.Bridge, link.Type())
	}
	return link, nil
}

const (
	// upWithin is how long the bridge may take to forward for a new port, which is
	// looked at every upEvery. It takes no time unless the kernel is very busy.
	upWithin = 5 * time.Second
	upEvery  = time.Millisecond
)

// awaitUp returns when the bridge forwards for the pod, so that its first packet
// is not lost.
func awaitUp(host netlink.Link) error {
	for deadline := time.Now().Add(upWithin); ; time.Sleep(upEvery) {
		link, err := netlinksafe.LinkByName(host.Attrs().Name)
		if err != nil {
			return err
		}
		if link.Attrs().OperState == netlink.OperUp {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the bridge's port %s is %s after %s", link.Attrs().Name, link.Attrs().OperState, upWithin)
		}
	}
}
