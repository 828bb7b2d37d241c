package evidence

import (
	"encoding/binary"
	"time"
)

// ProcessWhat is what happened to a process.
type ProcessWhat uint32

// What the process connector tells (the kernel's include/uapi/linux/cn_proc.h).
const (
	ProcessForked ProcessWhat = 0x00000001
	ProcessExeced ProcessWhat = 0x00000002
	ProcessExited ProcessWhat = 0x80000000
)

// ProcessEvent is one message of the process connector. Process ids are those of
// the machine.
type ProcessEvent struct {
	What ProcessWhat
	// At is on CLOCK_MONOTONIC.
	At time.Duration
	// PID is the process; of a fork, the new one. Thread is its thread: the two are
	// the same for what is no mere thread.
	PID, Thread int
	// Parent is, of a fork, the process that forked.
	Parent int
	// Status is, of an exit, what wait(2) gives.
	Status WaitStatus
}

// WaitStatus is a raw wait status.
type WaitStatus uint32

// Signal is what ended the process, 0 if it ended by itself.
func (s WaitStatus) Signal() int32 { return int32(s & 0x7f) }

// ExitCode is what the process gave exit(2); for one that a signal ended, 128
// plus the signal, as shells and container runtimes have it.
func (s WaitStatus) ExitCode() int32 {
	if n := s.Signal(); n != 0 {
		return 128 + n
	}
	return int32(s >> 8 & 0xff)
}

// CoreDumped says whether it left a core dump.
func (s WaitStatus) CoreDumped() bool { return s&0x80 != 0 }

// Sizes and places in a message: a netlink header, a connector header and a
// struct proc_event.
const (
	netlinkHeader   = 16
	connectorHeader = 20
	eventAt         = netlinkHeader + connectorHeader
	eventData       = eventAt + 16
	// connectorIndex and connectorValue name the process connector (CN_IDX_PROC).
	connectorIndex = 1
	connectorValue = 1
)

// parseConnector tells what a datagram from the connector says. What is not
// understood is passed over: later kernels may say more.
func parseConnector(b []byte, tell func(ProcessEvent)) {
	for len(b) >= netlinkHeader {
		length := int(binary.NativeEndian.Uint32(b))
		if length < netlinkHeader || length > len(b) {
			return
		}
		if e, ok := parseEvent(b[:length]); ok {
			tell(e)
		}
		b = b[min((length+3)&^3, len(b)):]
	}
}

func parseEvent(b []byte) (ProcessEvent, bool) {
	if len(b) < eventData+8 {
		return ProcessEvent{}, false
	}
	word := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	if word(netlinkHeader) != connectorIndex || word(netlinkHeader+4) != connectorValue {
		return ProcessEvent{}, false
	}
	pid := func(at int) int { return int(int32(word(at))) }
	e := ProcessEvent{What: ProcessWhat(word(eventAt)), At: time.Duration(binary.NativeEndian.Uint64(b[eventAt+8:]))}
	switch {
	case e.What == ProcessForked && len(b) >= eventData+16:
		e.Parent, e.Thread, e.PID = pid(eventData+4), pid(eventData+8), pid(eventData+12)
	case e.What == ProcessExeced:
		e.Thread, e.PID = pid(eventData), pid(eventData+4)
	case e.What == ProcessExited && len(b) >= eventData+12:
		e.Thread, e.PID, e.Status = pid(eventData), pid(eventData+4), WaitStatus(word(eventData+8))
	default:
		return ProcessEvent{}, false
	}
	return e, e.PID > 0
}
