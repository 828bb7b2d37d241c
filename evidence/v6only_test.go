package evidence

import (
	"context"
	"encoding/binary"
	"net"
	"os"
	"testing"

	"whylet.dev/whylet/fact"
)

// TestLookTellsIPv6Only looks at this very process, which listens on [::] twice.
func TestLookTellsIPv6Only(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to ask in a network namespace")
	}
	want := map[string]bool{}
	for network, only := range map[string]bool{"tcp6": true, "tcp": false} {
		l, err := new(net.ListenConfig).Listen(t.Context(), network, "[::]:0")
		if err != nil {
			t.Skip("no IPv6 here: ", err)
		}
		defer l.Close()
		want[l.Addr().String()] = only
	}
	if _, err := v6Only("/proc/self/ns/net"); err != nil {
		t.Skip("the kernel has no diagnosis of sockets: ", err)
	}
	looked := new(Looker).Look(context.Background(), os.Getpid(), nil)
	found := map[string]fact.Listener{}
	for _, l := range looked.Listeners {
		found[l.Address] = l
	}
	for address, only := range want {
		if l, ok := found[address]; !ok || l.V6Only != only {
			t.Errorf("%s: %+v, want IPv6 only: %v (%s)", address, l, only, looked.Error)
		}
	}
}

func native32(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }
func native16(n uint16) []byte { return binary.NativeEndian.AppendUint16(nil, n) }

func TestParseDiagnosis(t *testing.T) {
	message := func(kind uint16, body ...byte) []byte {
		size := uint32(16 + len(body))
		head := append(append(native32(size), native16(kind)...), make([]byte, 10)...)
		return append(head, body...)
	}
	socket := append(make([]byte, diagMessage-4), native32(77)...)
	on := append(socket, append(append(native16(5), native16(diagV6Only)...), 1, 0, 0, 0)...)
	off := append(append([]byte{}, socket...), append(append(native16(5), native16(diagV6Only)...), 0, 0, 0, 0)...)
	for name, c := range map[string]struct {
		raw  []byte
		only bool
		done bool
		err  bool
	}{
		"only IPv6":       {message(diagByFamily, on...), true, false, false},
		"both":            {message(diagByFamily, off...), false, false, false},
		"an old kernel's": {message(diagByFamily, socket...), false, false, false},
		"the last":        {append(message(diagByFamily, on...), message(3)...), true, true, false},
		"a refusal":       {message(2, native32(0xfffffffe)...), false, true, true},
		"cut":             {message(diagByFamily, on...)[:40], false, true, true},
	} {
		only := map[uint64]bool{}
		done, err := parseDiagnosis(c.raw, func(inode uint64, attributes []byte) {
			b := attribute(attributes, diagV6Only)
			only[inode] = len(b) > 0 && b[0] != 0
		})
		if only[77] != c.only || done != c.done || (err != nil) != c.err {
			t.Errorf("%s: %v, %v, %v", name, only, done, err)
		}
	}
}

func FuzzDiagnosis(f *testing.F) {
	f.Add(make([]byte, 16+diagMessage+8))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		_, _ = parseDiagnosis(raw, func(_ uint64, attributes []byte) { parseTalk(attribute(attributes, diagInfo)) })
	})
}

func TestParseStatus(t *testing.T) {
	for text, want := range map[string][2]bool{
		"Name:\tsh\nState:\tZ (zombie)\nNSpid:\t4711\t12\n": {true, true},
		"Name:\tsh\nState:\tS (sleeping)\nNSpid:\t4711\n":   {false, false},
		"": {false, false},
	} {
		if ended, nested := parseStatus(text); ended != want[0] || nested != want[1] {
			t.Errorf("%q: ended %v, nested %v", text, ended, nested)
		}
	}
}
