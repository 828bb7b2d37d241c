package shutdown

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
`

// startBus starts a private bus and makes it the system's for this process.
func startBus(t *testing.T) {
	t.Helper()
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("dbus-daemon is not installed (Debian's dbus-daemon)")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "bus.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, busConfig, filepath.Join(dir, "bus")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(daemon, "--config-file="+config, "--nofork", "--nopidfile", "--print-address")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", strings.TrimSpace(address))
}

// login stands in for systemd-logind, and for the part of systemd that makes it read its
// settings again.
type login struct {
	conn  *dbus.Conn
	props *prop.Properties
	confs string

	mu    sync.Mutex
	locks []held
}

// held is a lock: the end that stays here, and our copy of the one that was given away.
type held struct{ ours, given *os.File }

func startLogin(t *testing.T) *login {
	t.Helper()
	conn, err := dbus.ConnectSystemBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	l := &login{conn: conn, confs: t.TempDir()}
	err = conn.Export(l, loginPath, loginIface)
	if err == nil {
		l.props, err = prop.Export(conn, loginPath, prop.Map{loginIface: {"InhibitDelayMaxUSec": {Value: uint64(5_000_000)}, "PreparingForShutdown": {Value: false}}})
	}
	if err == nil {
		err = conn.Export(systemd{l}, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
	}
	for _, name := range []string{loginName, "org.freedesktop.systemd1"} {
		if err == nil {
			_, err = conn.RequestName(name, dbus.NameFlagDoNotQueue)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Inhibit is logind's method.
func (l *login) Inhibit(what, who, why, mode string) (dbus.UnixFD, *dbus.Error) {
	if what != "shutdown" || mode != "delay" || who == "" || why == "" {
		return 0, dbus.MakeFailedError(fmt.Errorf("asked to %s %s", mode, what))
	}
	ours, given, err := os.Pipe()
	if err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locks = append(l.locks, held{ours, given})
	return dbus.UnixFD(given.Fd()), nil
}

// released waits until whoever took the only lock closes it. It may be called once the lock is
// known to have arrived.
func (l *login) released(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.locks) != 1 {
		t.Fatalf("%d locks were taken", len(l.locks))
	}
	h := l.locks[0]
	h.given.Close()
	defer h.ours.Close()
	if err := h.ours.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ours.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the lock is not released: %v", err)
	}
}

type systemd struct{ l *login }

// KillUnit is systemd's method: logind reads its settings when it is sent SIGHUP.
func (s systemd) KillUnit(unit, who string, signal int32) *dbus.Error {
	text, err := os.ReadFile(filepath.Join(s.l.confs, "99-whylet.conf"))
	var seconds uint64
	if err == nil {
		_, after, _ := strings.Cut(string(text), "InhibitDelayMaxSec=")
		_, err = fmt.Sscan(after, &seconds)
	}
	if err != nil || unit != "systemd-logind.service" || signal != 1 {
		return dbus.MakeFailedError(fmt.Errorf("signal %d to %s: %w", signal, unit, err))
	}
	s.l.props.SetMust(loginIface, "InhibitDelayMaxUSec", seconds*1_000_000)
	return nil
}

func (l *login) announce(t *testing.T, begins bool) {
	t.Helper()
	if err := l.conn.Emit(loginPath, loginIface+"."+announced, begins); err != nil {
		t.Fatal(err)
	}
}

// On a real bus: the lock, the time, and what is announced.
func TestLogind(t *testing.T) {
	startBus(t)
	l := startLogin(t)
	bus, err := connectLogind(t.Context(), l.confs)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	if d, err := bus.MaxDelay(); err != nil || d != 5*time.Second {
		t.Errorf("a shutdown is delayed for %v, %v", d, err)
	}
	for _, begun := range []bool{true, false} {
		l.props.SetMust(loginIface, "PreparingForShutdown", begun)
		if got, err := bus.Begun(); err != nil || got != begun {
			t.Errorf("that a shutdown has begun is %t, %v, and not %t", got, err, begun)
		}
	}
	if err := bus.SetMaxDelay(90 * time.Second); err != nil {
		t.Fatal(err)
	}
	if d, err := bus.MaxDelay(); err != nil || d != 90*time.Second {
		t.Errorf("afterwards it is delayed for %v, %v", d, err)
	}
	held, err := bus.Delay()
	if err != nil {
		t.Fatal(err)
	}
	for _, begins := range []bool{true, false} {
		l.announce(t, begins)
		select {
		case got, ok := <-bus.Shutdowns():
			if !ok || got != begins {
				t.Errorf("%t was announced, and %t (%t) heard", begins, got, ok)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%t was announced, and not heard", begins)
		}
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	l.released(t)
	l.conn.Close()
	bus.Close()
	select {
	case _, ok := <-bus.Shutdowns():
		if ok {
			t.Error("something is announced after the end")
		}
	case <-time.After(10 * time.Second):
		t.Error("the end of the bus is not heard")
	}
}

// The manager on a real bus: logind sees the lock until the pods are down.
func TestManagerOnABus(t *testing.T) {
	startBus(t)
	l := startLogin(t)
	m := newMachine(t, []Period{{0, 20 * time.Second}, {SystemCritical, 10 * time.Second}})
	m.manager.c.Connect = func(ctx context.Context) (Bus, error) { return connectLogind(ctx, l.confs) }
	m.pod("web", 0, 5)
	m.run()
	// It is heard from the moment that the manager listens; until then it is said again.
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(20 * time.Second); !m.manager.Begun() && time.Now().Before(deadline); <-again.C {
		l.announce(t, true)
	}
	m.until("the pod is ended", func() bool { return len(m.ended) == 1 && m.graces["web"] == 5 })
	if got := l.props.GetMust(loginIface, "InhibitDelayMaxUSec"); got != uint64(30_000_000) {
		t.Errorf("a shutdown is delayed for %v µs", got)
	}
	l.released(t)
}
