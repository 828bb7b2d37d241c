package evidence

import (
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

var xidLines = map[string]fact.GPUError{
	"NVRM: Xid (PCI:0000:3b:00): 79, pid=2501, name=python3, GPU has fallen off the bus.": {
		Device: "0000:3b:00", Code: 79, PID: 2501, Command: "python3", Message: "pid=2501, name=python3, GPU has fallen off the bus.",
	},
	"NVRM: Xid (PCI:0000:07:00): 43, pid='<unknown>', name=<unknown>, Ch 00000010": {
		Device: "0000:07:00", Code: 43, Message: "pid='<unknown>', name=<unknown>, Ch 00000010",
	},
	"NVRM: Xid (PCI:0000:3b:00 GPU-I:01): 31, pid=17, name=train, Ch 00000008, intr 00000000. MMU Fault": {
		Device: "0000:3b:00", Code: 31, PID: 17, Command: "train", Message: "pid=17, name=train, Ch 00000008, intr 00000000. MMU Fault",
	},
	"NVRM: Xid (0000:03:00): 13, Graphics SM Warp Exception": {Device: "0000:03:00", Code: 13, Message: "Graphics SM Warp Exception"},
	"NVRM: Xid (PCI:00000000:C1:00): 119, pid=3, name=nv-hostengine, Timeout after 6s of waiting for RPC response from GPU1 GSP!": {
		Device: "00000000:C1:00", Code: 119, PID: 3, Command: "nv-hostengine",
		Message: "pid=3, name=nv-hostengine, Timeout after 6s of waiting for RPC response from GPU1 GSP!",
	},
}

func TestParseXid(t *testing.T) {
	for line, want := range xidLines {
		if got, ok := ParseXid(Record{Text: line}); !ok || got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", line, got, want)
		}
		if _, ok := ParseXid(Record{Text: line, Facility: 1}); ok {
			t.Errorf("a process's own line is believed: %s", line)
		}
	}
	for _, line := range []string{
		"NVRM: GPU at PCI:0000:3b:00: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7", "NVRM: Xid", "NVRM: Xid (PCI:x): 3", "note: NVRM: Xid (PCI:0000:3b:00): 79",
	} {
		if e, ok := ParseXid(Record{Text: line}); ok {
			t.Errorf("%q is taken for %+v", line, e)
		}
	}
}

func FuzzParseXid(f *testing.F) {
	for line := range xidLines {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, ok := ParseXid(Record{Text: line})
		if !ok {
			return
		}
		if len(e.Message) > maxGPUMessage || utf8.ValidString(line) && !utf8.ValidString(e.Message) || e.Device == "" || e.Code < 0 || e.PID < 0 {
			t.Errorf("%q: %+v", line, e)
		}
	})
}

// oneContainer knows one container, of process 17.
type oneContainer struct{}

func (oneContainer) Container(id string) (Container, bool) {
	return Container{Pod: fact.Pod{Namespace: "ns", Name: "gpu", UID: "u"}, Name: "train", Attempt: 2}, id == "c1"
}
func (oneContainer) Pod(types.UID) (fact.Pod, bool) { return fact.Pod{}, false }
func (oneContainer) Running() map[string]Container  { return nil }
func (oneContainer) Owner(pid int) (string, bool)   { return "c1", pid == 17 }

// A GPU error is a fact of the container whose process the driver names, at most once in ten
// seconds, and is not told again by the next agent.
func TestGPUErrors(t *testing.T) {
	var told []fact.Fact
	k := Kernel{Containers: oneContainer{}, Log: slog.New(slog.DiscardHandler)}
	r := kernelReader{Kernel: k, emit: func(f fact.Fact) { told = append(told, f) }}
	say := func(seq string, line string) {
		t.Helper()
		r.take(t.Context(), []byte("3,"+seq+","+seq+"000000,-;"+line+"\n"))
	}
	say("1", "NVRM: Xid (PCI:0000:3b:00): 31, pid=17, name=train, MMU Fault")
	say("2", "NVRM: Xid (PCI:0000:3b:00): 31, pid=17, name=train, MMU Fault")
	say("3", "NVRM: Xid (PCI:0000:3b:00): 79, pid=99, name=other, GPU has fallen off the bus.")
	if len(told) != 2 {
		t.Fatalf("told: %+v", told)
	}
	if f := told[0]; f.Pod.Name != "gpu" || f.Container != "train" || f.Attempt != 2 || f.At.IsZero() {
		t.Errorf("the first is %+v", f)
	}
	if f := told[1]; f.Pod.UID != "" || fact.Of[fact.GPUError](&f).Code != 79 {
		t.Errorf("the second is %+v", f)
	}
	known := Reported(told)
	if !known(told[0].Body, told[0].At.Add(time.Second)) || known(told[0].Body, told[0].At.Add(time.Hour)) || known(fact.OOMKilled{PID: 17}, told[0].At) {
		t.Error("a fact is not told from others")
	}
	if strings.Contains(fact.Of[fact.GPUError](&told[0]).Message, "\n") {
		t.Error("the message has a line break")
	}
}
