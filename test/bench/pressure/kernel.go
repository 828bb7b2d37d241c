package main

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
)

// kernelLog reads in the kernel's log what it killed for want of memory.
type kernelLog struct {
	fd     int // 0: none is open
	parser evidence.OOMParser
}

// kill is a process that the kernel killed.
type kill struct {
	pod     types.UID
	command string
}

// open begins at the log's end.
func (k *kernelLog) open() error {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if _, err := unix.Seek(fd, 0, io.SeekEnd); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	k.fd = fd
	return nil
}

func (k *kernelLog) close() {
	if k.works() {
		_ = unix.Close(k.fd)
	}
}

func (k *kernelLog) works() bool { return k.fd > 0 }

// kills are those since the last call. The kernel's log is short: after very many
// kills the first ones are missing.
func (k *kernelLog) kills() (all []kill) {
	buf := make([]byte, 16<<10)
	for k.works() {
		n, err := unix.Read(k.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EPIPE):
			k.parser.Forget()
			continue
		case err != nil || n == 0:
			return all // EAGAIN: there is nothing more
		}
		record, err := evidence.ParseRecord(buf[:n])
		if err != nil {
			continue
		}
		for _, o := range k.parser.Take(record) {
			all = append(all, kill{fact.ParseCgroup(o.TaskCgroup).Pod, o.Command})
		}
	}
	return all
}
