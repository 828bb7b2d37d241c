package main

import (
	"encoding/binary"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// tryNFTables asks the kernel for rules with what kube-proxy, podnet and the masquerade
// rule use, in the network namespace of the thread.
func tryNFTables() finding {
	f := finding{Name: "nf_tables with NAT", Verdict: found}
	c, err := nftables.New()
	if err == nil {
		proposeRules(c)
		err = c.Flush()
	}
	if err != nil {
		f.Verdict, f.Detail, f.Fix = missing, err.Error(), lookAtKernel().load("nf_tables", "nft_chain_nat", "nft_masq", "nft_fib_inet", "nf_nat")
	}
	return f
}

func proposeRules(c *nftables.Conn) {
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: "whylet-doctor"})
	native := func(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }
	for _, r := range []struct {
		name     string
		kind     nftables.ChainType
		hook     *nftables.ChainHook
		priority *nftables.ChainPriority
		rule     []expr.Any
	}{
		{"nat", nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource, []expr.Any{&expr.Masq{}}},
		{"pre", nftables.ChainTypeNAT, nftables.ChainHookPrerouting, nftables.ChainPriorityNATDest, []expr.Any{
			&expr.Fib{Register: 1, FlagDADDR: true, ResultADDRTYPE: true}, // fib daddr type local
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: native(unix.RTN_LOCAL)},
			&expr.Immediate{Register: 1, Data: []byte{0, 2}}, // redirect to :2
			&expr.Redir{RegisterProtoMin: 1},
		}},
		{"filter", nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityFilter, []expr.Any{
			&expr.Ct{Register: 1, Key: expr.CtKeySTATE}, // ct state new
			&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: native(0)},
			&expr.Immediate{Register: 1, Data: native(1)}, // meta mark set 1
			&expr.Meta{Key: expr.MetaKeyMARK, SourceRegister: true, Register: 1},
		}},
	} {
		chain := c.AddChain(&nftables.Chain{Name: r.name, Table: table, Type: r.kind, Hooknum: r.hook, Priority: r.priority})
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: r.rule})
	}
}
