package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/kubernetes/pkg/proxy/nftables"

	"whylet.dev/whylet/cluster/pki"
)

// Purge removes what Start made, in this network namespace and below DataDir:
// kube-proxy's nftables tables, the interface, the entry in Kubeconfig, and
// the files of this package; other files in DataDir stay. What is not there is no
// error. It refuses while a control plane runs on the directory, and does nothing
// to a directory that is not ours. It goes on after an error and returns all.
func Purge(ctx context.Context, config Config) error {
	if !filepath.IsAbs(config.DataDir) {
		return fmt.Errorf("data directory %q: an absolute path is needed", config.DataDir)
	}
	config = config.withDefaults()
	p := config.paths()
	if _, err := os.Stat(p.marker); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := takeLock(config.DataDir, p.lock)
	if err != nil {
		return err
	}
	errs := []error{removeHostLink()}
	if nftables.CleanupLeftovers(ctx) {
		errs = append(errs, errors.New("kube-proxy's nftables tables could not be removed; see: nft list tables"))
	}
	if config.Kubeconfig != "" {
		errs = append(errs, pki.UnmergeKubeconfig(config.Kubeconfig, config.ContextName))
	}
	// The marker goes last: until then the directory is still known to be ours.
	for _, path := range []string{p.etcd, p.pki, p.kubeconfigs, p.storage} {
		errs = append(errs, os.RemoveAll(path))
	}
	errs = append(errs, removeLogs(p), lock.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("purge %s: %w", config.DataDir, err)
	}
	return errors.Join(os.Remove(p.marker), os.Remove(p.lock))
}

// removeLogs removes our log with its rotated copies, and the directory if that
// was all there was in it.
func removeLogs(p paths) error {
	files, err := filepath.Glob(filepath.Join(p.logs, "control-plane*.log"))
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		errs = append(errs, os.Remove(file))
	}
	if entries, err := os.ReadDir(p.logs); err == nil && len(entries) == 0 {
		errs = append(errs, os.Remove(p.logs))
	}
	return errors.Join(errs...)
}
