package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a containerd that runs: our own child, or one that an earlier agent
// left. It is held by a pidfd, so a signal never reaches a reused pid.
type process struct {
	pid   int
	pidfd int
	// exited is closed after the process has ended, and err set before: how a
	// child ended. Of an adopted process the kernel tells nobody else.
	exited chan struct{}
	err    error
}

// errExitUnknown is how an adopted process ended: only its parent is told.
var errExitUnknown = errors.New("ended; its exit status went to another parent")

// spawn starts containerd in a session of its own, so that neither Ctrl-C in the
// agent's terminal nor the agent's end reach it.
func spawn(c Config) (*process, error) {
	p := c.paths()
	if err := os.MkdirAll(filepath.Dir(p.log), 0o700); err != nil {
		return nil, fmt.Errorf("making the log directory: %w", err)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening containerd's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(c.Executable, Subcommand, "--config", p.config)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = childEnv(os.Environ(), c.Libexec)
	pidfd := -1
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	if err := startPunctual(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Executable, err)
	}
	proc := &process{pid: cmd.Process.Pid, pidfd: pidfd, exited: make(chan struct{})}
	go func() {
		proc.err = cmd.Wait()
		if proc.err == nil {
			proc.err = errors.New("exit status 0")
		}
		close(proc.exited)
	}()
	return proc, nil
}

// punctual is the timer slack that a process has by default, in nanoseconds.
const punctual = 50_000

// startPunctual starts a command with the default timer slack. The process inherits it
// from the thread that starts it, and containers from containerd: that the agent lets
// its own timers be late (slacken in package cluster) must not reach them.
func startPunctual(cmd *exec.Cmd) error {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	own, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil && unix.Prctl(unix.PR_SET_TIMERSLACK, punctual, 0, 0, 0) == nil {
		defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(own), 0, 0, 0) }()
	}
	return cmd.Start()
}

// childEnv is env with what containerd needs and without what was meant for the
// agent. In PATH it looks for the shim, when it finds containers again after a
// restart, and its CNI plugins look for nft. A service manager's socket would be
// told that the agent is ready when containerd is, and the agent's garbage
// collector is not set for a daemon of a tenth of its size.
func childEnv(env []string, libexec string) []string {
	path := libexec
	var kept []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case "PATH":
			path += ":" + value
		case "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "GOGC", "GOMEMLIMIT", "GOMAXPROCS":
		default:
			kept = append(kept, kv)
		}
	}
	return append(kept, "PATH="+path+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
}

// adopt takes hold of the running process pid. check is asked again after the
// pidfd is open, when the pid can no longer be reused unnoticed.
func adopt(pid int, check func(pid int) bool) (*process, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("taking hold of process %d: %w", pid, err)
	}
	if !check(pid) {
		unix.Close(pidfd)
		return nil, fmt.Errorf("process %d ended meanwhile", pid)
	}
	proc := &process{pid: pid, pidfd: pidfd, exited: make(chan struct{})}
	go func() {
		awaitExit(pidfd)
		// An agent that was started anew under its own pid is the parent of what it adopts.
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		proc.err = errExitUnknown
		close(proc.exited)
	}()
	return proc, nil
}

// awaitExit blocks until the pidfd's process has ended.
func awaitExit(pidfd int) {
	for {
		fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, -1)
		if n > 0 || (err != nil && !errors.Is(err, unix.EINTR)) {
			return
		}
	}
}

func (p *process) signal(sig unix.Signal) error {
	err := unix.PidfdSendSignal(p.pidfd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// terminate ends the process: SIGTERM, and SIGKILL when it has not ended after
// grace or ctx is over. It returns when the process is gone.
func (p *process) terminate(ctx context.Context, grace time.Duration) error {
	if err := p.signal(unix.SIGTERM); err != nil {
		return fmt.Errorf("ending containerd (pid %d): %w", p.pid, err)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	if err := p.signal(unix.SIGKILL); err != nil {
		return fmt.Errorf("killing containerd (pid %d): %w", p.pid, err)
	}
	<-p.exited
	return nil
}

// close gives the pidfd back, after the process has ended.
func (p *process) close() { unix.Close(p.pidfd) }

// findProcesses returns the pids of all processes whose command line matches, in
// ascending order. Finding by command line needs no pid file, which a crash
// between start and write would leave out.
func findProcesses(match func(args []string) bool) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if match(commandLine(pid)) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// commandLine is the process's arguments; none when it has ended or is a zombie.
func commandLine(pid int) []string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(raw) == 0 {
		return nil
	}
	var args []string
	for arg := range bytes.SplitSeq(bytes.TrimSuffix(raw, []byte{0}), []byte{0}) {
		args = append(args, string(arg))
	}
	return args
}

// isContainerd matches the containerd of this data directory.
func (c Config) isContainerd(args []string) bool {
	return len(args) >= 4 && args[1] == Subcommand && args[2] == "--config" && args[3] == c.paths().config
}

// isShim matches the shims that this data directory's containerd started.
func (c Config) isShim(args []string) bool {
	if len(args) == 0 || !slices.Contains([]string{"containerd-shim-runc-v2", "containerd-shim-join"}, filepath.Base(args[0])) {
		return false
	}
	i := slices.Index(args, "-address")
	return i >= 0 && i+1 < len(args) && args[i+1] == c.paths().socket
}

// staleReason says why a running containerd cannot be kept; empty: it can.
func staleReason(c Config, pid int, configChanged bool) string {
	exe, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return "its binary cannot be read"
	}
	own, err := os.Stat(c.Executable)
	if err != nil || !os.SameFile(exe, own) {
		return "it runs another build of the binary"
	}
	if configChanged {
		return "its configuration changed"
	}
	theirs, err1 := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	ours, err2 := os.Readlink("/proc/self/ns/net")
	if err1 != nil || err2 != nil || theirs != ours {
		return "it is in another network namespace"
	}
	return ""
}

// InNamespace is the pid of a containerd or shim of the data directory that is in
// the given network namespace (as readlink shows it), 0 when there is none.
func InNamespace(dataDir, netns string) int {
	c := Config{DataDir: dataDir}
	pids, err := findProcesses(func(args []string) bool { return c.isContainerd(args) || c.isShim(args) })
	if err != nil {
		return 0
	}
	for _, pid := range pids {
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && ns == netns {
			return pid
		}
	}
	return 0
}
