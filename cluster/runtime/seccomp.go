package runtime

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// pauseCalls are the system calls that remain to the pause program: its own few, and
// those of runc's last steps before it, as runc loads the profile into itself. That is
// a Go program with C threads, so all is here that one may do with its memory, threads,
// signals and open files at any time, and opening files and executing a program.
// Names that an architecture does not have are ignored.
var pauseCalls = []string{
	// Memory.
	"brk", "madvise", "membarrier", "mincore", "mmap", "mprotect", "mremap", "munmap",
	// Threads and time.
	"arch_prctl", "clock_getres", "clock_gettime", "clock_nanosleep", "clone", "clone3", "exit", "exit_group",
	"futex", "getcpu", "getpid", "getppid", "getrandom", "gettid", "gettimeofday", "nanosleep", "prctl", "prlimit64",
	"getrlimit", "setrlimit", "rseq", "sched_getaffinity", "sched_yield", "set_robust_list", "set_tid_address", "uname",
	"getuid", "geteuid", "getgid", "getegid",
	// Signals and children.
	"kill", "pause", "restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "sigaltstack", "tgkill", "tkill", "wait4", "waitid",
	// Files.
	"access", "close", "close_range", "dup", "dup2", "dup3", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait",
	"eventfd2", "faccessat", "faccessat2", "fcntl", "fstat", "fstatfs", "getcwd", "getdents64", "lseek", "lstat",
	"newfstatat", "open", "openat", "openat2", "pipe2", "poll", "ppoll", "pread64", "pwrite64", "read", "readlink",
	"readlinkat", "readv", "stat", "statfs", "statx", "write", "writev",
	// And becoming the program.
	"execve", "execveat",
}

// pauseProfile is the seccomp profile of all sandboxes: what containerd's default
// allows a container without capabilities, as far as it is among pauseCalls, and for
// the architecture of the pause program alone. runc compiles a profile anew for each
// container, which takes it 20 ms for the default and less than one for this.
func pauseProfile() ([]byte, error) {
	profile := seccomp.DefaultProfile(&specs.Spec{
		Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}},
		Linux:   &specs.Linux{},
	})
	profile.Architectures = nil
	// Programs go another way where a call is said to be missing, and give up where it is forbidden.
	missing := uint(unix.ENOSYS)
	profile.DefaultErrnoRet = &missing
	rules := profile.Syscalls
	profile.Syscalls = nil
	for _, rule := range rules {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool { return !slices.Contains(pauseCalls, name) })
		if len(rule.Names) > 0 {
			profile.Syscalls = append(profile.Syscalls, rule)
		}
	}
	text, err := json.Marshal(profile)
	if err != nil {
		return nil, fmt.Errorf("writing the sandboxes' seccomp profile: %w", err)
	}
	return text, nil
}

// PauseSeccomp is the file with the seccomp profile for the sandboxes of the data
// directory's runtime. [Start] writes it.
func PauseSeccomp(dataDir string) string { return filepath.Join(dataDir, "pause-seccomp.json") }
