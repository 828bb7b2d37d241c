package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/containernetworking/plugins/pkg/utils"
	"github.com/containernetworking/plugins/pkg/utils/sysctl"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"
)

// The table and the chains that hold rules of pods are portmap's (its file
// portmap_nftables.go), so that each finds the other's rules.
const (
	hostPortTable = "cni_hostport"
	portsChain    = "hostports"
	oldPortsChain = "hostip_hostports"
	sourcesChain  = "masquerading"
)

// openPorts leads the pod's host ports to it, also from the host itself and from
// the pod, whose packets come back to where they came from only under the host's
// address.
func (n *network) openPorts(container string, pod net.IP) error {
	if len(n.RuntimeConfig.PortMappings) == 0 {
		return nil
	}
	nft, err := knftables.New(knftables.IPv4Family, hostPortTable)
	if err != nil {
		return fmt.Errorf("nftables is needed for host ports: %w", err)
	}
	tx := nft.NewTransaction()
	ensureHostPortTable(tx)
	rule := func(chain string, parts ...any) {
		tx.Add(&knftables.Rule{Chain: chain, Rule: knftables.Concat(parts...), Comment: &container})
	}
	for _, m := range n.RuntimeConfig.PortMappings {
		address, ok := m.hostAddress()
		if !ok {
			continue
		}
		to := net.JoinHostPort(pod.String(), strconv.Itoa(m.ContainerPort))
		if address.IsValid() {
			rule(portsChain, "ip daddr", address.String(), m.Protocol, "dport", m.HostPort, "dnat to", to)
		} else {
			rule(portsChain, m.Protocol, "dport", m.HostPort, "dnat to", to)
		}
	}
	for _, from := range []string{pod.String(), "127.0.0.1"} {
		rule(sourcesChain, "ip saddr", from, "ip daddr", pod.String(), "masquerade")
	}
	if err := nft.Run(context.Background(), tx); err != nil {
		return fmt.Errorf("opening the pod's host ports: %w", err)
	}
	// Packets from 127.0.0.1 may leave through the bridge.
	if _, err := sysctl.Sysctl("net/ipv4/conf/"+n.Bridge+"/route_localnet", "1"); err != nil {
		return fmt.Errorf("opening the pod's host ports for the host itself: %w", err)
	}
	return n.forgetOldFlows()
}

// ensureHostPortTable makes what is common to all pods. A chain that is flushed
// and filled again in one transaction is never seen empty.
func ensureHostPortTable(tx *knftables.Transaction) {
	tx.Add(&knftables.Table{})
	for _, chain := range []string{portsChain, oldPortsChain} {
		tx.Add(&knftables.Chain{Name: chain})
	}
	for name, hook := range map[string]knftables.BaseChainHook{"prerouting": knftables.PreroutingHook, "output": knftables.OutputHook} {
		tx.Add(&knftables.Chain{
			Name: name, Type: knftables.PtrTo(knftables.NATType), Hook: knftables.PtrTo(hook),
			Priority: knftables.PtrTo(knftables.DNATPriority),
		})
		tx.Flush(&knftables.Chain{Name: name})
		for _, chain := range []string{oldPortsChain, portsChain} {
			tx.Add(&knftables.Rule{Chain: name, Rule: knftables.Concat("fib daddr type local", "jump", chain)})
		}
	}
	tx.Add(&knftables.Chain{
		Name: sourcesChain, Type: knftables.PtrTo(knftables.NATType), Hook: knftables.PtrTo(knftables.PostroutingHook),
		Priority: knftables.PtrTo(knftables.SNATPriority),
	})
}

// forgetOldFlows makes the kernel look at the rules again for those who have been
// sending to a UDP port before it was open: a flow keeps the destination that its
// first packet had.
func (n *network) forgetOldFlows() error {
	for _, m := range n.RuntimeConfig.PortMappings {
		if m.Protocol != "udp" {
			continue
		}
		if err := utils.DeleteConntrackEntriesForDstPort(uint16(m.HostPort), utils.PROTOCOL_UDP, unix.AF_INET); err != nil {
			return fmt.Errorf("forgetting who sent to host port %d before: %w", m.HostPort, err)
		}
	}
	return nil
}

// closePorts removes the container's rules. No rules are no error.
func closePorts(container string) error {
	nft, err := knftables.New(knftables.IPv4Family, hostPortTable)
	if err != nil {
		return fmt.Errorf("nftables is needed for host ports: %w", err)
	}
	tx := nft.NewTransaction()
	for _, chain := range []string{portsChain, oldPortsChain, sourcesChain} {
		rules, err := rulesOf(nft, chain, container)
		if err != nil {
			return err
		}
		for _, r := range rules {
			tx.Delete(r)
		}
	}
	if tx.NumOperations() == 0 {
		return nil
	}
	if err := nft.Run(context.Background(), tx); err != nil {
		return fmt.Errorf("closing the pod's host ports: %w", err)
	}
	return nil
}

// rulesOf lists the container's rules in a chain; none where there is no chain.
func rulesOf(nft knftables.Interface, chain, container string) ([]*knftables.Rule, error) {
	all, err := nft.ListRules(context.Background(), chain)
	if err != nil && !knftables.IsNotFound(err) {
		return nil, fmt.Errorf("listing host ports: %w", err)
	}
	var own []*knftables.Rule
	for _, r := range all {
		if r.Comment != nil && *r.Comment == container {
			own = append(own, r)
		}
	}
	return own, nil
}

// checkPorts counts the container's rules.
func (n *network) checkPorts(container string) error {
	want := 0
	for _, m := range n.RuntimeConfig.PortMappings {
		if _, ok := m.hostAddress(); ok {
			want++
		}
	}
	if want == 0 {
		return nil
	}
	nft, err := knftables.New(knftables.IPv4Family, hostPortTable)
	if err != nil {
		return fmt.Errorf("nftables is needed for host ports: %w", err)
	}
	for chain, want := range map[string]int{portsChain: want, sourcesChain: 2} {
		rules, err := rulesOf(nft, chain, container)
		if err != nil {
			return err
		}
		if len(rules) < want {
			return fmt.Errorf("of %d rules for host ports in %s there are %d", want, chain, len(rules))
		}
	}
	return nil
}
