package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// DefaultBridge is the name of the pods' bridge when none is given.
const DefaultBridge = "whylet-pods"

// maxRunDir is how long the run directory's path may be, in bytes. containerd
// puts one socket per shim below it, allows 42 bytes for their directory
// (core/runtime/v2/socket_linux.go), and we add "/s".
const maxRunDir = 40

// Config says where the runtime keeps its things and what the network looks like.
type Config struct {
	// DataDir is the instance's directory, absolute. Its name also makes the
	// names of what cannot lie below it.
	DataDir string
	// Bridge is the pods' bridge in the network namespace of the process;
	// empty: DefaultBridge.
	Bridge string
	// PodCIDR is where pod addresses come from. Its first address is the bridge's.
	PodCIDR netip.Prefix
	// CgroupRoot is the cgroup below which the node puts its pods, "/whylet".
	// Only Purge uses it; "" or "/" means that no cgroup is ours to remove.
	CgroupRoot string
	// Executable is re-executed as containerd; empty: the running binary.
	Executable string
	// Libexec holds runc, the shim's two programs, pause and cni/; empty:
	// libexec beside Executable.
	Libexec string
	// StartTimeout bounds how long Start waits for the socket to answer; 0: 3 min,
	// for an emulated machine under load; one that ends while it starts is noticed at once.
	StartTimeout time.Duration
	// Log receives what the supervisor does. containerd's own log is a file.
	Log *slog.Logger
	// OnEvent is told of each change in containerd's life, from one goroutine.
	// It must not block. May be nil.
	OnEvent func(Event)
}

// ErrConfig marks what is wrong with a Config, as opposed to with the machine.
var ErrConfig = errors.New("runtime configuration")

// withDefaults fills what may be empty and checks what may not.
func (c Config) withDefaults() (Config, error) {
	if !filepath.IsAbs(c.DataDir) {
		return c, fmt.Errorf("%w: data dir %q is not an absolute path", ErrConfig, c.DataDir)
	}
	if c.Bridge == "" {
		c.Bridge = DefaultBridge
	}
	if len(c.Bridge) > 15 {
		return c, fmt.Errorf("%w: bridge name %q has more than the 15 bytes that the kernel allows", ErrConfig, c.Bridge)
	}
	if c.Executable == "" {
		self, err := os.Executable()
		if err != nil {
			return c, fmt.Errorf("finding the running binary: %w", err)
		}
		c.Executable = self
	}
	if c.Libexec == "" {
		real, err := filepath.EvalSymlinks(c.Executable)
		if err != nil {
			return c, fmt.Errorf("resolving %s: %w", c.Executable, err)
		}
		c.Libexec = filepath.Join(filepath.Dir(real), "libexec")
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = 3 * time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// ID is a short name derived from the data directory, for what is named in a
// space that instances share. The same directory always gives the same name.
func ID(dataDir string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(dataDir)))
	return hex.EncodeToString(sum[:4])
}

// RunDir is where sockets, the pid file and what a reboot ends lie: run/ below
// the data directory, or below /run when that path is too long for a socket.
func RunDir(dataDir string) string {
	if dir := filepath.Join(dataDir, "run"); len(dir) <= maxRunDir {
		return dir
	}
	return filepath.Join("/run", "whylet-"+ID(dataDir))
}

// Endpoint is the CRI endpoint of the data directory's runtime, unix:///….
func Endpoint(dataDir string) string { return "unix://" + socketPath(dataDir) }

func socketPath(dataDir string) string { return filepath.Join(RunDir(dataDir), "containerd.sock") }

// paths is where one instance's files are.
type paths struct {
	root, state, run, socket, shimSockets string
	config, pid, log                      string
	cniConf, cniLeases, certs             string
}

func (c Config) paths() paths {
	run := RunDir(c.DataDir)
	return paths{
		root:        filepath.Join(c.DataDir, "containerd"),
		state:       filepath.Join(run, "containerd"),
		run:         run,
		socket:      socketPath(c.DataDir),
		shimSockets: filepath.Join(run, "s"),
		config:      filepath.Join(c.DataDir, "containerd.toml"),
		pid:         filepath.Join(run, "containerd.pid"),
		log:         filepath.Join(c.DataDir, "logs", "containerd.log"),
		cniConf:     filepath.Join(c.DataDir, "cni", "net.d"),
		cniLeases:   filepath.Join(c.DataDir, "cni", "leases"),
		certs:       filepath.Join(c.DataDir, "certs.d"),
	}
}

// networkName is the CNI network's name; CNI keeps its cache under it.
func (c Config) networkName() string { return "whylet-" + ID(c.DataDir) }

// Helper is where the helper program of that name is for a node that runs: beside the binary,
// or in the data directory, where a binary that carries its helpers put them.
func Helper(dataDir, name string) (string, error) {
	c, err := Config{DataDir: dataDir}.withDefaults()
	if err == nil && carriesHelpers(c.Executable) {
		c.Libexec = filepath.Join(dataDir, "libexec")
	}
	return filepath.Join(c.Libexec, name), err
}

// UseHelpers gets the helper programs ready for this process: it unpacks them, where the
// binary carries them, and has them found first in PATH, nft among them.
func UseHelpers(dataDir string) error {
	c, err := Config{DataDir: dataDir}.withDefaults()
	if err != nil {
		return err
	}
	within := filepath.Join(dataDir, "libexec")
	found, err := unpackHelpers(c.Executable, within)
	if err != nil {
		return err
	}
	if found {
		c.Libexec = within
	}
	first := c.Libexec + string(os.PathListSeparator)
	if path := os.Getenv("PATH"); !strings.HasPrefix(path, first) { // a node that starts anew has it
		return os.Setenv("PATH", first+path)
	}
	return nil
}

// FindNFT says where the program nft is that a node would use, or that the binary carries it.
func FindNFT(dataDir string) (path string, within bool, err error) {
	c, err := Config{DataDir: dataDir}.withDefaults()
	if err != nil {
		return "", false, err
	}
	if carries(c.Executable, "nft") {
		return "", true, nil
	}
	path = filepath.Join(c.Libexec, "nft")
	if _, err := os.Stat(path); err == nil {
		return path, false, nil
	}
	path, err = exec.LookPath("nft")
	return path, false, err
}

// helpers are the programs that must be in Libexec.
var helpers = []string{"runc", "containerd-shim-runc-v2", "containerd-shim-join", "pause", "cni/podnet"}

// MissingHelpers lists the programs that are not in libexec, with their full
// paths. libexec is the directory beside the binary; empty: beside the running one, unless
// that has them within.
func MissingHelpers(libexec string) ([]string, error) {
	c, err := Config{DataDir: "/", Libexec: libexec}.withDefaults()
	if err != nil {
		return nil, err
	}
	if libexec == "" && carriesHelpers(c.Executable) {
		return nil, nil
	}
	var missing []string
	for _, name := range helpers {
		path := filepath.Join(c.Libexec, name)
		if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
			missing = append(missing, path)
		}
	}
	return missing, nil
}
