package evidence

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"whylet.dev/whylet/fact"
)

// A server that takes no more connections for now stops waiting for them: its event loop
// takes the listener out of what it asks epoll(7) about, and goes on with the connections
// that it has. One that hangs has not. /proc/PID/fdinfo shows what an epoll is asked about.

// full notes, of the container's listeners at which connections wait, how many their
// processes have taken, and whether they take no more. The sockets are in the order of what
// the look has.
func (l *Looker) full(looked *fact.Looked, sockets, open []Socket, among []int) {
	for i := range looked.Listeners {
		at := &looked.Listeners[i]
		if at.Backlog == 0 || at.Other {
			continue
		}
		for _, s := range open {
			if s.Port == sockets[i].Port && s.Inode != 0 { // one that nobody accepted belongs to nobody
				at.Taken++
			}
		}
		at.Paused = l.paused(sockets[i].Inode, among)
	}
}

// paused says whether a listener belongs to an event loop that waits for others of its files
// and not for it.
func (l *Looker) paused(inode uint64, among []int) bool {
	paused := false
	for _, pid := range among {
		fd, loops := l.held(pid, inode)
		if fd < 0 || !l.nonblocking(pid, fd) {
			continue // who blocks in accept has no need to ask
		}
		for _, loop := range loops {
			info, err := os.ReadFile(l.path(pid, filepath.Join("fdinfo", strconv.Itoa(loop))))
			waits := waitsFor(string(info))
			switch {
			case err != nil:
			case slices.Contains(waits, fd):
				return false
			case len(waits) > 0:
				paused = true
			}
		}
	}
	return paused
}

// held is the number under which a process has a socket open, -1 where it has not, and those
// of its epolls.
func (l *Looker) held(pid int, inode uint64) (fd int, loops []int) {
	fd = -1
	dir := l.path(pid, "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fd, nil
	}
	socket := "socket:[" + strconv.FormatUint(inode, 10) + "]"
	for _, entry := range entries {
		link, err := os.Readlink(filepath.Join(dir, entry.Name()))
		n, err2 := strconv.Atoi(entry.Name())
		switch {
		case err != nil || err2 != nil:
		case link == socket:
			fd = n
		case link == "anon_inode:[eventpoll]":
			loops = append(loops, n)
		}
	}
	return fd, loops
}

// nonblocking says whether an open file is in the mode that event loops need (O_NONBLOCK).
func (l *Looker) nonblocking(pid, fd int) bool {
	const nonblock = 0o4000 // asm-generic/fcntl.h
	info, err := os.ReadFile(l.path(pid, filepath.Join("fdinfo", strconv.Itoa(fd))))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(flags), 8, 64)
			return err == nil && n&nonblock != 0
		}
	}
	return false
}

// waitsFor are the numbers of the files of which an epoll tells when something can be read
// (fs/eventpoll.c, ep_show_fdinfo): "tfd:        5 events:       19 data: …".
func waitsFor(info string) []int {
	const in = 1 // EPOLLIN
	var all []int
	for line := range strings.Lines(info) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != "tfd:" || f[2] != "events:" {
			continue
		}
		fd, err := strconv.Atoi(f[1])
		events, err2 := strconv.ParseUint(f[3], 16, 32)
		if err == nil && err2 == nil && events&in != 0 {
			all = append(all, fd)
		}
	}
	return all
}
