package words

import (
	"regexp"
	"strings"
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
