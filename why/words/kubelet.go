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

// Scheduler drops what the scheduler adds about preemption, which could not help either.
func Scheduler(message string) string {
	message, _, _ = strings.Cut(message, " no new claims to deallocate")
	message, _, _ = strings.Cut(message, " preemption:")
	return message
}

// NoRuntime says whether a call of CRI that kubelet tells of got no answer: the code is gRPC's own. What the runtime
// passes on, such as a network plugin's that reached nobody, has the code Unknown before it.
func NoRuntime(message string) bool {
	_, rest, ok := strings.Cut(message, "rpc error: code = ")
	return ok && strings.HasPrefix(rest, "Unavailable ")
}
