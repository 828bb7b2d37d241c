package evidence

import (
	"regexp"
	"strconv"
	"time"

	"whylet.dev/whylet/fact"
)

// xid matches an error report of NVIDIA's driver (docs.nvidia.com/deploy/xid-errors). The
// parts are the GPU's PCI address, the number, and the rest. A partition of the GPU (MIG)
// stands behind the address; drivers before 352 leave "PCI:" out.
var (
	xid     = regexp.MustCompile(`^NVRM: Xid \((?:PCI:)?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-9])?)(?: [^)]{1,32})?\): (\d{1,4})(?:, *(.*))?$`)
	xidPID  = regexp.MustCompile(`\bpid='?(\d{1,10})\b`)
	xidName = regexp.MustCompile(`\bname='?([^,'<>]{1,64})`)
)

const (
	// maxGPUMessage bounds what is kept of an error report, in bytes.
	maxGPUMessage = 300
	// sameGPUErrorEvery is how often the same error of a process is told: a broken kernel
	// of a program reports it for every block of threads.
	sameGPUErrorEvery = 10 * time.Second
	// maxGPUErrors bounds how many different errors are kept in mind for that.
	maxGPUErrors = 256
)

// ParseXid reads a GPU error out of a record of the kernel's log; ok is false for any other
// record. Records of a facility other than the kernel's own are ignored, because any
// privileged process can write them.
func ParseXid(r Record) (e fact.GPUError, ok bool) {
	if r.Facility != 0 {
		return e, false
	}
	m := xid.FindStringSubmatch(r.Text)
	if m == nil {
		return e, false
	}
	e.Device, e.Message = m[1], bounded(m[3], maxGPUMessage)
	e.Code, _ = strconv.Atoi(m[2])
	if pid := xidPID.FindStringSubmatch(m[3]); pid != nil {
		e.PID, _ = strconv.Atoi(pid[1])
	}
	if name := xidName.FindStringSubmatch(m[3]); name != nil {
		e.Command = name[1]
	}
	return e, true
}

// bounded cuts a text to so many bytes, between characters.
func bounded(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most]
}

// gpuError returns the fact of a GPU error, with the container of the process that the
// driver names; ok is false where the same error was told a moment ago.
func (r *kernelReader) gpuError(e fact.GPUError, at time.Time, backlog bool) (f fact.Fact, ok bool) {
	key := recordKey(e)
	if last, told := r.gpuToldAt[key]; told && at.Sub(last) < sameGPUErrorEvery {
		return f, false
	}
	if r.gpuToldAt == nil || len(r.gpuToldAt) >= maxGPUErrors {
		r.gpuToldAt = map[any]time.Time{}
	}
	r.gpuToldAt[key] = at
	f = fact.Fact{At: at, Body: e}
	if backlog || e.PID == 0 {
		return f, true // its number may be another process's by now
	}
	if id, owned := r.Containers.Owner(e.PID); owned {
		if c, known := r.Containers.Container(id); known {
			f.Pod, f.Container, f.Attempt = c.Pod, c.Name, c.Attempt
		}
	}
	return f, true
}
