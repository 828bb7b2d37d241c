package sidecar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wireEnd is the node's end of the server pod's cable: all packets from and to
// the server come by here.
const wireEnd = "pod1"

// syn is the TCP flag that begins a connection's numbering.
const syn = 2

// runCapture writes every frame on the wire into a file, behind its length.
func runCapture(dir string) error {
	link, err := net.InterfaceByName(wireEnd)
	if err != nil {
		return err
	}
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in the network's order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		return os.NewSyscallError("socket AF_PACKET", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	file, err := os.Create(filepath.Join(dir, "wire"))
	if err != nil {
		return err
	}
	ready()
	frame := make([]byte, 1<<17)
	for {
		n, _, err := unix.Recvfrom(fd, frame[4:], 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("recvfrom", err)
		}
		binary.BigEndian.PutUint32(frame, uint32(n))
		if _, err := file.Write(frame[:4+n]); err != nil {
			return err
		}
	}
}

// runMark sends a datagram over the wire: what was sent before it has come by.
func runMark(dir string) error {
	mark, err := os.ReadFile(filepath.Join(dir, "mark"))
	if err != nil {
		return err
	}
	conn, err := net.Dial("udp", serverIP+":9")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.Write(mark)
	return err
}

// wire reads what has come by since the last call of it, which it returns as
// streams of TCP to and from port 8080 and as one heap of bytes.
func wire(t *testing.T, node, dir string, from *int) (streams map[string][]byte, raw []byte) {
	t.Helper()
	mark := fmt.Appendf(nil, "mark %d of the capture", *from)
	if err := os.WriteFile(filepath.Join(dir, "mark"), mark, 0o600); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if out, err := child(node, "mark", dir).CombinedOutput(); err != nil && time.Now().After(deadline) {
			t.Fatalf("send a mark: %v: %s", err, out)
		}
		data, err := os.ReadFile(filepath.Join(dir, "wire"))
		if err != nil {
			t.Fatal(err)
		}
		if raw = data[*from:]; bytes.Contains(raw, mark) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the mark did not come by")
		}
	}
	return collect(raw, from), raw
}

// collect puts the payloads of each direction of each connection in order. from
// is moved behind the last whole frame.
func collect(raw []byte, from *int) map[string][]byte {
	streams, first := map[string][]byte{}, map[string]uint32{}
	for len(raw) >= 4 {
		n := int(binary.BigEndian.Uint32(raw))
		if len(raw) < 4+n {
			break
		}
		frame := raw[4 : 4+n]
		raw, *from = raw[4+n:], *from+4+n
		if n < 34 || binary.BigEndian.Uint16(frame[12:]) != unix.ETH_P_IP || frame[23] != unix.IPPROTO_TCP {
			continue
		}
		ip := frame[14:]
		ip = ip[:binary.BigEndian.Uint16(ip[2:])] // without the padding
		tcp := ip[int(ip[0]&15)*4:]
		source, target := binary.BigEndian.Uint16(tcp), binary.BigEndian.Uint16(tcp[2:])
		if source != 8080 && target != 8080 {
			continue
		}
		name := fmt.Sprintf("%v:%d→%v:%d", net.IP(ip[12:16]), source, net.IP(ip[16:20]), target)
		sequence, payload := binary.BigEndian.Uint32(tcp[4:]), tcp[int(tcp[12]>>4)*4:]
		if tcp[13]&syn != 0 {
			first[name] = sequence + 1
			continue
		}
		at := int(sequence - first[name]) // what is sent again lands on itself
		if grow := at + len(payload) - len(streams[name]); len(payload) > 0 && grow > 0 {
			streams[name] = append(streams[name], make([]byte, grow)...)
		}
		if len(payload) > 0 {
			copy(streams[name][at:], payload)
		}
	}
	return streams
}

// tlsRecords counts the records with application data of a stream that is
// nothing but TLS records.
func tlsRecords(stream []byte) (data int, err error) {
	for len(stream) > 0 {
		if len(stream) < 5 || stream[0] < 20 || stream[0] > 23 || stream[1] != 3 {
			return data, fmt.Errorf("no TLS record: % x", stream[:min(len(stream), 16)])
		}
		n := 5 + int(binary.BigEndian.Uint16(stream[3:]))
		if len(stream) < n {
			return data, errors.New("half a TLS record")
		}
		if stream[0] == 23 {
			data++
		}
		stream = stream[n:]
	}
	return data, nil
}

// checkWire holds what came by to what should be seen of a request and its answer.
func checkWire(t *testing.T, streams map[string][]byte, raw []byte, inMesh bool) {
	t.Helper()
	words := [][]byte{[]byte("GET / HTTP/1.1"), []byte("hello " + serverIP[:len(serverIP)-1])}
	for _, word := range words {
		if bytes.Contains(raw, word) == inMesh {
			t.Errorf("in the mesh %v, and %q on the wire is %v", inMesh, word, !inMesh)
		}
	}
	if !inMesh {
		return
	}
	if len(streams) != 2 {
		t.Errorf("there are %d directions of connections, want 2", len(streams))
	}
	for name, stream := range streams {
		if n, err := tlsRecords(stream); err != nil || n == 0 {
			t.Errorf("%s: %d records with data, %v", name, n, err)
		}
	}
}
