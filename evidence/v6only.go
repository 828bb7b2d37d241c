package evidence

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A socket bound to [::] takes connections over IPv4 too, unless it was told not to
// (IPV6_V6ONLY, or net.ipv6.bindv6only). /proc does not say which; the kernel's socket
// diagnosis does (linux/inet_diag.h), in the network namespace that it is asked in.

const (
	diagByFamily = 20 // SOCK_DIAG_BY_FAMILY
	diagV6Only   = 11 // INET_DIAG_SKV6ONLY
	tcpListen    = 10 // TCP_LISTEN
	// Sizes of inet_diag_req_v2 and inet_diag_msg; in the latter the inode is last.
	diagRequest, diagMessage = 56, 72
)

// v6Only are the inodes of the listening sockets that take connections over IPv6
// only, in the network namespace of a process.
func v6Only(netns string) (map[uint64]bool, error) {
	only := map[uint64]bool{}
	err := diagnose(netns, question{family: unix.AF_INET6, state: tcpListen}, func(inode uint64, attributes []byte) {
		if b := attribute(attributes, diagV6Only); len(b) > 0 && b[0] != 0 {
			only[inode] = true
		}
	})
	return only, err
}

// question is what the kernel is asked: about the TCP sockets of a family in one state, and
// for which attribute beside those that it always gives; 0: none.
type question struct{ family, state, more byte }

// diagnose asks the kernel about sockets in a network namespace, and gives the inode and the
// attributes of each.
func diagnose(netns string, q question, each func(inode uint64, attributes []byte)) error {
	fd, err := diagSocket(netns)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const header = unix.SizeofNlMsghdr
	request := make([]byte, header+diagRequest)
	binary.NativeEndian.PutUint32(request, uint32(len(request)))
	binary.NativeEndian.PutUint16(request[4:], diagByFamily)
	binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	request[header], request[header+1] = q.family, unix.IPPROTO_TCP
	if q.more > 0 {
		request[header+2] = 1 << (q.more - 1)
	}
	binary.NativeEndian.PutUint32(request[header+4:], 1<<q.state)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("sendto", err)
	}
	buf := make([]byte, 32<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return os.NewSyscallError("recvfrom", err)
		}
		if done, err := parseDiagnosis(buf[:n], each); done || err != nil {
			return err
		}
	}
}

// diagSocket opens a socket for questions in another network namespace. A thread
// that cannot come back from there ends with its goroutine.
func diagSocket(netns string) (fd int, err error) {
	there, err := os.Open(netns)
	if err != nil {
		return -1, err
	}
	defer there.Close()
	onItsOwnThread(func() {
		if err = os.NewSyscallError("setns", unix.Setns(int(there.Fd()), unix.CLONE_NEWNET)); err != nil {
			return
		}
		fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
		err = os.NewSyscallError("socket", err)
	})
	if err != nil {
		return -1, err
	}
	// The kernel answers at once; without a limit a fault of it would hold the look.
	limit := unix.NsecToTimeval(time.Second.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("setsockopt", err)
	}
	return fd, nil
}

// parseDiagnosis reads messages of the answer; done is set with the last one.
func parseDiagnosis(b []byte, each func(inode uint64, attributes []byte)) (done bool, err error) {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return true, fmt.Errorf("a message of %d bytes in %d", size, len(b))
		}
		body := b[unix.SizeofNlMsghdr:size]
		switch binary.NativeEndian.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			if len(body) < 4 {
				return true, unix.EIO
			}
			return true, unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
		case diagByFamily:
			if len(body) >= diagMessage {
				each(uint64(binary.NativeEndian.Uint32(body[diagMessage-4:])), body[diagMessage:])
			}
		}
		b = b[min(aligned(size), len(b)):]
	}
	return false, nil
}

// attribute is what the attribute of that type holds; nil where it is not there.
func attribute(b []byte, kind uint16) []byte {
	for len(b) >= unix.SizeofNlAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofNlAttr || size > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:]) == kind {
			return b[unix.SizeofNlAttr:size]
		}
		b = b[min(aligned(size), len(b)):]
	}
	return nil
}

// aligned: messages and attributes begin at multiples of 4 (NLMSG_ALIGN).
func aligned(size int) int { return (size + 3) &^ 3 }
