package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/allocator"
)

// network is the plugin's configuration, with what the runtime adds for one pod.
type network struct {
	types.PluginConf
	// Bridge is the interface that pods are connected to. It is made where it is missing.
	Bridge        string `json:"bridge"`
	RuntimeConfig struct {
		PortMappings []portMapping `json:"portMappings,omitempty"`
	} `json:"runtimeConfig"`

	// addresses is the part "ipam", in host-local's form.
	addresses *allocator.IPAMConfig
	// previous is what ADD said; nil where the runtime does not tell.
	previous *current.Result
}

// portMapping is a port of the host that leads to one of the pod (the CNI
// conventions' portMappings).
type portMapping struct {
	HostPort      int    `json:"hostPort"`
	ContainerPort int    `json:"containerPort"`
	Protocol      string `json:"protocol"`
	// HostIP is the only address of the host at which the port is open; "" or an
	// unspecified one: all.
	HostIP string `json:"hostIP,omitempty"`
}

// parse reads what the runtime hands over, and checks what goes into rules.
func parse(args *skel.CmdArgs) (*network, error) {
	n := &network{}
	if err := json.Unmarshal(args.StdinData, n); err != nil {
		return nil, invalid("reading the network configuration: %v", err)
	}
	if n.Bridge == "" {
		return nil, invalid("the network configuration names no bridge")
	}
	var err error
	if n.addresses, _, err = allocator.LoadIPAMConfig(args.StdinData, args.Args); err != nil {
		return nil, invalid("reading where addresses come from: %v", err)
	}
	if len(n.addresses.Ranges) != 1 || n.addresses.Ranges[0][0].Subnet.IP.To4() == nil {
		return nil, invalid("addresses come from one range of IPv4, but there are %d ranges, or another family", len(n.addresses.Ranges))
	}
	for _, m := range n.RuntimeConfig.PortMappings {
		if err := m.valid(); err != nil {
			return nil, invalid("host port %d: %v", m.HostPort, err)
		}
	}
	if n.RawPrevResult == nil {
		return n, nil
	}
	if err := version.ParsePrevResult(&n.PluginConf); err != nil {
		return nil, invalid("reading the previous result: %v", err)
	}
	if n.previous, err = current.NewResultFromResult(n.PrevResult); err != nil {
		return nil, invalid("reading the previous result: %v", err)
	}
	return n, nil
}

func invalid(format string, args ...any) error {
	return types.NewError(types.ErrInvalidNetworkConfig, fmt.Sprintf(format, args...), "")
}

// valid keeps anything but numbers, three words and addresses out of nftables.
func (m portMapping) valid() error {
	if m.HostPort < 1 || m.HostPort > 65535 || m.ContainerPort < 1 || m.ContainerPort > 65535 {
		return fmt.Errorf("ports are from 1 to 65535, the pod's is %d", m.ContainerPort)
	}
	if m.Protocol != "tcp" && m.Protocol != "udp" && m.Protocol != "sctp" {
		return fmt.Errorf("protocol %q is none of tcp, udp and sctp", m.Protocol)
	}
	if m.HostIP == "" {
		return nil
	}
	ip, err := netip.ParseAddr(m.HostIP)
	if err == nil && ip.Zone() != "" {
		err = errors.New("an address with a zone")
	}
	return err
}

// hostAddress is the one address that the mapping is for; invalid: all. ok is
// false for a mapping that is only for addresses of IPv6, which pods do not have.
func (m portMapping) hostAddress() (address netip.Addr, ok bool) {
	ip, err := netip.ParseAddr(m.HostIP)
	switch {
	case err != nil || ip == netip.IPv4Unspecified():
		return netip.Addr{}, true
	default:
		return ip.Unmap(), ip.Unmap().Is4()
	}
}
