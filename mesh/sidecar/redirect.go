package sidecar

import (
	"encoding/binary"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"whylet.dev/whylet/mesh"
)

// tableName is the nftables table of the redirect.
const tableName = "whylet_mesh"

// Redirect puts the rules into the network namespace of the process, in place of
// those of an earlier call:
//
//   - what comes in goes to the sidecar's inbound port, but for the probe ports;
//   - what goes out goes to its outbound port, but for what the sidecar itself
//     sends, and what stays in the pod.
//
// It needs CAP_NET_ADMIN and Linux 5.2, which has NAT in inet tables.
func Redirect() error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("speak with nftables: %w", err)
	}
	table := &nftables.Table{Family: nftables.TableFamilyINet, Name: tableName}
	c.AddTable(table) // so that there is one to remove, in the same transaction
	c.DelTable(table)
	c.AddTable(table)
	in := c.AddChain(&nftables.Chain{
		Name: "inbound", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityNATDest,
	})
	out := c.AddChain(&nftables.Chain{
		Name: "outbound", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityNATDest,
	})
	for _, rule := range []struct {
		chain *nftables.Chain
		exprs [][]expr.Any
	}{
		{in, [][]expr.Any{interfaceIs(expr.MetaKeyIIFNAME, "lo"), leave()}},
		{in, [][]expr.Any{isTCP(), portBetween(mesh.LivenessPort, mesh.HealthcheckPort), leave()}},
		{in, [][]expr.Any{isTCP(), redirectTo(mesh.InboundPort)}},
		{out, [][]expr.Any{userIs(mesh.ProxyUID), leave()}},
		{out, [][]expr.Any{interfaceIs(expr.MetaKeyOIFNAME, "lo"), leave()}},
		{out, [][]expr.Any{isTCP(), redirectTo(mesh.OutboundPort)}},
	} {
		var all []expr.Any
		for _, e := range rule.exprs {
			all = append(all, e...)
		}
		c.AddRule(&nftables.Rule{Table: table, Chain: rule.chain, Exprs: all})
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("redirect the pod's traffic with nftables; it needs CAP_NET_ADMIN and Linux 5.2: %w", err)
	}
	return nil
}

func leave() []expr.Any { return []expr.Any{&expr.Verdict{Kind: expr.VerdictReturn}} }

func interfaceIs(key expr.MetaKey, name string) []expr.Any {
	padded := make([]byte, unix.IFNAMSIZ)
	copy(padded, name)
	return []expr.Any{
		&expr.Meta{Key: key, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: padded},
	}
}

func userIs(uid int64) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeySKUID, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.NativeEndian.PutUint32(uint32(uid))},
	}
}

func isTCP() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
	}
}

// portBetween matches the destination port, which is in bytes 2 and 3 of the
// transport header.
func portBetween(first, last int32) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Range{Op: expr.CmpOpEq, Register: 1, FromData: bigEndian(first), ToData: bigEndian(last)},
	}
}

func redirectTo(port int32) []expr.Any {
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: bigEndian(port)},
		&expr.Redir{RegisterProtoMin: 1},
	}
}

func bigEndian(port int32) []byte { return binary.BigEndian.AppendUint16(nil, uint16(port)) }
