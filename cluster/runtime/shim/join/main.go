// Command join is what containerd starts for each new sandbox to learn where its shim
// is. Nearly always that shim runs already and only has to be asked, which takes this
// program a millisecond of CPU time, and the shim's own, large one ten. For all else
// it becomes the shim's program.
package main

import (
	"os"
	"path/filepath"
	"syscall"

	"whylet.dev/whylet/cluster/runtime/shim/group"
)

// patience bounds how long a shim may take to answer, in seconds.
const patience = 2

func main() {
	if door := wanted(os.Args); door != "" {
		if answer := ask(door); len(answer) > 0 {
			if _, err := os.Stdout.Write(answer); err != nil {
				os.Exit(1)
			}
			return
		}
	}
	shim := filepath.Join(filepath.Dir(os.Args[0]), "containerd-shim-runc-v2")
	err := syscall.Exec(shim, append([]string{shim}, os.Args[1:]...), os.Environ())
	os.Stderr.WriteString("starting " + shim + ": " + err.Error() + "\n")
	os.Exit(1)
}

// wanted is the door to knock at for the arguments that containerd starts a shim
// with; empty: they are of another kind.
func wanted(args []string) string {
	named := map[string]string{}
	i := 1
	for ; i+1 < len(args) && len(args[i]) > 0 && args[i][0] == '-'; i += 2 {
		named[args[i]] = args[i+1]
	}
	containerd, namespace, sandbox := named["-address"], named["-namespace"], named["-id"]
	if i != len(args)-1 || args[i] != "start" || containerd == "" || namespace == "" || sandbox == "" {
		return ""
	}
	return group.Door(containerd, namespace, group.Of(sandbox))
}

// ask gives what the shim says behind its door; nothing: there is none, or it does
// not stay. Package net would make the program half as large again.
func ask(door string) []byte {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	limit := syscall.Timeval{Sec: patience}
	for _, option := range []int{syscall.SO_SNDTIMEO, syscall.SO_RCVTIMEO} {
		if syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &limit) != nil {
			return nil
		}
	}
	if syscall.Connect(fd, &syscall.SockaddrUnix{Name: door}) != nil {
		return nil
	}
	var answer []byte
	buffer := make([]byte, 4096)
	for {
		n, err := syscall.Read(fd, buffer)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil // Not all of it came.
		case n == 0:
			return answer
		default:
			answer = append(answer, buffer[:n]...)
		}
	}
}
