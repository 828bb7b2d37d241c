package probe

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of the fast way. None of them waits, because its sockets do not block,
// so Go's scheduler is not told of them. An ordinary system call of a process that
// was idle wakes the runtime's monitor thread, which then looks around every 20 µs
// until all is idle again: with a probe every few milliseconds that is always, and
// cost as much as the prober itself.

// sockaddr is an address in the kernel's own form (ip(7), ipv6(7)).
func sockaddr(a netip.AddrPort) (family int, b []byte) {
	if a.Addr().Is4() {
		ip := a.Addr().As4()
		b = make([]byte, unix.SizeofSockaddrInet4)
		binary.NativeEndian.PutUint16(b, unix.AF_INET)
		binary.BigEndian.PutUint16(b[2:], a.Port())
		copy(b[4:], ip[:])
		return unix.AF_INET, b
	}
	ip := a.Addr().As16()
	b = make([]byte, unix.SizeofSockaddrInet6)
	binary.NativeEndian.PutUint16(b, unix.AF_INET6)
	binary.BigEndian.PutUint16(b[2:], a.Port())
	copy(b[8:], ip[:])
	return unix.AF_INET6, b
}

func connect(fd int, sockaddr []byte) error {
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(sockaddr))), uintptr(len(sockaddr)))
	return failure(errno)
}

func write(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), failure(errno)
}

func read(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), failure(errno)
}

func closeFD(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// happened gives the events that are there, without waiting for one.
func happened(epoll int, events []unix.EpollEvent) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return int(n), failure(errno)
}

func failure(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
