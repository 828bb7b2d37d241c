package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	netutils "k8s.io/utils/net"
)

// PortTakenError says that something else listens where the API server should.
type PortTakenError struct {
	// Address is host:port.
	Address string
	// PID and Command are who has it; 0 and empty when that could not be seen.
	PID     int
	Command string
}

func (e *PortTakenError) Error() string {
	return fmt.Sprintf("%s is taken by %s; stop it, or choose another port with --api-port", e.Address, e.Owner())
}

// listenAPI opens the API server's listeners: first the one for people, whose
// address the server takes for its own, then the one for pods, unless the first
// covers it.
func listenAPI(ctx context.Context, c Config) (net.Listener, error) {
	port := strconv.Itoa(c.APIPort)
	addresses := []string{net.JoinHostPort(c.APIAddress, port)}
	if !net.ParseIP(c.APIAddress).IsUnspecified() && c.APIAddress != c.HostAddress {
		addresses = append(addresses, net.JoinHostPort(c.HostAddress, port))
	}
	listener, err := netutils.MultiListen(ctx, "tcp", addresses...)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, portTaken(err, addresses[0])
	}
	if err != nil {
		return nil, fmt.Errorf("listen for the API: %w", err)
	}
	return listener, nil
}

// portTaken says who has the port that a listener did not get; fallback is its address
// where the error does not tell.
func portTaken(err error, fallback string) *PortTakenError {
	taken := &PortTakenError{Address: fallback}
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil {
		taken.Address = op.Addr.String()
	}
	if address, parsed := netip.ParseAddrPort(taken.Address); parsed == nil {
		taken.PID, taken.Command = PortOwner(int(address.Port()))
	}
	return taken
}

// Owner names who has it.
func (e *PortTakenError) Owner() string {
	if e.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d (%s)", e.PID, e.Command)
}

// PortOwner finds the process that listens on a TCP port of this network
// namespace, by the socket's inode. Anything that cannot be read is skipped:
// the answer only makes an error message better.
func PortOwner(port int) (pid int, command string) {
	wanted := listeningSockets(port)
	processes, err := procfs.AllProcs()
	if err != nil {
		return 0, ""
	}
	for _, process := range processes {
		targets, err := process.FileDescriptorTargets()
		if err != nil {
			continue
		}
		for _, target := range targets {
			if wanted[target] {
				command, _ := process.Comm()
				return process.PID, command
			}
		}
	}
	return 0, ""
}

// listeningSockets returns the /proc/PID/fd targets of sockets that listen on port.
func listeningSockets(port int) map[string]bool {
	out := map[string]bool{}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		sockets, err := netlink.SocketDiagTCP(family)
		if err != nil {
			continue
		}
		for _, socket := range sockets {
			if socket.State == netlink.TCP_LISTEN && int(socket.ID.SourcePort) == port {
				out[fmt.Sprintf("socket:[%d]", socket.INode)] = true
			}
		}
	}
	return out
}
