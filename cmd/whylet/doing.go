package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// doing tells other commands what the node's process does or waits for at the
// moment. The text is in a file in memory, which others find below /proc: it needs
// no room on a disk that may be full, and ends with the process.
type doing struct {
	mu   sync.Mutex
	file *os.File
}

// doingName is how such a file is recognised.
const doingName = "whylet-doing"

// say replaces the text; empty: nothing that anybody need wait for. What the
// kernel does not allow to be told stays untold.
func (d *doing) say(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file == nil {
		fd, err := unix.MemfdCreate(doingName, unix.MFD_CLOEXEC)
		if err != nil {
			return
		}
		d.file = os.NewFile(uintptr(fd), doingName)
	}
	if d.file.Truncate(0) == nil {
		_, _ = d.file.WriteAt([]byte(text), 0)
	}
}

// doingOf is what a process told, empty when it did not.
func doingOf(pid int) string {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(target, "/memfd:"+doingName+" ") {
			continue
		}
		text, _ := os.ReadFile(link)
		return string(text)
	}
	return ""
}

// toldReport also tells each step to who asks whylet status.
type toldReport struct {
	report
	doing *doing
}

func newToldReport(r report) toldReport { return toldReport{r, &doing{}} }

func (r toldReport) step(text string) {
	r.doing.say(text)
	r.report.step(text)
}

func (r toldReport) ready(i instance) {
	r.doing.say("")
	r.report.ready(i)
}
