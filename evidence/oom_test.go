package evidence

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestOOMRecords reads the records of kernels from 4.19 on; testdata/README.md says
// which of them were recorded.
func TestOOMRecords(t *testing.T) {
	files, err := filepath.Glob("testdata/*.kmsg")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".kmsg"), func(t *testing.T) {
			var p OOMParser
			type kill struct {
				OOM
				Whose fact.Cgroup
			}
			kills := []kill{}
			for _, r := range records(t, file) {
				for _, k := range p.Take(r) {
					kills = append(kills, kill{k, fact.ParseCgroup(k.TaskCgroup)})
				}
			}
			got, err := json.MarshalIndent(kills, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".kmsg") + ".json"
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(want) != string(got)+"\n" {
				t.Errorf("%v; -update shows the difference:\n%s", err, got)
			}
		})
	}
}

// records splits a file as reads of /dev/kmsg would.
func records(t testing.TB, file string) []Record {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []Record
	for _, one := range splitRecords(data) {
		r, err := ParseRecord(one)
		if err != nil {
			t.Fatalf("%s: %v: %q", file, err, one)
		}
		all = append(all, r)
	}
	return all
}

// splitRecords: a line that begins with a space belongs to the one before.
func splitRecords(data []byte) [][]byte {
	var all [][]byte
	for _, line := range bytes.SplitAfter(data, []byte("\n")) {
		switch {
		case len(line) == 0:
		case line[0] == ' ' && len(all) > 0:
			all[len(all)-1] = append(all[len(all)-1], line...)
		default:
			all = append(all, bytes.Clone(line))
		}
	}
	return all
}

// The statistics of the cgroup tell files in memory from the memory of processes,
// in the order of version 1, of version 2, and of version 2 in one record.
func TestOOMStatistics(t *testing.T) {
	for name, lines := range map[string][]string{
		"version 1": {"rss 4096", "shmem 0", "total_cache 31457280", "total_rss 8192", "total_shmem 28672"},
		"version 2": {"anon 8192", "file 31457280", "shmem 28672", "shmem_thp 0"},
		"one":       {"anon 8192\\x0afile 31457280\\x0ashmem 28672\\x0afile_mapped 0"},
	} {
		var p OOMParser
		var kills []OOM
		text := append([]string{"dd invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=999"}, lines...)
		for i, line := range append(text, "Memory cgroup out of memory: Killed process 8840 (dd) total-vm:67804kB, anon-rss:15104kB, file-rss:1264kB, shmem-rss:0kB, UID:0 pgtables:68kB oom_score_adj:999") {
			r, err := ParseRecord(fmt.Appendf(nil, "6,%d,%d,-;%s", i, i, line))
			if err != nil {
				t.Fatal(err)
			}
			kills = append(kills, p.Take(r)...)
		}
		if len(kills) != 1 || kills[0].CgroupAnon != 8192 || kills[0].CgroupShmem != 28672 {
			t.Errorf("%s: %+v", name, kills)
		}
	}
}

// TestAnyLineMayBeMissing drops each record in turn: what is left never says of
// a kill what another one's records said.
func TestAnyLineMayBeMissing(t *testing.T) {
	files, err := filepath.Glob("testdata/*.kmsg")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		all := records(t, file)
		var whole OOMParser
		var want []OOM
		for _, r := range all {
			want = append(want, whole.Take(r)...)
		}
		for drop := range all {
			var p OOMParser
			for i, r := range all {
				if i == drop {
					continue
				}
				for _, k := range p.Take(r) {
					if !among(k, want) {
						t.Errorf("%s without record %d tells of %+v", file, drop, k.OOMKilled)
					}
				}
			}
		}
	}
}

// TestOthersWriteInBetween puts what has nothing to do with it between any two
// records: the kernel's other lines, and what a process wrote to look like a kill.
func TestOthersWriteInBetween(t *testing.T) {
	others := []Record{
		{Text: "hrtimer: interrupt took 17748640 ns"},
		{Text: "eth0: renamed from tmp8f1c0"},
		{Facility: 1, Text: "Memory cgroup out of memory: Killed process 1 (init) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"},
		{Facility: 1, Text: "sh invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"},
	}
	files, err := filepath.Glob("testdata/*.kmsg")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var alone, among OOMParser
		var want, got []OOM
		for _, r := range records(t, file) {
			want = append(want, alone.Take(r)...)
			got = append(got, among.Take(r)...)
			for _, other := range others {
				other.At, other.Caller = r.At, "T4242"
				if r.Caller == "" {
					other.Caller = ""
				}
				got = append(got, among.Take(other)...)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: with others in between %+v, without them %+v", file, got, want)
		}
	}
}

// The line of a kill alone, soon after another container died as a group, is none of
// that group's.
func TestGroupEnds(t *testing.T) {
	var p OOMParser
	var last time.Duration
	for _, r := range records(t, "testdata/6.6-v2.kmsg") {
		last = r.At
		p.Take(r)
	}
	line := "Memory cgroup out of memory: Killed process 4711 (dd) total-vm:67796kB, anon-rss:24256kB, file-rss:0kB, shmem-rss:912kB, UID:0 pgtables:80kB oom_score_adj:0"
	kills := p.Take(Record{At: last + 2*time.Second, Text: line})
	if len(kills) != 1 || kills[0].Group || kills[0].TaskCgroup != "" {
		t.Errorf("told as %+v", kills)
	}
}

// among: every part of the kill that is said is what was said of it before.
func among(k OOM, want []OOM) bool {
	for _, w := range want {
		same := func(a, b string) bool { return a == "" || a == b }
		if k.PID == w.PID && same(k.TaskCgroup, w.TaskCgroup) && same(k.OOMCgroup, w.OOMCgroup) &&
			(k.Limit == 0 || k.Limit == w.Limit) && same(k.Invoker, w.Invoker) {
			return true
		}
	}
	return false
}

func FuzzOOM(f *testing.F) {
	files, err := filepath.Glob("testdata/*.kmsg")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p OOMParser
		for _, one := range splitRecords(data) {
			r, err := ParseRecord(one)
			if err != nil {
				continue
			}
			for _, k := range p.Take(r) {
				if len(k.Tasks) > fact.MostTasks || k.AnonRSS < 0 || k.Limit < 0 || k.PID < 0 {
					t.Fatalf("%+v", k)
				}
				fact.ParseCgroup(k.TaskCgroup)
			}
		}
	})
}

func TestParseRecord(t *testing.T) {
	for text, want := range map[string]string{
		"6,339,5140900,-;NET: Registered protocol family 10\n":                   "NET: Registered protocol family 10",
		"30,340,5690716,-;udevd[80]: starting version 181\n":                     "udevd[80]: starting version 181",
		"6,341,1,-,caller=T7,x=y;a\\x0ab \\xzz\\\n SUBSYSTEM=acpi\n DEVICE=+x\n": "a\nb \\xzz\\",
		"6,1,2;no flags": "no flags",
		"6,1,2,c;":       "",
	} {
		r, err := ParseRecord([]byte(text))
		if err != nil || r.Text != want {
			t.Errorf("%q: %q %v", text, r.Text, err)
		}
	}
	for _, text := range []string{"", ";", "x", "6,1;x", "a,1,2,-;x", "6,-1,2,-;x", "6,1,99999999999999999999,-;x"} {
		if r, err := ParseRecord([]byte(text)); err == nil {
			t.Errorf("%q is taken for %+v", text, r)
		}
	}
}

// A victim that was the only process of its container was the main one.
func TestAlone(t *testing.T) {
	own := fact.OOMKilled{PID: 7, TaskCgroup: "/kubepods/podu/c", OOMCgroup: "/kubepods/podu/c", Tasks: []fact.OOMTask{{PID: 7}}}
	more, pods, other := own, own, own
	more.Tasks = []fact.OOMTask{{PID: 7}, {PID: 8}}
	pods.OOMCgroup = "/kubepods/podu"
	other.Tasks = []fact.OOMTask{{PID: 8}}
	for name, c := range map[string]struct {
		killed fact.OOMKilled
		alone  bool
	}{"alone": {own, true}, "with another": {more, false}, "the limit of the pod": {pods, false}, "the table has another": {other, false}} {
		if got := (OOM{OOMKilled: c.killed, TGID: 7}).alone(); got != c.alone {
			t.Errorf("%s: %v", name, got)
		}
	}
}
