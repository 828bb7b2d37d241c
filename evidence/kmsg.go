package evidence

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Record is one record of the kernel's log.
// Its form is in the kernel's Documentation/ABI/testing/dev-kmsg.
type Record struct {
	// Facility is 0 for the kernel itself. Others can be written by processes.
	Facility int
	// Seq numbers the records of a boot without gaps.
	Seq uint64
	// At is the time since boot, by the scheduler's clock.
	At time.Duration
	// Continues is set for a fragment of a line that began in an earlier record.
	Continues bool
	// Caller is the thread or CPU that wrote it ("T123"); empty unless the kernel
	// was built with CONFIG_PRINTK_CALLER.
	Caller string
	// Text is the line, without escapes.
	Text string
}

var errRecord = errors.New("not a record of the kernel's log")

// ParseRecord reads one record as a read of /dev/kmsg gives it:
//
//	priority,sequence,microseconds,flags[,key=value…];text
//	 KEY=value
func ParseRecord(b []byte) (Record, error) {
	prefix, rest, ok := strings.Cut(string(b), ";")
	if !ok {
		return Record{}, errRecord
	}
	fields := strings.Split(prefix, ",")
	if len(fields) < 3 {
		return Record{}, errRecord
	}
	priority, err1 := strconv.ParseUint(fields[0], 10, 16)
	seq, err2 := strconv.ParseUint(fields[1], 10, 64)
	micros, err3 := strconv.ParseUint(fields[2], 10, 50)
	if err1 != nil || err2 != nil || err3 != nil {
		return Record{}, errRecord
	}
	r := Record{Facility: int(priority >> 3), Seq: seq, At: time.Duration(micros) * time.Microsecond}
	if len(fields) > 3 {
		// "c" marks a fragment. Kernels before 4.9 marked the first one so, and the
		// following ones with "+".
		r.Continues = strings.ContainsAny(fields[3], "c+")
		for _, f := range fields[4:] {
			if caller, ok := strings.CutPrefix(f, "caller="); ok {
				r.Caller = caller
			}
		}
	}
	// Behind the first line is a dictionary, which begins with a space.
	text, _, _ := strings.Cut(rest, "\n")
	r.Text = unescape(text)
	return r, nil
}

// tableFull says whether the kernel dropped packets because it cannot keep track of more
// connections (net/netfilter/nf_conntrack_core.c; since 6.13 with a namespace behind
// "full").
func tableFull(r Record) bool {
	return r.Facility == 0 && strings.Contains(r.Text, "nf_conntrack: table full") && strings.Contains(r.Text, "dropping packet")
}

// unescape undoes what the kernel does to bytes that cannot be printed: \x0a.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			if v, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
