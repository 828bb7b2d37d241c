package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"sigs.k8s.io/knftables"

	"whylet.dev/whylet/cluster/runtime/bridge"
)

// Gateway is the address of the pods' bridge: the first of podCIDR.
func Gateway(podCIDR netip.Prefix) netip.Addr { return bridge.Gateway(podCIDR) }

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

// writeNetworkConfig writes the CNI configuration for our plugin (command podnet).
// Masquerading is not its job but one rule of ensureMasquerade, which serves all
// pods. The version is not 1.1.0, because from there on containerd asks the plugin
// for its status, in a process, whenever somebody asks containerd for its own.
func writeNetworkConfig(c Config) error {
	p := c.paths()
	type object = map[string]any
	conf, err := json.MarshalIndent(object{
		"cniVersion": "1.0.0",
		"name":       c.networkName(),
		"plugins": []object{
			{
				"type":         "podnet",
				"bridge":       c.Bridge,
				"capabilities": object{"portMappings": true},
				"ipam": object{
					"type":    "host-local",
					"dataDir": p.cniLeases,
					"ranges":  [][]object{{{"subnet": c.PodCIDR.Masked().String()}}},
					"routes":  []object{{"dst": "0.0.0.0/0"}},
				},
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
