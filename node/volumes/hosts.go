package volumes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
)

const etcHosts = "/etc/hosts"

// hostsFile writes the pod's /etc/hosts and gives its path. The contents are
// kubelet's (kubelet_pods.go, ensureHostsFile): the pod's own names, or on the
// host's network the node's file, and the aliases that the pod asks for. A file
// that is as it should be is not touched, because containers may be reading it.
func (m *Manager) hostsFile(pod *v1.Pod, o MountOptions) (string, error) {
	content := podHosts(o.PodIPs, o.HostName, o.HostDomain, pod.Spec.HostAliases)
	if pod.Spec.HostNetwork {
		node, err := os.ReadFile(etcHosts)
		if err != nil {
			return "", err
		}
		content = nodeHosts(node, pod.Spec.HostAliases)
	}
	path := filepath.Join(m.podDir(pod.UID), "etc-hosts")
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return path, nil
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return "", err
	}
	return path, os.Chmod(path, 0o644) // whatever the umask
}

func podHosts(ips []string, name, domain string, aliases []v1.HostAlias) []byte {
	var b bytes.Buffer
	b.WriteString("# Kubernetes-managed hosts file.\n" +
		"127.0.0.1\tlocalhost\n" +
		"::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\n" +
		"fe00::0\tip6-mcastprefix\n" +
		"fe00::1\tip6-allnodes\n" +
		"fe00::2\tip6-allrouters\n")
	names := name
	if domain != "" {
		names = name + "." + domain + "\t" + name
	}
	for _, ip := range ips {
		fmt.Fprintf(&b, "%s\t%s\n", ip, names)
	}
	writeAliases(&b, aliases)
	return b.Bytes()
}

func nodeHosts(node []byte, aliases []v1.HostAlias) []byte {
	var b bytes.Buffer
	b.WriteString("# Kubernetes-managed hosts file (host network).\n")
	b.Write(node)
	writeAliases(&b, aliases)
	return b.Bytes()
}

func writeAliases(b *bytes.Buffer, aliases []v1.HostAlias) {
	if len(aliases) == 0 {
		return
	}
	b.WriteString("\n# Entries added by HostAliases.\n")
	for _, a := range aliases {
		fmt.Fprintf(b, "%s\t%s\n", a.IP, strings.Join(a.Hostnames, "\t"))
	}
}
