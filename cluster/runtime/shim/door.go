package main

import (
	"flag"
	"fmt"
	"net"
	"os"

	bootapi "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	"google.golang.org/protobuf/proto"

	"whylet.dev/whylet/cluster/runtime/shim/group"
)

// addressVariable is where a shim is told its own address when it is started.
const addressVariable = "WHYLET_SHIM_ADDRESS"

// result is what containerd is told of a shim: apiVersion is the task API's version
// that both speak, with which the containers of a pod use its sandbox's shim.
func result(address string) *bootapi.BootstrapResult {
	return &bootapi.BootstrapResult{Version: apiVersion, Protocol: "ttrpc", Address: address}
}

// openDoor lets sandboxes in by a socket of the group's. An earlier shim of the group
// may have left its own, which is closed by now.
func (l *lingering) openDoor() error {
	answer, err := proto.Marshal(result(os.Getenv(addressVariable)))
	if err != nil {
		return fmt.Errorf("what to say at the door: %w", err)
	}
	// The flags are upstream's, as start has set them.
	door := group.Door(flag.Lookup("address").Value.String(), flag.Lookup("namespace").Value.String(), flag.Lookup("id").Value.String())
	if err := os.Remove(door); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("an old door: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: door, Net: "unix"})
	if err != nil {
		return fmt.Errorf("making a door: %w", err)
	}
	listener.SetUnlinkOnClose(false) // the next shim's door has the same name
	if err := os.Chmod(door, 0o600); err != nil {
		listener.Close()
		return fmt.Errorf("closing the door to others: %w", err)
	}
	go l.keepDoor(listener, answer)
	return nil
}

// keepDoor answers whoever knocks, as long as the shim stays for it. Where it cannot,
// it closes the door, and containerd is answered by grouped.Start.
func (l *lingering) keepDoor(listener net.Listener, answer []byte) {
	defer listener.Close()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if l.stay() {
			_, _ = conn.Write(answer) // Less than a socket holds, so it does not wait.
		}
		conn.Close()
	}
}
