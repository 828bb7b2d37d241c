package words

import (
	"regexp"
	"strings"
)

// The words of runc 1.5, and of the kernel that it hands on, when a container cannot
// be made or started. CRI has no codes for these.
var (
	StoppedBeforeStart = says("runc 1.5, libcontainer/container_linux.go, Exec",
		[]string{"cannot start a container that has stopped"},
		"OCI runtime start failed: /usr/bin/runc did not terminate successfully: exit status 1: cannot start a container that has stopped\n")
	InitOOM = says("runc 1.5, libcontainer/process_linux.go, wait for init",
		[]string{"init was oom-killed"},
		"runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?)")
	WorkingDirectory = says("runc 1.5, libcontainer/init_linux.go, finalizeNamespace",
		[]string{"chdir to cwd"},
		`runc create failed: unable to start container process: error during container init: chdir to cwd ("/srv/none") set in config.json failed: permission denied`)
	SecurityModule = says("runc 1.5, libcontainer/seccomp and apparmor; kubelet 1.36, security/apparmor",
		[]string{"seccomp", "apparmor"},
		"error during container init: unable to init seccomp: error adding architecture to seccomp filter: invalid argument",
		"apparmor failed to apply profile: write /proc/self/attr/apparmor/exec: no such file or directory")
	Capability = says("runc 1.5, libcontainer/capabilities; capset(2)",
		[]string{"capabilit", "operation not permitted"},
		"error during container init: unable to apply caps: operation not permitted",
		"error during container init: unable to apply caps: unable to get capability version from the kernel: operation not permitted")
	PermissionDenied = says("strerror(3), EACCES",
		[]string{"permission denied"},
		`exec: "/app": permission denied: unknown`)
	AboutExec = says("runc 1.5, libcontainer/standard_init_linux.go; os/exec of Go 1.26",
		[]string{"exec"},
		`exec: "/nope": stat /nope: no such file or directory`)
	ExecFailed = says("os/exec of Go 1.26, Error.Error, as runc passes it on",
		[]string{"exec: "},
		`exec: "nope": executable file not found in $PATH: unknown`)
	ExecFormat = says("execve(2), ENOEXEC",
		[]string{"exec format error"},
		"exec /app: exec format error")
	NoProgram = says("os/exec of Go 1.26; execve(2)",
		[]string{"no such file or directory", "executable file not found", "exec format error", "permission denied", "is a directory"},
		`exec: "/nope": stat /nope: no such file or directory`, `exec: "nope": executable file not found in $PATH`, "exec /app: exec format error",
		`exec: "/readme": permission denied`, `exec: "/srv": is a directory`)
	Mounting = says("runc 1.5, libcontainer/rootfs_linux.go; kubelet 1.36, subpath_linux.go",
		[]string{"mount", "subpath"},
		`error during container init: error mounting "/var/lib/x" to rootfs at "/data": mount src=/var/lib/x, dst=/data: not a directory`,
		`failed to prepare subPath for volumeMount "data" of container "app"`)
)

// NotDirectory is what mount(2) says where one of the two is a directory, and the other is not
// (strerror(3), ENOTDIR).
const NotDirectory = "not a directory"

// mountFailed is what could not be mounted, where, and why (runc 1.5, libcontainer/mount_linux.go,
// mountError.Error).
var mountFailed = regexp.MustCompile(`error mounting "[^"]*" to rootfs at "([^"]+)": (?:mount (?:src=|\S+:/)(?:.*?flags[=:] ?[^:]+|[^:]*): )?(.*)`)

// MountFailed is where in a container something could not be mounted, and why, without the paths
// on the node; empty where a message tells of no such thing.
func MountFailed(message string) (at, why string) {
	if m := mountFailed.FindStringSubmatch(message); m != nil {
		return m[1], strings.TrimSuffix(m[2], ": unknown")
	}
	return "", ""
}

// notExecutable is a program that is there and may not be run.
var notExecutable = regexp.MustCompile(`exec: "([^"]+)": permission denied`)

// NotExecutable is the file that exec was refused, as runc names it (execve(2), EACCES);
// empty where it found another fault.
func NotExecutable(message string) string {
	if m := notExecutable.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

// Start drops what containerd and runc put before every error of a start: what matters
// stands at the end, and texts are cut there.
func Start(message string) string {
	for _, before := range []string{"unable to start container process: ", "did not terminate successfully: "} {
		if _, rest, ok := strings.Cut(message, before); ok && rest != "" {
			return rest
		}
	}
	return message
}

// NoDirectory says whether runc could not make a container's working directory
// (runc 1.5, libcontainer/rootfs_linux.go, prepareRootfs).
func NoDirectory(text, directory string) bool {
	return directory != "" && strings.Contains(strings.ToLower(text), "mkdir "+strings.ToLower(directory))
}
