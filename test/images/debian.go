package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tooling is what packages depend on for their installation scripts; an image
// that is only unpacked has no use for it.
var tooling = []string{
	"adduser", "debconf", "debconf-2.0", "dpkg", "init-system-helpers", "lsb-base", "passwd", "perl", "perl-base",
	"sysvinit-utils", "media-types", "mime-support", "install-info", "tar", "libpam-modules", "libpam0g", "cdebconf",
	"logrotate", "ssl-cert", "procps", "openssl", "perl-modules", "iproute2", "apache2-utils", "base-files", "gcc-12-base",
	"apache2-data", "openjdk-17-jre", "default-jre", "awk", "mawk", "coreutils", "libpam-runtime", "libsemanage2", "libsemanage-common", "libsystemd0",
}

// closure lists the packages with all that they need at run time.
func closure(ctx context.Context, packages []string) ([]string, error) {
	if len(packages) == 0 {
		return nil, nil
	}
	args := append([]string{
		"depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks",
		"--no-replaces", "--no-enhances", "--no-pre-depends",
	}, packages...)
	out, err := exec.CommandContext(ctx, "apt-cache", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("apt-cache %s: %w (run 'apt-get update' first?)", strings.Join(args, " "), err)
	}
	all := slices.Clone(packages)
	skipped := map[string]bool{}
	for _, name := range tooling {
		skipped[name] = !slices.Contains(packages, name)
	}
	// A line without indent names a package; those below it are its dependencies.
	// What only tooling needs is left out by walking from the packages themselves.
	needs := dependencies(out)
	for i := 0; i < len(all); i++ {
		for _, dep := range needs[all[i]] {
			if !skipped[dep] && !slices.Contains(all, dep) {
				all = append(all, dep)
			}
		}
	}
	return all, nil
}

func dependencies(out []byte) map[string][]string {
	needs := map[string][]string{}
	current := ""
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(strings.TrimLeft(line, " |"), "Depends: "); ok {
			if !strings.HasPrefix(name, "<") {
				needs[current] = append(needs[current], strings.TrimSuffix(name, ":any"))
			}
			continue
		}
		if line != "" && line[0] != ' ' {
			current = line
		}
	}
	return needs
}

// unpack downloads packages into cache and lays them out below root.
func unpack(ctx context.Context, cache, root string, packages []string) error {
	all, err := closure(ctx, packages)
	if err != nil {
		return err
	}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.MkdirAll(filepath.Join(root, "usr", dir), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("usr/"+dir, filepath.Join(root, dir)); err != nil {
			return err
		}
	}
	for _, name := range all {
		file, err := download(ctx, cache, name)
		if err != nil {
			return err
		}
		script := `dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"`
		if out, err := exec.CommandContext(ctx, "sh", "-c", script, "sh", file, root).CombinedOutput(); err != nil {
			return fmt.Errorf("unpack %s: %w: %s", file, err, out)
		}
	}
	return trim(root)
}

// download gives the package's file, from the cache where it is.
func download(ctx context.Context, cache, name string) (string, error) {
	find := func() string {
		found, _ := filepath.Glob(filepath.Join(cache, name+"_*.deb"))
		if len(found) == 0 {
			return ""
		}
		return found[len(found)-1]
	}
	if file := find(); file != "" {
		return file, nil
	}
	// A version that was installed from elsewhere may be there to use and not to
	// download; then the release's own is taken.
	script := `apt-get download "$1" || { . /etc/os-release; apt-get download "$1/$VERSION_CODENAME"; }`
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", name)
	cmd.Dir = cache
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get download %s: %w: %s", name, err, out)
	}
	if file := find(); file != "" {
		return file, nil
	}
	return "", fmt.Errorf("apt-get download %s left no file in %s", name, cache)
}

// trim drops what no container reads.
func trim(root string) error {
	for _, dir := range []string{"usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/bug", "usr/share/info"} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			return err
		}
	}
	return nil
}

// busybox links every applet that no package brought itself.
func busybox(ctx context.Context, root string) error {
	binary := filepath.Join(root, "bin/busybox")
	if _, err := os.Stat(binary); err != nil {
		return nil // the recipe has none
	}
	out, err := exec.CommandContext(ctx, binary, "--list").Output()
	if err != nil {
		return fmt.Errorf("busybox --list: %w", err)
	}
	for _, applet := range strings.Fields(string(out)) {
		if !present(root, applet) {
			if err := os.Symlink("/bin/busybox", filepath.Join(root, "bin", applet)); err != nil {
				return err
			}
		}
	}
	return nil
}

func present(root, program string) bool {
	for _, dir := range []string{"bin", "sbin", "usr/bin", "usr/sbin"} {
		if _, err := os.Lstat(filepath.Join(root, dir, program)); err == nil {
			return true
		}
	}
	return false
}
