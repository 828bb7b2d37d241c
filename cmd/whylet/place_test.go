package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLackingCapabilities(t *testing.T) {
	for set, want := range map[string]string{
		"000001ffffffffff": "",
		"000001fffffdffff": "",
		// What docker leaves a container by default.
		"00000000a80425fb": "NET_ADMIN SYS_ADMIN",
		"0000000000000000": "CHOWN DAC_OVERRIDE KILL MKNOD NET_ADMIN SETGID SETUID SYS_ADMIN SYS_CHROOT",
		"":                 "",
	} {
		if got := strings.Join(lackingCapabilities(set), " "); got != want {
			t.Errorf("%s lacks %q, want %q", set, got, want)
		}
	}
}

// A chroot is recognised, and the machine itself is none. The test runs itself in one
// that is made of bind mounts, which end with their namespace.
func TestChrooted(t *testing.T) {
	if os.Getenv("WHYLET_TEST_CHROOTED") != "" {
		inside, err := chrooted()
		fmt.Println("chrooted:", inside, err)
		os.Exit(0)
	}
	if os.Geteuid() != 0 {
		t.Skip("chroot(2) needs root")
	}
	if inside, err := chrooted(); err != nil || inside {
		t.Errorf("here: %v, %v", inside, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	script := `mount --make-rprivate / && mount -t tmpfs none "$0" && cd "$0" && mkdir proc tmp && mount -t proc proc proc &&
for dir in usr bin lib lib64; do [ -e /$dir ] || continue; mkdir $dir; mount --bind /$dir $dir; done
touch tmp/self && mount --bind "$1" tmp/self && exec chroot "$0" /tmp/self -test.run '^TestChrooted$'`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", script, root, self)
	cmd.Env = append(os.Environ(), "WHYLET_TEST_CHROOTED=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "chrooted: true <nil>") {
		t.Errorf("in a chroot: %v: %s", err, out)
	}
}
