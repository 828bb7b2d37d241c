package tap

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// packet is what one copy says.
type packet struct {
	at                 time.Duration // CLOCK_MONOTONIC
	out                bool          // from kubelet
	near               netip.AddrPort
	far                netip.AddrPort // what is probed
	seq                uint32
	syn, ack, fin, rst bool
	// size is that of the payload, data its first bytes.
	size int
	data []byte
}

// parse reads a copy; ok is false for what is no whole TCP header.
func parse(b []byte) (p packet, ok bool) {
	if len(b) < copySize {
		return packet{}, false
	}
	p.at = time.Duration(binary.NativeEndian.Uint64(b[atTime:]))
	p.out = binary.NativeEndian.Uint32(b[atWay:]) == outward
	total := int(binary.NativeEndian.Uint32(b[atLength:]))
	ip := b[atBytes:][:min(total, snap)]
	var source, target netip.Addr
	var tcp []byte
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		head := int(ip[0]&0xf) * 4
		source, target = netip.AddrFrom4([4]byte(ip[12:16])), netip.AddrFrom4([4]byte(ip[16:20]))
		total = int(binary.BigEndian.Uint16(ip[2:]))
		if head < 20 || head > len(ip) {
			return packet{}, false
		}
		tcp, total = ip[head:], total-head
	case len(ip) >= 40 && ip[0]>>4 == 6:
		source, target = netip.AddrFrom16([16]byte(ip[8:24])), netip.AddrFrom16([16]byte(ip[24:40]))
		tcp, total = ip[40:], int(binary.BigEndian.Uint16(ip[4:]))
	default:
		return packet{}, false
	}
	if len(tcp) < 20 {
		return packet{}, false
	}
	head := int(tcp[12]>>4) * 4
	if head < 20 || head > len(tcp) {
		return packet{}, false
	}
	from := netip.AddrPortFrom(source, binary.BigEndian.Uint16(tcp))
	to := netip.AddrPortFrom(target, binary.BigEndian.Uint16(tcp[2:]))
	p.near, p.far = to, from
	if p.out {
		p.near, p.far = from, to
	}
	p.seq = binary.BigEndian.Uint32(tcp[4:])
	flags := tcp[13]
	p.fin, p.syn, p.rst, p.ack = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&16 != 0
	p.size = max(0, total-head)
	p.data = tcp[head:][:min(len(tcp)-head, p.size)]
	return p, true
}
