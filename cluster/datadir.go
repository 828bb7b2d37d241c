package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// formatVersion is the layout of the data directory that this code reads and
// writes. It goes up when an older Whylet could not read what a newer one wrote.
const formatVersion = 1

// marker is the content of cluster.json: proof that the directory is ours, and
// the settings that live on in the database and therefore cannot change.
type marker struct {
	Kind          string `json:"kind"`
	Format        int    `json:"format"`
	Kubernetes    string `json:"kubernetes"`
	ServiceCIDR   string `json:"serviceCIDR"`
	ClusterDomain string `json:"clusterDomain"`
}

const markerKind = "whylet control plane"

// ForeignDataDirError says that the data directory cannot be used.
type ForeignDataDirError struct {
	DataDir string
	// Why says what is wrong with it and what to do.
	Why string
}

func (e *ForeignDataDirError) Error() string {
	return fmt.Sprintf("data directory %s: %s", e.DataDir, e.Why)
}

// InUseError says that another process runs a control plane on the directory.
type InUseError struct {
	DataDir string
	// PID is that process, 0 when it could not be found out.
	PID int
}

func (e *InUseError) Error() string {
	owner := "another process"
	if e.PID != 0 {
		owner = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("data directory %s is in use by %s; stop it first (whylet down), or choose another --data-dir", e.DataDir, owner)
}

// openDataDir makes the directories, takes the lock and checks the marker. The
// lock is the returned file; it ends with the process or when the file is closed.
func openDataDir(c Config) (*os.File, error) {
	p := c.paths()
	if err := os.MkdirAll(c.DataDir, 0o755); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	lock, err := takeLock(c.DataDir, p.lock)
	if err != nil {
		return nil, err
	}
	if err = checkMarker(c, p); err == nil {
		err = makeDirs(p.etcd, p.pki, p.kubeconfigs, p.logs)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func makeDirs(dirs ...string) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	// etcd refuses nothing here, but its database holds every Secret.
	return os.Chmod(dirs[0], 0o700)
}

func takeLock(dataDir, file string) (*os.File, error) {
	lock, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		owner, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(strings.TrimSpace(string(owner)))
		return nil, errors.Join(&InUseError{DataDir: dataDir, PID: pid}, lock.Close())
	}
	if err == nil {
		err = lock.Truncate(0)
	}
	if err == nil {
		_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file, err), lock.Close())
	}
	return lock, nil
}

// checkMarker refuses a directory that is not ours or does not fit c, and marks
// one that is fresh.
func checkMarker(c Config, p paths) error {
	data, err := os.ReadFile(p.marker)
	if errors.Is(err, fs.ErrNotExist) {
		return claim(c, p)
	}
	if err != nil {
		return fmt.Errorf("read marker: %w", err)
	}
	refuse := func(format string, args ...any) error {
		return &ForeignDataDirError{DataDir: c.DataDir, Why: fmt.Sprintf(format, args...)}
	}
	var m marker
	if err := json.Unmarshal(data, &m); err != nil || m.Kind != markerKind {
		return refuse("%s is not Whylet's; choose another --data-dir", p.marker)
	}
	if m.Format != formatVersion {
		return refuse("it has format %d, this Whylet reads format %d; use the Whylet that wrote it, or another --data-dir", m.Format, formatVersion)
	}
	if newer(m.Kubernetes, kubernetesVersion()) {
		return refuse("it was last used with Kubernetes %s, which is newer than this Whylet's %s; Kubernetes cannot go back a minor version: use a newer Whylet, or another --data-dir", m.Kubernetes, kubernetesVersion())
	}
	if m.ServiceCIDR != c.ServiceCIDR {
		return refuse("its Services live in %s, not %s; start with --service-cidr %s, or purge it", m.ServiceCIDR, c.ServiceCIDR, m.ServiceCIDR)
	}
	if m.ClusterDomain != c.ClusterDomain {
		return refuse("its cluster domain is %s, not %s; start with that, or purge it", m.ClusterDomain, c.ClusterDomain)
	}
	return writeMarker(c, p)
}

// claim marks a directory as ours, unless something else already keeps what we
// would keep there.
func claim(c Config, p paths) error {
	for _, dir := range []string{p.etcd, p.pki} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			return &ForeignDataDirError{DataDir: c.DataDir, Why: fmt.Sprintf(
				"%s holds files, but there is no %s to say that they are Whylet's; choose another --data-dir", dir, filepath.Base(p.marker))}
		}
	}
	return writeMarker(c, p)
}

func writeMarker(c Config, p paths) error {
	data, err := json.MarshalIndent(marker{
		Kind: markerKind, Format: formatVersion, Kubernetes: kubernetesVersion(),
		ServiceCIDR: c.ServiceCIDR, ClusterDomain: c.ClusterDomain,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode marker: %w", err)
	}
	temporary := p.marker + ".new"
	if err := os.WriteFile(temporary, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write marker: %w", err)
	}
	return os.Rename(temporary, p.marker)
}

// newer reports whether version a is of a later minor release than b. Versions
// that cannot be read compare as equal.
func newer(a, b string) bool {
	va, errA := utilversion.ParseGeneric(a)
	vb, errB := utilversion.ParseGeneric(b)
	if errA != nil || errB != nil {
		return false
	}
	return va.Major() > vb.Major() || va.Major() == vb.Major() && va.Minor() > vb.Minor()
}
