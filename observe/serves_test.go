package observe

import (
	"net"
	"os"
	"testing"
)

// The token goes to nobody but the process that is kubelet.
func TestServes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := serves(os.Getpid(), port); err != nil {
		t.Error(err)
	}
	if serves(os.Getppid(), port) == nil {
		t.Error("a port of this process is taken for its parent's")
	}
	l.Close()
	if serves(os.Getpid(), port) == nil {
		t.Error("a port that nobody holds is taken for this process's")
	}
}
