package object

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// recorded is the machine in testdata/machine, but for what comes from the kernel
// directly.
func recorded(t *testing.T) Machine {
	t.Helper()
	m, err := ReadMachine("testdata/machine", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m.CPUs, m.Disk = 2, 50<<30
	return m
}

func TestReadMachine(t *testing.T) {
	want := Machine{
		ID:         "3d1219c7c4c5404aaa1f6d2a48adfda4",
		SystemUUID: "9c4ffbd8-9a9c-4b3f-8a4d-6a9f9f2c1d11",
		BootID:     "6b8f9c7e-1111-4222-8333-944455556666",
		Kernel:     "6.1.0-28-cloud", OSImage: "Debian GNU/Linux 12 (bookworm)",
		CPUs: 2, Memory: 24684092 << 10, Swap: 1048572 << 10, Disk: 50 << 30,
		HugePages: map[int64]int64{2 << 20: 32 << 20, 1 << 30: 0},
	}
	if got := recorded(t); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestThisMachine(t *testing.T) {
	m, err := ReadMachine("/", t.TempDir())
	if err != nil || m.Memory == 0 || m.Disk == 0 || m.CPUs == 0 || m.BootID == "" || m.Kernel == "" || m.OSImage == "" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestMachineThatSaysNothing(t *testing.T) {
	m, err := ReadMachine(t.TempDir(), "/no/such/dir")
	if err == nil || !strings.Contains(err.Error(), "memory of the machine") || !strings.Contains(err.Error(), "/no/such/dir") {
		t.Errorf("%v", err)
	}
	if m.ID != "" || m.SystemUUID != "" || m.Memory != 0 || m.Disk != 0 {
		t.Errorf("invented: %+v", m)
	}
}

func FuzzMachineFiles(f *testing.F) {
	f.Add("MemTotal: 1 kB\n", "PRETTY_NAME=x\n", "3\n")
	f.Add("MemTotal:\n:::\n", "PRETTY_NAME", "-1")
	f.Fuzz(func(t *testing.T, mem, release, pages string) {
		root := t.TempDir()
		for name, content := range map[string]string{
			"proc/meminfo": mem, "etc/os-release": release,
			"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": pages,
		} {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := ReadMachine(root, root)
		if (err == nil) != (m.Memory != 0) {
			t.Errorf("memory %d, error %v", m.Memory, err)
		}
	})
}

// A container that starts anew is another boot: its process 1 is another.
func TestBootIDOfAContainer(t *testing.T) {
	root := t.TempDir()
	write := func(file, content string) {
		t.Helper()
		file = filepath.Join(root, "proc", file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("sys/kernel/random/boot_id", "6b8f9c7e\n")
	for _, c := range []struct{ stat, want string }{
		{"", "6b8f9c7e"},
		{"1 (systemd) S 0 1 1 0 -1 4194560 76185 41 0 60 20 95 72 22 20 0 1 0 25 49", "6b8f9c7e"},
		{"1 (a) b) S 0 1 1 0 -1 4194560 76185 41 0 60 20 95 72 22 20 0 1 0 98765 49", "6b8f9c7e-98765"},
	} {
		write("1/stat", c.stat)
		if got := BootID(root); got != c.want {
			t.Errorf("%q: %s, want %s", c.stat, got, c.want)
		}
	}
}
