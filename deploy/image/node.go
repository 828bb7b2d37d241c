package main

import (
	"strings"

	"whylet.dev/whylet/deploy/oci"
)

// nodeSpec is the node: whylet with its helpers in it, under the names by which it is
// asked, and process 1. Its data is a volume, for containers' layers cannot lie on those
// of a container. The API server listens for whom the container's port is published to.
func nodeSpec(arch, programs string) oci.Spec {
	whylet, process1, _ := strings.Cut(programs, ",")
	return oci.Spec{
		Arch: arch,
		Files: []oci.File{
			{Path: "/bin/whylet", From: whylet, Mode: 0o755},
			{Path: "/bin/whylet-init", From: process1, Mode: 0o755},
			{Path: "/bin/kubectl", Link: "whylet"},
		},
		Config: oci.Config{
			Entrypoint:   []string{"/bin/whylet-init", "/bin/whylet"},
			Cmd:          []string{"up", "--api-address", "0.0.0.0"},
			Env:          []string{"PATH=/bin", "KUBECONFIG=/var/lib/whylet/kubeconfig/admin.conf"},
			Volumes:      map[string]struct{}{"/var/lib/whylet": {}},
			ExposedPorts: map[string]struct{}{"6443/tcp": {}},
			StopSignal:   "SIGTERM",
		},
	}
}
