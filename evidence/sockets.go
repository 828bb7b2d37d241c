package evidence

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Socket is a TCP socket that listens, one whose connection out is not answered, one that
// is connected, or one that was: one side has ended it, which the kernel remembers for a
// minute (TIME_WAIT).
type Socket struct {
	// Address is where it listens; of the others, where it is connected to.
	Address netip.AddrPort
	// Dialing tells the second kind, Open the third, Over the fourth.
	Dialing, Open, Over bool
	// Port is the socket's own.
	Port uint16
	// Waiting is the number of connections that wait to be accepted.
	Waiting int
	// Inode names the socket; /proc/PID/fd has it.
	Inode uint64
}

var errSocket = errors.New("not a table of TCP sockets")

// ParseSockets reads the sockets of /proc/PID/net/tcp or tcp6, but for those that others are
// just connecting to (the kernel's Documentation/networking/proc_net_tcp.rst).
func ParseSockets(table string) ([]Socket, error) {
	lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	if !strings.Contains(lines[0], "local_address") {
		return nil, errSocket
	}
	var all []Socket
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) < 10 {
			return all, fmt.Errorf("%w: %q", errSocket, line)
		}
		const established, synSent, synReceived, closed, listen, newSynReceived = "01", "02", "03", "07", "0A", "0C" // include/net/tcp_states.h
		at, state := f[2], f[3]
		switch state {
		case listen:
			at = f[1]
		case synReceived, closed, newSynReceived:
			continue
		}
		address, err := parseSocketAddress(at)
		own, ownErr := parseSocketAddress(f[1])
		if err := errors.Join(err, ownErr); err != nil {
			return all, err
		}
		// Of a listening socket, the receive queue is what waits to be accepted.
		_, rx, _ := strings.Cut(f[4], ":")
		waiting, err1 := strconv.ParseUint(rx, 16, 31)
		inode, err2 := strconv.ParseUint(f[9], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return all, fmt.Errorf("%w: %w", errSocket, err)
		}
		all = append(all, Socket{
			Address: address, Dialing: state == synSent, Open: state == established, Over: state != synSent && state != established && state != listen,
			Port: own.Port(), Waiting: int(waiting), Inode: inode,
		})
	}
	return all, nil
}

// parseSocketAddress reads 0100007F:1F90: each four bytes of the address are a
// number in the machine's own order, the port is not.
func parseSocketAddress(s string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(host)
	p, err2 := strconv.ParseUint(port, 16, 16)
	if err := errors.Join(err, err2); err != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, fmt.Errorf("%w: address %q", errSocket, s)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	a, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(a, uint16(p)), nil
}
