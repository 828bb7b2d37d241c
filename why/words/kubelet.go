package words

import (
	"regexp"
	"strings"

	"whylet.dev/whylet/knowledge"
)

// VolumeObjectMissing says whether a volume's set-up failed because an object, or a key
// of one, does not exist.
func VolumeObjectMissing(text string) bool {
	return knowledge.VolumeObject.In(text) && knowledge.NotThere.In(text)
}

// SubPathVariable is the variable that a subPathExpr names and nothing sets (kubelet
// 1.36, third_party/forked/golang/expansion; kubelet_pods.go, makeMounts).
func SubPathVariable(text string) (name string, ok bool) {
	_, name, ok = strings.Cut(text, "missing value for ")
	return name, ok
}

// Hook drops what stands around the words of a hook that failed (kubelet 1.36,
// lifecycle/handlers.go): texts are cut at their end.
func Hook(text string) string {
	if _, rest, ok := strings.Cut(text, " failed - error: "); ok {
		text, _, _ = strings.Cut(rest, ", message: ")
	}
	return strings.TrimSpace(text)
}

// noVolumeKey fits a key of a volume's Secret or ConfigMap that is not there.
var noVolumeKey = regexp.MustCompile(`for volume "([^"]+)" : (?:configmap )?references non-existent (?:secret|config) key: (\S+)`)

// NoVolumeKey is the volume of which kubelet says that its object lacks a key, and the key; empty where it
// says another thing (pkg/volume/secret/secret.go and configmap/configmap.go, MakePayload).
func NoVolumeKey(message string) (volume, key string) {
	if m := noVolumeKey.FindStringSubmatch(message); m != nil {
		return m[1], strings.TrimRight(m[2], ".")
	}
	return "", ""
}
