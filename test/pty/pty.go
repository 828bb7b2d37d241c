// Package pty gives tests a terminal: one end is for the program, the other for the test,
// which reads what is shown and types.
package pty

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal is the test's end. It may be used from several goroutines.
type Terminal struct {
	// Program is the end for the program, as its standard streams.
	Program *os.File
	master  *os.File

	mu    sync.Mutex
	shown bytes.Buffer
}

// Open makes a terminal of that many columns, which is closed with the test.
func Open(t testing.TB, columns uint16) *Terminal {
	t.Helper()
	terminal, err := open(columns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = terminal.Program.Close()
		_ = terminal.master.Close()
	})
	go terminal.read()
	return terminal
}

func open(columns uint16) (*Terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		_ = master.Close()
		return nil, fmt.Errorf("set the terminal up: %w", err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		_ = master.Close()
		return nil, err
	}
	return &Terminal{Program: program, master: master}, nil
}

func (t *Terminal) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := t.master.Read(buffer)
		t.mu.Lock()
		t.shown.Write(buffer[:n])
		t.mu.Unlock()
		if err != nil {
			return // the program's end is closed
		}
	}
}

// Shown is all that was written until now, escape sequences included.
func (t *Terminal) Shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown.String()
}

// Type types; \x03 is Ctrl-C.
func (t *Terminal) Type(keys string) error {
	_, err := t.master.WriteString(keys)
	return err
}
