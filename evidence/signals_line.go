package evidence

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Signal is one signal that the kernel was asked to deliver.
type Signal struct {
	Number int32
	// Code is the kernel's si_code: 0 for kill(2), 128 for the kernel itself.
	Code int32
	// PID is the receiver, Command its name; Sender is the thread that sent it.
	PID           int
	Command       string
	Sender        int
	SenderCommand string // empty where the kernel had forgotten it
	// At is on CLOCK_MONOTONIC.
	At time.Duration
}

// FromKernel says whether the kernel sent it by itself.
func (s Signal) FromKernel() bool { return s.Code == 128 } // SI_KERNEL

// What stands before the event: command-PID, CPU, flags, seconds. A command may
// hold anything, so the last match of what follows it counts.
var traceHead = regexp.MustCompile(`^\s*(.*)-(\d{1,10})\s+(?:\([ \d-]*\)\s+)?\[\d+\]\s+(?:\S+\s+)?(\d{1,10})\.(\d{6})$`)

// ParseSignal reads a line of trace_pipe with the event signal:signal_generate
// (the kernel's include/trace/events/signal.h). Of a command with a newline in it
// the line is cut, and is not ok.
func ParseSignal(line string) (s Signal, ok bool) {
	head, event, found := strings.Cut(line, ": signal_generate: ")
	m := traceHead.FindStringSubmatch(head)
	if !found || m == nil {
		return s, false
	}
	// The receiver's command stands in the middle and may hold anything as well.
	before, rest, found := strings.Cut(event, " comm=")
	at := strings.LastIndex(rest, " pid=")
	if !found || at < 0 {
		return s, false
	}
	s.Command = rest[:at]
	numbers := fields(before + rest[at:])
	sig, ok1 := numbers["sig"]
	code, ok2 := numbers["code"]
	pid, ok3 := numbers["pid"]
	sender, err1 := strconv.ParseInt(m[2], 10, 32)
	seconds, err2 := strconv.ParseInt(m[3], 10, 64)
	micros, err3 := strconv.ParseInt(m[4], 10, 64)
	if !ok1 || !ok2 || !ok3 || err1 != nil || err2 != nil || err3 != nil || pid <= 0 || sig <= 0 || seconds > 1<<32 {
		return s, false
	}
	s.Number, s.Code, s.PID, s.Sender = int32(sig), int32(code), int(pid), int(sender)
	s.At = time.Duration(seconds)*time.Second + time.Duration(micros)*time.Microsecond
	if name := m[1]; name != "<...>" {
		s.SenderCommand = name
	}
	return s, true
}

// fields reads name=number pairs.
func fields(text string) map[string]int64 {
	found := map[string]int64{}
	for word := range strings.FieldsSeq(text) {
		name, value, ok := strings.Cut(word, "=")
		if n, err := strconv.ParseInt(value, 10, 32); ok && err == nil {
			found[name] = n
		}
	}
	return found
}

var traceLost = regexp.MustCompile(`^CPU:\d+ \[LOST (\d{1,18}) EVENTS\]`)

// parseLost reads the line by which the kernel tells that its buffer ran over.
func parseLost(line string) (count int64, ok bool) {
	m := traceLost.FindStringSubmatch(line)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil
}
