package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/plugins/pkg/ip"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/disk"
)

// del takes away what add made, as far as it is still there. The address goes
// last, so that nobody has it while something leads to the old pod.
func del(args *skel.CmdArgs) error {
	n, err := parse(args)
	if err != nil {
		return err
	}
	if len(n.RuntimeConfig.PortMappings) > 0 {
		if err := closePorts(args.ContainerID); err != nil {
			return err
		}
	}
	if err := disconnect(args.Netns, args.IfName); err != nil {
		return err
	}
	return n.release(args.ContainerID, args.IfName)
}

// disconnect removes the pod's interface, and with it the host's end. A namespace
// or an interface that is gone is what was wanted.
func disconnect(netns, ifName string) error {
	if netns == "" {
		return nil
	}
	err := ns.WithNetNSPath(netns, func(ns.NetNS) error { return ip.DelLinkByName(ifName) })
	if errors.Is(err, ip.ErrLinkNotFound) || errors.As(err, &ns.NSPathNotExistErr{}) || errors.As(err, &ns.NSPathNotNSErr{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing the pod's interface: %w", err)
	}
	return nil
}

// gc takes addresses and host ports from pods of which the runtime no longer
// knows. Their interfaces went with their namespaces.
func gc(args *skel.CmdArgs) error {
	n, err := parse(args)
	if err != nil {
		return err
	}
	valid := map[types.GCAttachment]bool{}
	for _, a := range n.ValidAttachments {
		valid[a] = true
	}
	leases, err := n.leases()
	if err != nil {
		return err
	}
	var errs []error
	for a := range leases {
		if !valid[a] {
			errs = append(errs, closePorts(a.ContainerID), n.release(a.ContainerID, a.IfName))
		}
	}
	return errors.Join(errs...)
}

// leases reads who has addresses. The store answers only for one pod at a time.
func (n *network) leases() (map[types.GCAttachment]net.IP, error) {
	dir := filepath.Join(n.addresses.DataDir, n.Name)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing the addresses that are taken: %w", err)
	}
	leases := map[types.GCAttachment]net.IP{}
	for _, e := range entries {
		address := net.ParseIP(e.Name())
		if address == nil {
			continue // the lock, or the last address that was given
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading who has %s: %w", address, err)
		}
		container, ifName, _ := strings.Cut(strings.TrimSpace(string(raw)), disk.LineBreak)
		leases[types.GCAttachment{ContainerID: container, IfName: ifName}] = address
	}
	return leases, nil
}
