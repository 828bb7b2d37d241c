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
	// Where struct tcp_info has the milliseconds since data was sent and received, how many
	// bytes came, how many segments of data went, and where what is read of it ends
	// (linux/tcp.h).
	infoSent, infoReceived, infoBytes, infoSegments, infoEnd = 44, 52, 128, 156, 160
	// leastAwaited is how long a question must be without an answer, and mostSent how many
	// segments may go one way, if it is one: who sends its log there never gets an answer.
	leastAwaited = time.Second
	mostSent     = 64
)

// talk is how long ago something was sent on a connection to which nothing has come back, 0
// where nothing is waited for; and how long ago something came, 0 where nothing ever did.
type talk struct{ waits, heard time.Duration }

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
	if sent < received && sent >= leastAwaited {
		t.waits = sent
	}
	return t
}

// later is the newer of two questions without an answer; 0: none.
func later(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
