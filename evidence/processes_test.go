package evidence

import (
	"testing"
	"time"
)

// forked and exited are events that happen now.
func forked(parent, child int) ProcessEvent {
	return ProcessEvent{What: ProcessForked, At: monotonic(), Parent: parent, PID: child, Thread: child}
}

func exited(pid int, status WaitStatus) ProcessEvent {
	return ProcessEvent{What: ProcessExited, At: monotonic(), PID: pid, Thread: pid, Status: status}
}

func newTable() (*Processes, *[]EndedProcess) {
	ends := &[]EndedProcess{}
	p := NewProcesses(func(e EndedProcess) { *ends = append(*ends, e) })
	p.Command = func(int) string { return "name" }
	return p, ends
}

func TestProcessesKnowTheChildren(t *testing.T) {
	p, ends := newTable()
	p.Adopt("c", 10, time.Now())
	p.Take(forked(10, 11))
	p.Take(forked(11, 12))
	p.Take(forked(90, 91))
	p.Take(exited(91, 0))
	p.Take(exited(12, 0x0009))
	if len(*ends) != 1 || (*ends)[0].Container != "c" || (*ends)[0].Signal != 9 || (*ends)[0].Main || (*ends)[0].Parent != 11 {
		t.Errorf("told %+v", *ends)
	}
	if _, ended, pending := p.MainEnd("c"); ended || !pending {
		t.Errorf("main ended %v, pending %v", ended, pending)
	}
	p.Take(exited(10, 0x8900))
	if status, ended, _ := p.MainEnd("c"); !ended || status != 0x8900 {
		t.Errorf("main ended %v with %#x", ended, status)
	}
	if _, _, _, ok := p.Of(12); ok {
		t.Error("a process that ended is still known")
	}
}

func TestAMainProcessMayEndBeforeItIsKnown(t *testing.T) {
	p, _ := newTable()
	began := time.Now().Add(-time.Second)
	p.Take(exited(10, 0x0100))
	p.Adopt("c", 10, began)
	if status, ended, _ := p.MainEnd("c"); !ended || status != 0x0100 {
		t.Errorf("ended %v with %#x", ended, status)
	}
	// One that ended before the container began had the number before.
	p.Adopt("d", 10, time.Now().Add(time.Minute))
	if _, ended, _ := p.MainEnd("d"); ended {
		t.Error("an earlier process of the same number was taken for it")
	}
}

func TestOverrunIsNotWaitedFor(t *testing.T) {
	p, _ := newTable()
	p.Adopt("c", 10, time.Now())
	p.Take(forked(10, 11))
	p.Overrun()
	if _, ended, pending := p.MainEnd("c"); ended || pending {
		t.Errorf("ended %v, pending %v after events were lost", ended, pending)
	}
	if _, _, main, ok := p.Of(10); !ok || !main {
		t.Error("the main process was forgotten")
	}
	if _, _, _, ok := p.Of(11); ok {
		t.Error("a child is believed to live")
	}
}
