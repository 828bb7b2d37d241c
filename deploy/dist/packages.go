package main

import (
	"fmt"
	"os"
)

// What packages say of themselves.
const (
	maintainer  = "The Whylet authors <whylet@whylet.dev>"
	summary     = "Kubernetes node that remembers why"
	description = `A node with control plane and container runtime in one program. It writes down
every fact that it decides from, and kubectl why answers from these why a pod
was restarted, does not start, is not ready or is gone.`
	// beforeRemoval stops the node that would go on without its program; its data stays.
	beforeRemoval = `  if [ -e /etc/systemd/system/whylet.service ]; then whylet service remove; fi
  if [ -e /var/lib/whylet/whylet.json ]; then
    whylet down
    echo "The node's data stays in /var/lib/whylet; whylet down --purge before the removal takes it away." >&2
  fi
`
)

// packages calls make for each architecture that there is a node for, with what is installed.
func (r *release) packages(make func(arch string, size int64, tree []packed) error) error {
	for _, arch := range arches {
		node := r.built("dist/whylet-" + arch)
		info, err := os.Stat(node)
		if err != nil {
			continue
		}
		tree := []packed{
			{name: "/usr/", mode: 0o755},
			{name: "/usr/bin/", mode: 0o755},
			{name: "/usr/bin/whylet", from: node, mode: 0o755},
			{name: "/usr/bin/kubectl-why", from: r.client("linux", arch), mode: 0o755},
			{name: "/usr/bin/kubectl_complete-why", link: "kubectl-why", mode: 0o777},
			{name: "/usr/share/", mode: 0o755},
			{name: "/usr/share/doc/", mode: 0o755},
			{name: "/usr/share/doc/whylet/", mode: 0o755},
			{name: "/usr/share/doc/whylet/copyright", from: "LICENSE", mode: 0o644},
		}
		if err := make(arch, info.Size(), tree); err != nil {
			return fmt.Errorf("package for %s: %w", arch, err)
		}
	}
	return nil
}
