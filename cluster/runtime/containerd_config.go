package runtime

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
)

// machine is what the configuration depends on beside Config.
type machine struct {
	// overlay: overlayfs can be mounted on the data directory's file system.
	overlay bool
	// lowerOOMScore: the process may lower its own oom_score_adj.
	lowerOOMScore bool
}

// unusedPlugins is what containerd's builtins bring and no pod here needs. Each
// costs memory, start-up time, a directory or a timer:
// the snapshotters and differs for other file systems, NRI (a second socket and
// a plugin host), the restart monitor (polls every ten seconds; the node agent
// restarts containers), image verifier, /opt/containerd, the health and
// transfer helpers of other tools.
var unusedPlugins = []string{
	"io.containerd.snapshotter.v1.blockfile",
	"io.containerd.snapshotter.v1.devmapper",
	"io.containerd.snapshotter.v1.erofs",
	"io.containerd.snapshotter.v1.zfs",
	"io.containerd.differ.v1.erofs",
	"io.containerd.mount-handler.v1.erofs",
	"io.containerd.image-verifier.v1.bindir",
	"io.containerd.internal.v1.opt",
	"io.containerd.monitor.container.v1.restart",
	"io.containerd.internal.v1.restart",
	"io.containerd.nri.v1.nri",
	"io.containerd.tracing.processor.v1.otlp",
	"io.containerd.internal.v1.tracing",
}

// statsPeriod is how often containerd reads each container's CPU counters. Its
// own default of one second asks every shim every second, which costs about as
// much CPU as all HTTP probes of a hundred pods; the node reads the cgroups
// itself, and kubelet's stats are ten seconds old as well.
const statsPeriod = "30s"

// containerdConfig is containerd's configuration file for c on the machine m.
// The same input gives the same bytes, so that a changed file means a change.
func containerdConfig(c Config, m machine, pauseImage string) ([]byte, error) {
	p := c.paths()
	snapshotter := "overlayfs"
	disabled := unusedPlugins
	if m.overlay {
		disabled = append(disabled[:len(disabled):len(disabled)], "io.containerd.snapshotter.v1.native")
	} else {
		snapshotter = "native"
		disabled = append(disabled[:len(disabled):len(disabled)], "io.containerd.snapshotter.v1.overlayfs")
	}
	// As its own systemd unit does, so that pods go first when memory runs out.
	oomScore := 0
	if m.lowerOOMScore {
		oomScore = -999
	}
	type table = map[string]any
	file := table{
		"version":          4,
		"root":             p.root,
		"state":            p.state,
		"disabled_plugins": disabled,
		"required_plugins": []string{"io.containerd.grpc.v1.cri"},
		"oom_score":        oomScore,
		"debug":            table{"level": "warn"},
		"plugins": table{
			"io.containerd.server.v1.grpc":   table{"address": p.socket},
			"io.containerd.server.v1.ttrpc":  table{"address": p.socket + ".ttrpc"},
			"io.containerd.shim.v1.manager":  table{"socket_dir": p.shimSockets},
			"io.containerd.metadata.v1.bolt": table{"no_sync": true}, // see copier
			// Prometheus series of every container: the node exports its own.
			"io.containerd.monitor.task.v1.cgroups": table{"no_prometheus": true},
			"io.containerd.cri.v1.images": table{
				"snapshotter":   snapshotter,
				"pinned_images": table{"sandbox": pauseImage},
				"registry":      table{"config_path": p.certs},
			},
			"io.containerd.transfer.v1.local": table{
				"config_path": p.certs,
				"unpack_config": []table{{
					"platform": "linux", "snapshotter": snapshotter, "differ": "walking",
				}},
			},
			"io.containerd.cri.v1.runtime": table{
				"restrict_oom_score_adj":       !m.lowerOOMScore,
				"netns_mounts_under_state_dir": true,
				"stats_collect_period":         statsPeriod,
				"enable_criu":                  false,
				"cni": table{
					"bin_dirs":              []string{filepath.Join(c.Libexec, "cni")},
					"conf_dir":              p.cniConf,
					"use_internal_loopback": true,
				},
				"containerd": table{
					"default_runtime_name": "runc",
					"runtimes": table{"runc": table{
						"runtime_type": "io.containerd.runc.v2",
						"runtime_path": filepath.Join(c.Libexec, "containerd-shim-join"),
						"options": table{
							"BinaryName": filepath.Join(c.Libexec, "runc"),
							"Root":       filepath.Join(p.state, "runc"),
						},
					}},
				},
			},
			"io.containerd.grpc.v1.cri": table{
				// Exec, attach and port-forward streams: the node's server is the
				// only client, on the same machine.
				"stream_server_address": "127.0.0.1",
				"stream_server_port":    "0",
				"disable_tcp_service":   true,
			},
		},
	}
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).SetIndentTables(true).Encode(file); err != nil {
		return nil, fmt.Errorf("writing containerd's configuration: %w", err)
	}
	return out.Bytes(), nil
}
