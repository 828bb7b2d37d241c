package runtimes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Place is where a runtime runs.
type Place struct {
	// Programs is the folder that fetch filled, Dir what the runtime has all its files in.
	Programs, Dir string
	// Plugins are the CNI plugins, Network the folder with the network's configuration.
	Plugins, Network string
	// Sandbox is the image that pods' sandboxes are made of.
	Sandbox string
}

// Socket is where it listens.
func (p Place) Socket() string { return filepath.Join(p.Dir, "runtime.sock") }

// Debian is the path of a program of Debian's.
func (p Place) Debian(path string) string { return filepath.Join(p.Programs, "debian", path) }

func (p Place) write(name string, mode os.FileMode, format string, args ...any) (string, error) {
	path := filepath.Join(p.Dir, name)
	return path, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, fmt.Appendf(nil, format, args...), mode))
}

// Containerd configures Debian's containerd, version 1.6, and gives its command line.
func (p Place) Containerd() ([]string, error) {
	config, err := p.write("containerd.toml", 0o644, containerd, p.Dir, p.Programs, p.Socket(), p.Sandbox, p.Plugins, p.Network)
	return []string{p.Debian("usr/bin/containerd"), "--config", config}, err
}

const containerd = `
version = 2
root = "%[1]s/root"
state = "%[1]s/state"
[grpc]
  address = "%[3]s"
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[4]s"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[5]s"
    conf_dir = "%[6]s"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "%[2]s/debian/usr/sbin/runc"
`

// CRIO configures CRI-O, with its stream of events switched on and images from a mirror,
// and gives its command line.
func (p Place) CRIO(mirror string) ([]string, error) {
	_, err := p.write("policy.json", 0o644, `{"default": [{"type": "insecureAcceptAnything"}]}`)
	names, err2 := p.write("registries.conf", 0o644, registries, mirror)
	_, err3 := p.write("runc", 0o755, runcWrapper, p.Debian("usr/sbin/runc"))
	config, err4 := p.write("crio.conf", 0o644, crio, p.Dir, p.Programs, p.Socket(), p.Sandbox, p.Plugins, p.Network)
	return []string{filepath.Join(p.Programs, "crio"), "--config", config, "--config-dir", "", "--registries-conf", names}, errors.Join(err, err2, err3, err4)
}

const registries = `
unqualified-search-registries = ["docker.io"]
short-name-mode = "disabled"
[[registry]]
location = "docker.io"
[[registry.mirror]]
location = "%s"
insecure = true
`

// runcWrapper lets CRI-O run where nobody may lower an OOM score, and where the kernel has
// limits of huge pages and nobody mounted their cgroups: kubelet asks for some, and CRI-O has no
// setting for either, as containerd has.
const runcWrapper = `#!/bin/bash
bundle=
for i in $(seq $#); do
  if [ "${!i}" = --bundle ]; then next=$((i + 1)) bundle=${!next}; fi
done
[ -z "$bundle" ] || sed -z -i 's/"oomScoreAdj": *-[0-9]*/"oomScoreAdj":0/; s/"hugepageLimits": *\[[^]]*\]/"hugepageLimits":[]/' "$bundle/config.json"
exec %s "$@"
`

const crio = `
[crio]
root = "%[1]s/root"
runroot = "%[1]s/state"
storage_driver = "overlay"
log_dir = "%[1]s/crio-logs"
version_file = "%[1]s/version"
version_file_persist = "%[1]s/version-kept"
clean_shutdown_file = "%[1]s/clean"
[crio.api]
listen = "%[3]s"
stream_port = "0"
[crio.runtime]
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
enable_pod_events = true
default_runtime = "runc"
namespaces_dir = "%[1]s/namespaces"
pinns_path = "%[2]s/pinns"
container_exits_dir = "%[1]s/exits"
container_attach_socket_dir = "%[1]s/attach"
hooks_dir = []
[crio.runtime.runtimes.runc]
runtime_path = "%[1]s/runc"
runtime_root = "%[1]s/runc-state"
monitor_path = "%[2]s/debian/usr/bin/conmon"
monitor_cgroup = "pod"
[crio.image]
pause_image = "%[4]s"
pause_command = ""
signature_policy = "%[1]s/policy.json"
signature_policy_dir = "%[1]s/policies"
[crio.network]
network_dir = "%[6]s"
plugin_dirs = ["%[5]s"]
[crio.nri]
enable_nri = false
`
