package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

func TestClaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	lock, i, err := claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if i.Command != "" {
		t.Errorf("a fresh directory has the instance %+v", i)
	}
	if _, _, err := claim(dir); !errors.Is(err, errRunning) {
		t.Errorf("second claim: %v, want errRunning", err)
	}
	i.Command, i.Settings.NodeName = "up", "n1"
	if err := i.self(); err != nil {
		t.Fatal(err)
	}
	if err := i.write(dir); err != nil {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	lock, again, err := claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if again.Settings.NodeName != "n1" || !again.running() {
		t.Errorf("read back %+v, running %v", again, again.running())
	}
}

// Of a start that was refused nothing is left, and of a node everything.
func TestUnclaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	refuse := func(made bool) {
		t.Helper()
		lock, _, err := claim(dir)
		if err != nil {
			t.Fatal(err)
		}
		output, err := openOutput(dir)
		if err != nil {
			t.Fatal(err)
		}
		lock.Close()
		output.Close()
		unclaim(dir, made)
	}
	refuse(true)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	refuse(false)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("in a directory of the user's is left %v, %v", left, err)
	}
	if err := (instance{Command: "up"}).write(dir); err != nil {
		t.Fatal(err)
	}
	refuse(true)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("of a node is left %v, %v", left, err)
	}
}

// A lock that was taken away while somebody waited for it is no lock.
func TestInPlace(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !inPlace(f) {
		t.Error("a file that was just made is not in its place")
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if inPlace(f) {
		t.Error("a file that was removed is in its place")
	}
	if err := os.WriteFile(f.Name(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if inPlace(f) {
		t.Error("another file of the name counts as the one")
	}
}

// A pid that was used again by another process is not the node.
func TestRunningTellsProcessesApart(t *testing.T) {
	var i instance
	if err := i.self(); err != nil {
		t.Fatal(err)
	}
	other := i
	other.StartTicks++
	if other.running() {
		t.Error("a process with another start time counts as the node")
	}
	other = i
	other.BootID = "another boot"
	if other.running() {
		t.Error("a process of an earlier boot counts as the node")
	}
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	other = i
	other.PID = child.Process.Pid
	if other.running() {
		t.Error("a process that has ended counts as the node")
	}
}

func TestDamagedStateSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(instanceFile(dir), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := claim(dir); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("claim: %v", err)
	}
}

func TestMergedSettingsOfAnyHostAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := sanitiseNodeName(rapid.String().Draw(t, "host"))
		if why := validation.IsDNS1123Subdomain(name); len(why) > 0 {
			t.Fatalf("%q: %v", name, why)
		}
	})
	if got := sanitiseNodeName("My_Laptop.local"); got != "my-laptop.local" {
		t.Errorf("got %q", got)
	}
}

func TestCgroupRootsDiffer(t *testing.T) {
	if cgroupRoot(defaultDataDir) != "/whylet" {
		t.Error(cgroupRoot(defaultDataDir))
	}
	if a, b := cgroupRoot("/a"), cgroupRoot("/b"); a == b || !strings.HasPrefix(a, "/whylet-") {
		t.Error(a, b)
	}
}

// A detached node gets the flags that were given, as they were understood.
func TestDetachedArgs(t *testing.T) {
	cmd := newUpCommand(streams{})
	if err := cmd.ParseFlags([]string{"-d", "--api-port", "7443", "--node-name=n1"}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(detachedArgs(cmd), " ")
	if want := "up --detached --api-port=7443 --node-name=n1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// listen takes a port for the test and returns its address.
func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}
