package main

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// notified listens in systemd's place.
func notified(t *testing.T) *net.UnixConn {
	t.Helper()
	address := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}
	conn, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", address.Name)
	return conn
}

func heard(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// systemd is told while the node starts, and from then on only by the node's own beats.
func TestWatchdog(t *testing.T) {
	conn := notified(t)
	t.Setenv("WATCHDOG_USEC", "30000")
	w := newWatchdog(slog.New(slog.DiscardHandler))
	if w.every != 10*time.Millisecond {
		t.Fatalf("every %v", w.every)
	}
	done := make(chan struct{})
	go func() { defer close(done); w.whileStarting(context.Background()) }()
	for range 3 {
		if got := heard(t, conn); got != "WATCHDOG=1" {
			t.Fatalf("%q", got)
		}
	}
	w.beat()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it stands in for a node that beats")
	}
	w.beat()
	if got := heard(t, conn); got != "WATCHDOG=1" {
		t.Fatalf("%q", got)
	}
}

func TestNoWatchdog(t *testing.T) {
	for _, usec := range []string{"", "soon", "-1"} {
		t.Setenv("WATCHDOG_USEC", usec)
		if w := newWatchdog(slog.New(slog.DiscardHandler)); w.every != 0 {
			t.Errorf("WATCHDOG_USEC=%s: every %v", usec, w.every)
		}
	}
	t.Setenv("WATCHDOG_USEC", "30000")
	t.Setenv("WATCHDOG_PID", "1")
	if w := newWatchdog(slog.New(slog.DiscardHandler)); w.every != 0 {
		t.Error("it answers for another process")
	}
}
