package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// neededCapabilities are those without which no container starts, by their numbers
// (capabilities(7)); what else is lacking shows in the checks of its own.
var neededCapabilities = []struct {
	name   string
	number int
}{
	{"CHOWN", unix.CAP_CHOWN},
	{"DAC_OVERRIDE", unix.CAP_DAC_OVERRIDE},
	{"KILL", unix.CAP_KILL},
	{"MKNOD", unix.CAP_MKNOD},
	{"NET_ADMIN", unix.CAP_NET_ADMIN},
	{"SETGID", unix.CAP_SETGID},
	{"SETUID", unix.CAP_SETUID},
	{"SYS_ADMIN", unix.CAP_SYS_ADMIN},
	{"SYS_CHROOT", unix.CAP_SYS_CHROOT},
}

// checkPlace looks at where whylet itself was started: in a container that may do too
// little, or below a directory that is not the root of its mounts.
func checkPlace() []finding {
	if os.Geteuid() != 0 {
		return nil // said already
	}
	var list []finding
	if lacking := lackingCapabilities(procField("CapEff")); len(lacking) > 0 {
		f := finding{
			Name: "rights of root", Verdict: missing,
			Detail: "root has not all its capabilities here: it lacks CAP_" + strings.Join(lacking, ", CAP_"),
			Fix:    "start whylet as the machine's own root",
		}
		if what := container(); what != "" {
			f.Detail += "; this is a container (" + what + ")"
			f.Fix = "run the container with --privileged, or run whylet outside of it"
		}
		list = append(list, f)
	}
	if unix.Access("/sys/fs/cgroup", unix.W_OK) == unix.EROFS && version2() {
		list = append(list, finding{
			"cgroup file system", missing, "/sys/fs/cgroup is read-only", "mount -o remount,rw /sys/fs/cgroup, or run the container with --privileged",
		})
	}
	if inside, err := chrooted(); err == nil && inside {
		list = append(list, finding{
			"root directory", degraded,
			"whylet runs in a chroot: what enters a container from outside, such as kubectl exec, begins in the machine's root directory",
			"run it on the machine itself, or use pivot_root or systemd-nspawn in place of chroot",
		})
	}
	return list
}

// lackingCapabilities compares a set of capabilities, in hexadecimal, with what is
// needed. One that cannot be read lacks nothing.
func lackingCapabilities(set string) []string {
	var bits uint64
	if _, err := fmt.Sscanf(set, "%x", &bits); err != nil {
		return nil
	}
	var lacking []string
	for _, c := range neededCapabilities {
		if bits&(1<<c.number) == 0 {
			lacking = append(lacking, c.name)
		}
	}
	return lacking
}

// procField is a field of this process's status.
func procField(name string) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// container names what says that this is one; empty: nothing does.
func container() string {
	for _, file := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	if kind := os.Getenv("container"); kind != "" { // systemd's container interface
		return "container=" + kind
	}
	return ""
}

// version2 says whether /sys/fs/cgroup itself is the hierarchy of version 2.
func version2() bool {
	_, version := cgroupControllers()
	return version == 2
}

// chrooted does what a program does that joins a mount namespace, in a thread of its
// own: that ends in the namespace's root, and in a chroot this is another than before.
func chrooted() (inside bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		lockThread()
		inside, err = leavesRoot()
	}()
	<-done
	return inside, err
}

// leavesRoot changes the calling thread for good.
func leavesRoot() (bool, error) {
	var before, after unix.Stat_t
	if err := unix.Stat("/", &before); err != nil {
		return false, err
	}
	namespace, err := unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(namespace)
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return false, err
	}
	if err := unix.Setns(namespace, unix.CLONE_NEWNS); err != nil {
		return false, err
	}
	if err := unix.Stat("/", &after); err != nil {
		return false, err
	}
	return before.Dev != after.Dev || before.Ino != after.Ino, nil
}
