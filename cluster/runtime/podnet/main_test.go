package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"syscall"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The test binary plays three parts: the tests, the tests again in network and
// mount namespaces of their own, with which all that they make goes, and the
// plugin, as which the CNI library starts it.
const inNamespace = "PODNET_TEST_IN_NAMESPACE"

func TestMain(m *testing.M) {
	if os.Getenv("CNI_COMMAND") != "" {
		main()
		return
	}
	if os.Geteuid() == 0 && os.Getenv(inNamespace) == "" {
		os.Exit(rerun())
	}
	os.Exit(m.Run())
}

func rerun() int {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "namespaces for the tests:", err)
		return 1
	}
	return 0
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces")
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("needs nft (apt-get install nftables)")
	}
	up(t, "lo")
	for _, name := range []string{"ip_forward", "conf/all/forwarding"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte("1"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func up(t testing.TB, name string) {
	t.Helper()
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		t.Fatal(name, err)
	}
}

// newNamespace is the network namespace of a pod, by the path of a mount, as
// containerd makes it.
func newNamespace(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "netns")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		goruntime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), path, "", unix.MS_BIND, "")
		}
		failed <- err
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	inside(t, path, func() { up(t, "lo") })
	return path
}

// inside runs do in the namespace.
func inside(t testing.TB, path string, do func()) {
	t.Helper()
	err := ns.WithNetNSPath(path, func(ns.NetNS) error {
		do()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
