package object

import "strings"

// kubernetesVersion is the Kubernetes whose node rules are followed here: the
// one in go.mod (a test compares).
const kubernetesVersion = "v1.37.2"

// KubeletVersion is what the node says in place of kubelet's version: clients
// parse it as a semantic version, and build metadata is where it may say more.
func KubeletVersion(whylet string) string {
	metadata := strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '-':
			return r
		}
		return '-'
	}, strings.TrimPrefix(whylet, "v"))
	if metadata == "" {
		return kubernetesVersion + "+whylet"
	}
	return kubernetesVersion + "+whylet-" + metadata
}
