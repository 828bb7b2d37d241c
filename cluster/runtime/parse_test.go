package runtime

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"whylet.dev/whylet/cluster/runtime/bridge"
	_ "whylet.dev/whylet/test/fixedseed"
)

func TestAttachedContainer(t *testing.T) {
	network := "whylet-0a1b2c3d"
	tests := []struct {
		file, id string
		ok       bool
	}{
		{network + "-4f5e-eth0", "4f5e", true},
		{network + "-4f5e-lo", "4f5e", true},
		{"whylet-00000000-4f5e-eth0", "", false},
		{network + "-eth0", "", false},
		{network, "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		if id, ok := attachedContainer(tt.file, network); id != tt.id || ok != tt.ok {
			t.Errorf("attachedContainer(%q) = %q, %v; want %q, %v", tt.file, id, ok, tt.id, tt.ok)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[0-9a-f]{1,64}`).Draw(t, "id")
		if got, ok := attachedContainer(network+"-"+id+"-eth0", network); !ok || got != id {
			t.Fatalf("got %q, %v", got, ok)
		}
	})
}

func FuzzAttachedContainer(f *testing.F) {
	f.Add("whylet-0a1b2c3d-4f5e-eth0")
	f.Fuzz(func(t *testing.T, file string) {
		id, ok := attachedContainer(file, "whylet-0a1b2c3d")
		if ok != (id != "") || !strings.Contains(file, id) {
			t.Errorf("%q gives %q, %v", file, id, ok)
		}
	})
}

func TestUnescapeMount(t *testing.T) {
	if got := unescapeMount(`/a\040b\011c\134d`); got != "/a b\tc\\d" {
		t.Errorf("got %q", got)
	}
}

// Sockets below the run directory must fit into sockaddr_un whatever the data
// directory is called, and two data directories never share one.
func TestRunDirIsShortAndUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringMatching(`/[a-z]{1,60}/[a-z]{1,60}`)
		a, b := path.Draw(t, "a"), path.Draw(t, "b")
		if len(RunDir(a)) > maxRunDir {
			t.Fatalf("%q has %d bytes", RunDir(a), len(RunDir(a)))
		}
		if a != b && (RunDir(a) == RunDir(b) || ID(a) == ID(b)) {
			t.Fatalf("%q and %q share %q", a, b, RunDir(a))
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []Config{
		{DataDir: "relative"},
		{DataDir: "/x", Bridge: "longer-than-the-kernel-allows"},
	} {
		if _, err := c.withDefaults(); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	for _, cidr := range []string{"10.0.0.0/31", "fd00::/64"} {
		if err := bridge.Ensure("whylet-x", netip.MustParsePrefix(cidr)); err == nil {
			t.Errorf("pod CIDR %s is accepted", cidr)
		}
	}
}

// The configuration says what the machine does not allow, and is the same for the
// same input, or containerd would be replaced at every start.
func TestContainerdConfig(t *testing.T) {
	c, err := testConfig("/data").withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	poor, err := containerdConfig(c, machine{}, "pause:1")
	if err != nil {
		t.Fatal(err)
	}
	rich, err := containerdConfig(c, machine{overlay: true, lowerOOMScore: true}, "pause:1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := containerdConfig(c, machine{overlay: true, lowerOOMScore: true}, "pause:1")
	if err != nil {
		t.Fatal(err)
	}
	if string(rich) != string(again) {
		t.Error("the same input gives two configurations")
	}
	for text, want := range map[string][]string{
		string(poor): {"restrict_oom_score_adj = true", "snapshotter = 'native'", "oom_score = 0", "'io.containerd.snapshotter.v1.overlayfs'"},
		string(rich): {"restrict_oom_score_adj = false", "snapshotter = 'overlayfs'", "oom_score = -999", "sandbox = 'pause:1'", "root = '/data/containerd'"},
	} {
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%q is not in\n%s", w, text)
			}
		}
	}
}

func TestChildEnv(t *testing.T) {
	got := strings.Join(childEnv([]string{"PATH=/bin", "NOTIFY_SOCKET=/x", "GOGC=50", "HOME=/root", "EMPTY="}, "/libexec"), " ")
	want := "HOME=/root EMPTY= PATH=/libexec:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLogStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", maxLog)+"\nthe end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lastLine(path); got != ": the end" {
		t.Errorf("last line %q", got)
	}
	limitLog(path)
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("after the cut: %v, %v", info, err)
	}
	if info, err := os.Stat(path + ".1"); err != nil || info.Size() < maxLog {
		t.Errorf("the copy: %v, %v", info, err)
	}
}

func TestEventsRead(t *testing.T) {
	e := Event{Kind: Exited, PID: 7, Err: fmt.Errorf("signal: killed"), Delay: firstDelay}
	if got := e.String(); got != "containerd Exited pid=7: signal: killed; next start in 100ms" {
		t.Error(got)
	}
}
