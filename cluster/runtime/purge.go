package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"
)

// cniResults is where libcni keeps what it was told about each attachment; its
// files are named NETWORK-CONTAINER-INTERFACE.
const cniResults = "/var/lib/cni/results"

// Purge ends every container of this data directory and removes all that the
// runtime made: processes, cgroups, mounts, network namespaces, the bridge,
// nftables rules and files. It does not need a running containerd, and it
// touches nothing of other instances. The agent must be down, and the caller be
// in the network namespace in which Start was.
//
// It goes on after an error and returns all of them; called again, it continues.
func Purge(ctx context.Context, config Config) error {
	c, err := config.withDefaults()
	if err != nil {
		return err
	}
	p := c.paths()
	attached, err := attachedContainers(c.networkName())
	return errors.Join(
		err,
		endAll(ctx, c),
		purgeCgroups(ctx, c.CgroupRoot),
		unmountBelow(p.run, c.DataDir),
		removeHostPorts(ctx, attached),
		removeTable(ctx, knftables.IPv4Family, c.masqueradeTable()),
		removeBridge(c.Bridge),
		removeFiles(c),
	)
}

// endAll ends containerd, so that nothing new starts, then the containers, then
// their shims. Containers are killed before shims, because an init process whose
// shim is gone is nobody's child and harder to find.
func endAll(ctx context.Context, c Config) error {
	var errs []error
	for _, step := range []func() ([]int, error){
		func() ([]int, error) { return findProcesses(c.isContainerd) },
		func() ([]int, error) { return containerProcesses(c) },
		func() ([]int, error) { return findProcesses(c.isShim) },
	} {
		errs = append(errs, killUntilGone(ctx, step))
	}
	return errors.Join(errs...)
}

// patience is how long to wait for processes to end after SIGKILL while none does. A
// machine that is busy with the end of thousands takes longer for all of them,
// but never so long for the next.
const patience = 10 * time.Second

// killUntilGone kills what find finds until it finds nothing, as long as there
// are fewer and fewer.
func killUntilGone(ctx context.Context, find func() ([]int, error)) error {
	last, fewest := time.Now(), -1
	for {
		pids, err := find()
		if err != nil || len(pids) == 0 {
			return err
		}
		if fewest < 0 || len(pids) < fewest {
			last, fewest = time.Now(), len(pids)
		}
		for _, pid := range pids {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("killing process %d: %w", pid, err)
			}
		}
		if !sleep(ctx, 10*time.Millisecond) {
			return fmt.Errorf("%s did not end yet: %w", some(pids), ctx.Err())
		}
		if time.Since(last) > patience {
			return fmt.Errorf("%s do not end after SIGKILL: for %s there have been no fewer", some(pids), patience)
		}
	}
}

// some names the processes, five of them at most.
func some(pids []int) string {
	const most = 5
	var names []string
	for _, pid := range pids[:min(most, len(pids))] {
		name := strconv.Itoa(pid)
		if args := commandLine(pid); len(args) > 0 {
			name += " (" + filepath.Base(args[0]) + ")"
		}
		names = append(names, name)
	}
	text := "processes " + strings.Join(names, ", ")
	if more := len(pids) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// containerProcesses finds processes whose root is one of our containers': a
// snapshot below the data directory, or, for the native snapshotter, a bundle's
// rootfs. It finds those whose shim has died, too.
func containerProcesses(c Config) ([]int, error) {
	p := c.paths()
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return nil, fmt.Errorf("reading the mount namespace: %w", err)
	}
	all, err := findProcesses(func(args []string) bool { return len(args) > 0 })
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, pid := range all {
		ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
		if err != nil || ns == own {
			continue
		}
		if rootIsBelow(pid, p.root+"/", p.run+"/") {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// rootIsBelow reads the process's mount at "/" and asks whether it was made from
// something below one of the directories (proc_pid_mountinfo(5)).
func rootIsBelow(pid int, dirs ...string) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[4] != "/" {
			continue
		}
		options := fields[len(fields)-1]
		for _, dir := range dirs {
			if strings.Contains(options, "upperdir="+dir) || strings.Contains(fields[3]+"/", dir) {
				return true
			}
		}
	}
	return false
}

// unmountBelow unmounts all that is mounted below the directories, the last
// first. The directories themselves stay: the data directory may be a disk.
func unmountBelow(dirs ...string) error {
	points, err := mountPoints(func(point string) bool {
		for _, dir := range dirs {
			if strings.HasPrefix(point, dir+"/") {
				return true
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	var errs []error
	for i := len(points) - 1; i >= 0; i-- {
		if err := unix.Unmount(points[i], unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("unmounting %s: %w", points[i], err))
		}
	}
	return errors.Join(errs...)
}

// mountPoints lists the mount points that match, in the order they were mounted.
func mountPoints(match func(point string) bool) ([]string, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("listing mounts: %w", err)
	}
	var points []string
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescapeMount(fields[4]); match(point) {
			points = append(points, point)
		}
	}
	return points, nil
}

// unescapeMount undoes the octal escapes of mountinfo.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// attachedContainers lists the ids of the sandboxes attached to the network.
func attachedContainers(network string) ([]string, error) {
	entries, err := os.ReadDir(cniResults)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the network's attachments: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := attachedContainer(e.Name(), network); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// attachedContainer takes the sandbox's id from the name of a cache file, if it
// is one of network's.
func attachedContainer(file, network string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(file, network+"-")
	if !ok {
		return "", false
	}
	i := strings.LastIndexByte(rest, '-')
	if i <= 0 {
		return "", false
	}
	return rest[:i], true
}

// removeHostPorts deletes the rules that the CNI plugin made for the
// sandboxes; it marks each with the sandbox's id as comment. Its table is shared
// with other users of CNI, and goes when no rule is left in it.
func removeHostPorts(ctx context.Context, sandboxes []string) error {
	const table = "cni_hostport"
	chains := []string{"hostports", "hostip_hostports", "masquerading"}
	ours := map[string]bool{}
	for _, id := range sandboxes {
		ours[id] = true
	}
	var errs []error
	for _, family := range []knftables.Family{knftables.IPv4Family, knftables.IPv6Family} {
		nft, err := knftables.New(family, table)
		if err != nil {
			return fmt.Errorf("nftables: %w", err)
		}
		tx := nft.NewTransaction()
		deleted, left := 0, 0
		for _, chain := range chains {
			rules, err := nft.ListRules(ctx, chain)
			if err != nil {
				continue // No such table or chain: nobody used a host port.
			}
			for _, r := range rules {
				if r.Comment != nil && ours[*r.Comment] {
					tx.Delete(r)
					deleted++
				} else {
					left++
				}
			}
		}
		switch {
		case deleted == 0:
			continue
		case left == 0:
			errs = append(errs, removeTable(ctx, family, table))
		default:
			errs = append(errs, nft.Run(ctx, tx))
		}
	}
	return errors.Join(errs...)
}

// removeTable deletes an nftables table, if it is there.
func removeTable(ctx context.Context, family knftables.Family, name string) error {
	nft, err := knftables.New(family, name)
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	tx := nft.NewTransaction()
	tx.Delete(&knftables.Table{})
	if err := nft.Run(ctx, tx); err != nil && !knftables.IsNotFound(err) {
		return fmt.Errorf("deleting the nftables table %s %s: %w", family, name, err)
	}
	return nil
}

func removeBridge(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err == nil && link.Type() == "bridge" {
		err = netlink.LinkDel(link)
	}
	if err != nil {
		return fmt.Errorf("removing the bridge %s: %w", name, err)
	}
	return nil
}

// removeFiles removes the runtime's files. certs.d stays: the user wrote it.
func removeFiles(c Config) error {
	p := c.paths()
	paths := []string{p.run, p.root, p.config, PauseSeccomp(c.DataDir), filepath.Dir(p.cniConf), p.log, p.log + ".1"}
	results, err := filepath.Glob(filepath.Join(cniResults, c.networkName()+"-*"))
	errs := []error{err}
	for _, path := range append(paths, results...) {
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, fmt.Errorf("removing %s: %w", path, err))
		}
	}
	// Others' files may be there; then these two stay.
	_ = os.Remove(cniResults)
	_ = os.Remove(filepath.Dir(cniResults))
	return errors.Join(errs...)
}
