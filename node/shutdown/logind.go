package shutdown

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/godbus/dbus/v5"
)

// What systemd-logind is called on the bus (org.freedesktop.login1(5)).
const (
	loginName  = "org.freedesktop.login1"
	loginPath  = dbus.ObjectPath("/org/freedesktop/login1")
	loginIface = "org.freedesktop.login1.Manager"
	announced  = "PrepareForShutdown"
)

// Logind is the connection to systemd-logind. It implements [Bus].
type Logind struct {
	conn      *dbus.Conn
	shutdowns chan bool
	// confDir is where logind looks for settings of others.
	confDir string
}

// callWithin bounds a call of the bus.
const callWithin = 10 * time.Second

// ConnectLogind connects to the machine's system bus, and hears of shutdowns from then on.
func ConnectLogind(ctx context.Context) (Bus, error) {
	return connectLogind(ctx, "/etc/systemd/logind.conf.d")
}

func connectLogind(ctx context.Context, confDir string) (Bus, error) {
	conn, err := dbus.ConnectSystemBus()
	if err != nil {
		return nil, fmt.Errorf("connecting to the system's D-Bus: %w", err)
	}
	l := &Logind{conn: conn, shutdowns: make(chan bool, 1), confDir: confDir}
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	err = conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(loginName), dbus.WithMatchObjectPath(loginPath), dbus.WithMatchInterface(loginIface), dbus.WithMatchMember(announced))
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("listening to systemd-logind: %w", err)
	}
	go l.follow(signals)
	return l, nil
}

// follow passes on what logind announces until the connection ends.
func (l *Logind) follow(signals <-chan *dbus.Signal) {
	defer close(l.shutdowns)
	for s := range signals {
		if s.Name != loginIface+"."+announced || s.Path != loginPath || len(s.Body) == 0 || s.Sender != l.owner() {
			continue // a signal that somebody else sent to this connection by its name
		}
		begins, ok := s.Body[0].(bool)
		if !ok {
			continue
		}
		select {
		case l.shutdowns <- begins:
		case <-l.conn.Context().Done():
			return
		}
	}
}

// owner returns the unique name of logind on the bus, which changes when it restarts; empty where it has none.
func (l *Logind) owner() string {
	var name string
	ctx, cancel := context.WithTimeout(l.conn.Context(), callWithin)
	defer cancel()
	if l.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, loginName).Store(&name) != nil {
		return ""
	}
	return name
}

// Shutdowns implements [Bus].
func (l *Logind) Shutdowns() <-chan bool { return l.shutdowns }

// Close implements [Bus].
func (l *Logind) Close() error { return l.conn.Close() }

func (l *Logind) call(name, path, method string, args ...any) *dbus.Call {
	ctx, cancel := context.WithTimeout(l.conn.Context(), callWithin)
	defer cancel()
	return l.conn.Object(name, dbus.ObjectPath(path)).CallWithContext(ctx, method, 0, args...)
}

// MaxDelay implements [Bus].
func (l *Logind) MaxDelay() (time.Duration, error) {
	var value dbus.Variant
	err := l.call(loginName, string(loginPath), "org.freedesktop.DBus.Properties.Get", loginIface, "InhibitDelayMaxUSec").Store(&value)
	if err != nil {
		return 0, fmt.Errorf("asking systemd-logind how long a shutdown may be delayed: %w", err)
	}
	micros, ok := value.Value().(uint64)
	if !ok {
		return 0, fmt.Errorf("systemd-logind says %v for how long a shutdown may be delayed", value)
	}
	return time.Duration(min(micros, uint64(1<<40))) * time.Microsecond, nil
}

// Begun implements [Bus].
func (l *Logind) Begun() (begun bool, err error) {
	var value dbus.Variant
	err = l.call(loginName, string(loginPath), "org.freedesktop.DBus.Properties.Get", loginIface, "PreparingForShutdown").Store(&value)
	if err == nil {
		err = value.Store(&begun)
	}
	if err != nil {
		return false, fmt.Errorf("asking systemd-logind whether the machine shuts down: %w", err)
	}
	return begun, nil
}

// SetMaxDelay implements [Bus], by a file of settings for logind, which then reads them again.
func (l *Logind) SetMaxDelay(d time.Duration) error {
	if err := os.MkdirAll(l.confDir, 0o755); err != nil {
		return fmt.Errorf("making the directory of logind's settings: %w", err)
	}
	text := fmt.Sprintf("# Written by whylet for --shutdown-grace-period: its pods have so long to end.\n[Login]\nInhibitDelayMaxSec=%d\n", int64((d+time.Second-1)/time.Second))
	if err := os.WriteFile(filepath.Join(l.confDir, "99-whylet.conf"), []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing logind's settings: %w", err)
	}
	const hangUp = int32(1)
	err := l.call("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager.KillUnit", "systemd-logind.service", "all", hangUp).Err
	if err != nil {
		return fmt.Errorf("having systemd-logind read its settings: %w", err)
	}
	return nil
}

// Delay implements [Bus].
func (l *Logind) Delay() (io.Closer, error) {
	var fd dbus.UnixFD
	err := l.call(loginName, string(loginPath), loginIface+".Inhibit", "shutdown", "whylet", "pods are to end before the machine does", "delay").Store(&fd)
	if err != nil {
		return nil, fmt.Errorf("delaying shutdowns by systemd-logind: %w", err)
	}
	return os.NewFile(uintptr(fd), "shutdown-delay"), nil
}
