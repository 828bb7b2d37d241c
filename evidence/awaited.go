package evidence

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// Who waits for another's answer has sent something on an open connection, and nothing has
// come back since. The kernel knows when either was (tcp(7), TCP_INFO); /proc does not say.

const (
	tcpEstablished = 1 // TCP_ESTABLISHED
	diagInfo       = 2 // INET_DIAG_INFO
	// Where struct tcp_info has the milliseconds since data was sent and received, and since an
	// acknowledgement came, how many bytes came, how many segments of data went, and where what
	// is read of it ends (linux/tcp.h).
	infoSent, infoReceived, infoAcked, infoBytes, infoSegments, infoEnd = 44, 52, 56, 128, 156, 160
	// leastAwaited is how long a question must be without an answer, and mostSent how many
	// segments may go one way, if it is one: who sends its log there never gets an answer.
	leastAwaited = time.Second
	mostSent     = 64
	// mostDelayed is how long the other end may take to acknowledge what it does not answer
	// (linux/tcp.h, TCP_DELACK_MAX, and a tick of its clock).
	mostDelayed = 250 * time.Millisecond
)

// talk is how long ago something was sent on a connection to which nothing has come back, 0
// where nothing is waited for; and how long ago something came, 0 where nothing ever did.
// Instantly is how long ago something was sent in the same tick of the kernel's clock in which
// something had come: the next question, or what a protocol says to that by itself.
type talk struct{ waits, heard, instantly time.Duration }

// talks are those on the open connections, by their inodes, in the network namespace of a
// process. A kernel that cannot tell has none.
func talks(netns string) map[uint64]talk {
	all := map[uint64]talk{}
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		err := diagnose(netns, question{family: family, state: tcpEstablished, more: diagInfo}, func(inode uint64, attributes []byte) {
			all[inode] = parseTalk(attribute(attributes, diagInfo))
		})
		if err != nil {
			break
		}
	}
	return all
}

// parseTalk reads the kernel's struct tcp_info.
func parseTalk(info []byte) (t talk) {
	if len(info) < infoEnd {
		return t
	}
	milliseconds := func(at int) time.Duration {
		return time.Duration(binary.NativeEndian.Uint32(info[at:])) * time.Millisecond
	}
	sent, received := milliseconds(infoSent), milliseconds(infoReceived)
	if binary.NativeEndian.Uint64(info[infoBytes:]) > 0 {
		t.heard = max(received, 1)
	} else if binary.NativeEndian.Uint32(info[infoSegments:]) > mostSent {
		return t
	} else {
		received++ // what the kernel counts from then is when the connection was made
	}
	switch late := sent - milliseconds(infoAcked); {
	case sent < leastAwaited:
	case sent < received:
		t.waits = sent
	case sent == received && late > 0 && late <= mostDelayed: // an answer would have brought the acknowledgement
		t.instantly = sent
	}
	return t
}

// instants are the newest questions of a process to places that were asked in the tick of an
// answer. One alone may be a protocol's own word: two that wait side by side are questions.
type instants map[int]time.Duration

// another is what is waited for at a place with one more; 0: nothing that is known.
func (all instants) another(place int, t talk) time.Duration {
	if t.instantly == 0 {
		return 0
	}
	before := all[place]
	all[place] = later(before, t.instantly)
	if before == 0 {
		return 0
	}
	return all[place]
}

// later is the newer of two questions without an answer; 0: none.
func later(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
