package evidence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiveBuffer is what the kernel may hold for us: some 60,000 events, twelve
// seconds of 5000 forks a second.
const receiveBuffer = 32 << 20

// answerWithin is how long the kernel may take to confirm a subscription.
const answerWithin = 5 * time.Second

// sockets are those on which process events come: all that are read, and what may not wait.
type sockets struct{ all, bell int }

// subscribe opens the sockets.
func subscribe() (sockets, error) {
	s, err := subscribeHere()
	if err == nil {
		return s, nil
	}
	for _, path := range otherNamespaces() {
		if s, err2 := subscribeIn(path); err2 == nil {
			return s, nil
		}
	}
	return sockets{}, err
}

// otherNamespaces are the network namespaces of this machine's processes, one
// path for each but our own, those of the oldest processes first. Nothing says
// which is the machine's own, but only there anybody answers.
func otherNamespaces() []string {
	own, _ := os.Readlink("/proc/thread-self/ns/net")
	seen := map[string]bool{own: true, "": true}
	paths, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	var found []string
	for _, path := range paths {
		if name, err := os.Readlink(path); err == nil && !seen[name] {
			seen[name] = true
			found = append(found, path)
		}
	}
	const most = 64
	return found[:min(len(found), most)]
}

// subscribeIn subscribes in another network namespace. A socket stays in the one
// it was made in; the thread that went there is given up.
func subscribeIn(namespace string) (s sockets, err error) {
	onItsOwnThread(func() {
		ns, e := unix.Open(namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if e != nil {
			err = e
			return
		}
		defer unix.Close(ns)
		if e := unix.Setns(ns, unix.CLONE_NEWNET); e != nil {
			err = e
			return
		}
		s, err = subscribeHere()
	})
	return s, err
}

// onItsOwnThread runs what leaves a thread in a state that nobody else is to have: the
// thread ends with it. It is never the process's first one, which cannot end, and whose
// namespaces /proc shows as those of the process.
func onItsOwnThread(run func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
		if unix.Gettid() != os.Getpid() {
			run()
			return
		}
		onItsOwnThread(run) // on another one, as this one is taken
		runtime.UnlockOSThread()
	}()
	<-done
}

func subscribeHere() (s sockets, err error) {
	if s.all, err = openSocket(0, receiveBuffer, everyProcess); err != nil {
		return sockets{}, err
	}
	defer func() {
		if err != nil {
			_ = unix.Close(s.all)
			s = sockets{}
		}
	}()
	const listen = 1 // PROC_CN_MCAST_LISTEN
	if err := unix.Sendto(s.all, controlMessage(listen), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return s, os.NewSyscallError("sendto", err)
	}
	if err := confirmed(s.all); err != nil {
		return s, err
	}
	s.bell, err = openSocket(unix.SOCK_NONBLOCK, bellBuffer, whatPresses)
	return s, err
}

// bellBuffer holds some messages: the first one rings the bell, and more need not be kept.
const bellBuffer = 4 << 10

// openSocket opens a socket that gets the events that a filter lets pass. Go's poller waits
// for one that is not blocking (kind), and for no other.
func openSocket(kind, buffer int, program []unix.SockFilter) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|kind, unix.NETLINK_CONNECTOR)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
			fd = -1
		}
	}()
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer) // as much as is allowed
	}
	err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	if err != nil {
		return fd, os.NewSyscallError("attach the filter", err)
	}
	err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: connectorIndex})
	return fd, os.NewSyscallError("bind", err)
}

func controlMessage(op uint32) []byte {
	b := make([]byte, eventAt+4)
	order := binary.NativeEndian
	order.PutUint32(b, uint32(len(b)))
	order.PutUint16(b[4:], unix.NLMSG_DONE)
	order.PutUint32(b[12:], uint32(os.Getpid()))
	order.PutUint32(b[netlinkHeader:], connectorIndex)
	order.PutUint32(b[netlinkHeader+4:], connectorValue)
	order.PutUint16(b[netlinkHeader+16:], 4)
	order.PutUint32(b[eventAt:], op)
	return b
}

// confirmed waits for the kernel's acknowledgement, which the filter lets pass: a
// subscription from a pid namespace of its own is ignored in silence.
func confirmed(fd int) error {
	deadline := time.Now().Add(answerWithin)
	b := make([]byte, 256)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return errors.New("the kernel does not answer (in a pid namespace of its own?)")
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1); err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
		n, err := unix.Read(fd, b)
		if err != nil || n < eventData+4 {
			continue
		}
		if binary.NativeEndian.Uint32(b[eventAt:]) == 0 { // PROC_EVENT_NONE
			if errno := binary.NativeEndian.Uint32(b[eventData:]); errno != 0 {
				return fmt.Errorf("subscribing: %w", unix.Errno(errno))
			}
			return nil
		}
	}
}

// What filters are made of. They load words in network order.
const (
	bpfLoad  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	bpfEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	bpfSame  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_X
	bpfTax   = unix.BPF_MISC | unix.BPF_TAX
	bpfJump  = unix.BPF_JMP | unix.BPF_JA
	bpfRet   = unix.BPF_RET | unix.BPF_K
	bpfWhole = 0xffffffff
)

func swapped(v uint32) uint32 {
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], v)
	return binary.BigEndian.Uint32(b[:])
}

// everyProcess has the kernel drop what is not read: everything but acknowledgements
// and the forks, execs and ends of processes. Threads come and go far more often.
var everyProcess = []unix.SockFilter{
	{Code: bpfLoad, K: eventAt},
	{Code: bpfEqual, K: swapped(0), Jt: 12},                           // an acknowledgement: keep
	{Code: bpfEqual, K: swapped(uint32(ProcessExeced)), Jt: 11},       // keep
	{Code: bpfEqual, K: swapped(uint32(ProcessForked)), Jt: 5},        // look at the child
	{Code: bpfEqual, K: swapped(uint32(ProcessExited)), Jt: 0, Jf: 8}, // or drop
	{Code: bpfLoad, K: eventData},
	{Code: bpfTax},
	{Code: bpfLoad, K: eventData + 4}, // who ended: thread, process
	{Code: bpfJump, K: 3},
	{Code: bpfLoad, K: eventData + 8},
	{Code: bpfTax},
	{Code: bpfLoad, K: eventData + 12}, // the child: the same
	{Code: bpfSame, Jt: 1},             // keep what is a process
	{Code: bpfRet, K: 0},
	{Code: bpfRet, K: bpfWhole},
}

// whatPresses lets pass what may not wait: programs that begin, and processes that do not
// end well.
var whatPresses = []unix.SockFilter{
	{Code: bpfLoad, K: eventAt},
	{Code: bpfEqual, K: swapped(uint32(ProcessExeced)), Jt: 8},
	{Code: bpfEqual, K: swapped(uint32(ProcessExited)), Jf: 6},
	{Code: bpfLoad, K: eventData},
	{Code: bpfTax},
	{Code: bpfLoad, K: eventData + 4}, // who ended: thread, process
	{Code: bpfSame, Jf: 2},
	{Code: bpfLoad, K: eventData + 8}, // its status
	{Code: bpfEqual, K: 0, Jf: 1},
	{Code: bpfRet, K: 0},
	{Code: bpfRet, K: bpfWhole},
}

// batch reads many messages in one call.
type batch struct {
	messages [batchSize]mmsghdr
	buffers  [batchSize][128]byte // a message has 76 bytes
	vectors  [batchSize]unix.Iovec
	from     [batchSize]unix.RawSockaddrNetlink
}

const batchSize = 128

// mmsghdr is the kernel's struct mmsghdr.
type mmsghdr struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

func newBatch() *batch {
	b := &batch{}
	for i := range b.messages {
		b.vectors[i].Base = &b.buffers[i][0]
		b.vectors[i].SetLen(len(b.buffers[i]))
		h := &b.messages[i].header
		h.Iov, h.Name = &b.vectors[i], (*byte)(unsafe.Pointer(&b.from[i]))
		h.SetIovlen(1)
	}
	return b
}

// read gives the number of messages read. It never waits, so Go's scheduler is not
// told of the call: that would wake its monitor thread each time.
func (b *batch) read(fd int) (int, error) {
	for i := range b.messages {
		b.messages[i].header.Namelen = unix.SizeofSockaddrNetlink
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.messages[0])), batchSize, unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// message is one of those that were read; not ok when it is not the kernel's.
func (b *batch) message(i int) ([]byte, bool) {
	return b.buffers[i][:min(int(b.messages[i].length), len(b.buffers[i]))], b.from[i].Pid == 0
}
