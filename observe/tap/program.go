package tap

import (
	"encoding/binary"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// A copy is what the program gives of one packet: when (CLOCK_MONOTONIC), its length,
// which way it went, and its first bytes, from the IP header on.
const (
	snap     = 320 // bytes of a packet: headers and the beginning of an answer
	atTime   = 0
	atLength = 8
	atWay    = 12
	atBytes  = 16
	copySize = atBytes + snap

	outward = 1 // way: from kubelet
	inward  = 2 // way: to kubelet
)

// keySize is an address as IPv6 has it, and a port, as packets have them; padded.
const keySize = 20

// Where the program keeps them on its stack, below the frame pointer.
const (
	stackCopy = -copySize
	stackKey  = stackCopy - 24
)

// Flags of bpf_ringbuf_output (linux/bpf.h). Copies are read some times a second, and to be
// woken for each costs more than all that is done with it; who reads is woken only by what
// looks like trouble, and where there is not room for many more.
const (
	wakeNobody = 1 // BPF_RB_NO_WAKEUP
	wakeNow    = 2 // BPF_RB_FORCE_WAKEUP
	unread     = 0 // BPF_RB_AVAIL_DATA, of bpf_ringbuf_query
)

// Offsets in struct __sk_buff (linux/bpf.h).
const skbLen = 0

// Flags of TCP, by their bits.
const (
	tcpFIN, tcpSYN, tcpRST = 1, 2, 4
)

// program copies packets of one way whose other end is among the targets.
func program(way int32, targets, out *ebpf.Map) *ebpf.ProgramSpec {
	// Of the packet's headers: the addresses and the port of the other end.
	address4, address6, port := int16(12), int16(8), int32(0) // source
	if way == outward {
		address4, address6, port = 16, 24, 2 // destination
	}
	at := func(offset int16) int16 { return stackCopy + atBytes + offset }
	b := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	// What is copied and looked up must have been written, all of it.
	for offset := int16(stackKey); offset < 0; offset += 8 {
		b = append(b, asm.StoreImm(asm.RFP, offset, 0, asm.DWord))
	}
	b = append(b,
		// The first bytes, as many as there are.
		asm.LoadMem(asm.R7, asm.R6, skbLen, asm.Word),
		asm.StoreMem(asm.RFP, stackCopy+atLength, asm.R7, asm.Word),
		asm.JLT.Imm(asm.R7, 40, "done"), // less than both headers
		asm.JLE.Imm(asm.R7, snap, "load"),
		asm.Mov.Imm(asm.R7, snap),
		asm.Mov.Reg(asm.R1, asm.R6).WithSymbol("load"),
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, stackCopy+atBytes),
		asm.Mov.Reg(asm.R4, asm.R7),
		asm.FnSkbLoadBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "done"),

		asm.LoadMem(asm.R8, asm.RFP, at(0), asm.Byte),
		asm.Mov.Reg(asm.R9, asm.R8),
		asm.RSh.Imm(asm.R9, 4),
		asm.JEq.Imm(asm.R9, 6, "six"),
		asm.JNE.Imm(asm.R9, 4, "done"),

		// IPv4: TCP only, the other address as an IPv6 one, and where the ports are.
		asm.LoadMem(asm.R9, asm.RFP, at(9), asm.Byte),
		asm.JNE.Imm(asm.R9, 6, "done"),
		asm.LoadMem(asm.R9, asm.RFP, at(address4), asm.Word),
		asm.StoreMem(asm.RFP, stackKey+12, asm.R9, asm.Word),
		asm.StoreImm(asm.RFP, stackKey+8, 0xffff0000-(1<<32), asm.Word),
		asm.And.Imm(asm.R8, 0xf),
		asm.LSh.Imm(asm.R8, 2),
		asm.Add.Imm(asm.R8, port),
		asm.Ja.Label("port"),

		// IPv6: TCP without extension headers.
		asm.LoadMem(asm.R9, asm.RFP, at(6), asm.Byte).WithSymbol("six"),
		asm.JNE.Imm(asm.R9, 6, "done"),
	)
	for word := int16(0); word < 16; word += 4 {
		b = append(b,
			asm.LoadMem(asm.R9, asm.RFP, at(address6+word), asm.Word),
			asm.StoreMem(asm.RFP, stackKey+word, asm.R9, asm.Word),
		)
	}
	b = append(b,
		asm.Mov.Imm(asm.R8, 40+port),

		asm.Mov.Reg(asm.R1, asm.R6).WithSymbol("port"),
		asm.Mov.Reg(asm.R2, asm.R8),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, stackKey+16),
		asm.Mov.Imm(asm.R4, 2),
		asm.FnSkbLoadBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "done"),

		asm.LoadMapPtr(asm.R1, targets.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "done"),

		// R9: the flags of TCP, R8: where the payload begins.
		asm.Sub.Imm(asm.R8, port),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Reg(asm.R2, asm.R8),
		asm.Add.Imm(asm.R2, 12),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, stackKey+keySize),
		asm.Mov.Imm(asm.R4, 2),
		asm.FnSkbLoadBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "done"),
		asm.LoadMem(asm.R9, asm.RFP, stackKey+keySize, asm.Byte),
		asm.RSh.Imm(asm.R9, 4),
		asm.LSh.Imm(asm.R9, 2),
		asm.Add.Reg(asm.R8, asm.R9),
		asm.LoadMem(asm.R9, asm.RFP, stackKey+keySize+1, asm.Byte),
		asm.Mov.Imm(asm.R7, wakeNobody),
	)
	b = append(b, worth(way)...)
	b = append(b,
		asm.LoadMapPtr(asm.R1, out.FD()).WithSymbol("copy"),
		asm.Mov.Imm(asm.R2, unread),
		asm.FnRingbufQuery.Call(),
		asm.JLE.Imm(asm.R0, ringBytes/2, "write"),
		asm.Mov.Imm(asm.R7, wakeNow),

		asm.FnKtimeGetNs.Call().WithSymbol("write"),
		asm.StoreMem(asm.RFP, stackCopy+atTime, asm.R0, asm.DWord),
		asm.StoreImm(asm.RFP, stackCopy+atWay, int64(way), asm.Word),
		asm.LoadMapPtr(asm.R1, out.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, stackCopy),
		asm.Mov.Imm(asm.R3, copySize),
		asm.Mov.Reg(asm.R4, asm.R7),
		asm.FnRingbufOutput.Call(),

		// 1: the packet goes on, always.
		asm.Mov.Imm(asm.R0, 1).WithSymbol("done"),
		asm.Return(),
	)
	return &ebpf.ProgramSpec{Name: "whylet_tap", Type: ebpf.CGroupSKB, License: "GPL", Instructions: b}
}

// worth goes to "done" with packets that say nothing, which are those that only acknowledge
// others, and has who reads woken at once by a refusal, and by an answer whose status is that
// of a failure: a container may be ended for it.
func worth(way int32) asm.Instructions {
	carries := "copy"
	if way == inward {
		carries = "answer"
	}
	b := asm.Instructions{
		asm.LoadMem(asm.R1, asm.RFP, stackCopy+atLength, asm.Word),
		asm.JGT.Reg(asm.R1, asm.R8, carries),
		asm.Mov.Reg(asm.R1, asm.R9),
		asm.And.Imm(asm.R1, tcpFIN|tcpSYN|tcpRST),
		asm.JEq.Imm(asm.R1, 0, "done"),
	}
	if way != inward {
		return b
	}
	const status = len("HTTP/1.1 ")
	return append(b,
		asm.And.Imm(asm.R9, tcpRST),
		asm.JNE.Imm(asm.R9, 0, "wake"),
		asm.Ja.Label("copy"),

		asm.Mov.Reg(asm.R1, asm.R6).WithSymbol("answer"),
		asm.Mov.Reg(asm.R2, asm.R8),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, stackKey),
		asm.Mov.Imm(asm.R4, int32(status)+1),
		asm.FnSkbLoadBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "copy"),
		asm.LoadMem(asm.R9, asm.RFP, stackKey, asm.Word),
		asm.JNE.Imm(asm.R9, int32(binary.NativeEndian.Uint32([]byte("HTTP"))), "copy"),
		asm.LoadMem(asm.R9, asm.RFP, stackKey+int16(status), asm.Byte),
		asm.JLT.Imm(asm.R9, '4', "copy"),
		asm.Mov.Imm(asm.R7, wakeNow).WithSymbol("wake"),
	)
}
