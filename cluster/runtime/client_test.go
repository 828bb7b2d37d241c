package runtime

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Who listens and never answers is given up as soon as the process has ended, long
// before the timeout.
func TestWaitReadyNoticesTheEnd(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	gone := make(chan struct{})
	go func() {
		conn, err := l.Accept() // a call is on its way
		if err == nil {
			defer conn.Close()
		}
		close(gone)
		<-t.Context().Done()
	}()
	err = waitReady(t.Context(), "unix://"+socket, gone, time.Hour)
	if err == nil || !strings.Contains(err.Error(), "ended while starting") {
		t.Errorf("told %v", err)
	}
}
