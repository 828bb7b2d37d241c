package words

import (
	"regexp"
	"strings"
)

// The words of kubelet 1.36, and those of our own node, which has the same.
var (
	NoSuchKey = says("kubelet 1.36, kubelet_pods.go, makeEnvironmentVariables",
		[]string{"couldn't find key"},
		"couldn't find key password in Secret shop/db")
	NoSuchObject = says("kubelet 1.36, kubelet_pods.go, makeEnvironmentVariables; apimachinery, errors.NewNotFound",
		[]string{"not found"},
		`configmap "settings" not found`)
	RunsAsRoot = says("kubelet 1.36, kuberuntime/security_context.go, verifyRunAsNonRoot",
		[]string{"runasnonroot", "run as root", "non-root"},
		`container has runAsNonRoot and image will run as root (pod: "web_shop(u1)", container: app)`,
		`container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root (pod: "web_shop(u1)", container: app)`)
	// AboveMemory names the new limit and the use, in bytes: kubelet's words and runc's.
	AboveMemory = fits("kubelet 1.36, kuberuntime_manager.go, validateMemoryResizeAction; runc 1.5, cgroups/fs/memory.go",
		`(?:set memory limit to |memory limit \()(\d+)\)? (?:\(|below )current usage:? \(?(\d+)`,
		"attempting to set pod memory limit (33554432) below current usage (50331648)",
		"unable to set memory limit to 33554432 (current usage: 50331648, peak usage: 52428800)")
	// AboveMemoryOf names the container, too: of a pod with several limits kubelet tells the pod's first.
	AboveMemoryOf = fits("kubelet 1.36, kuberuntime_manager.go, validateMemoryResizeAction",
		`set container "([^"]+)" memory limit \((\d+)\) below current usage \((\d+)\)`,
		`[attempting to set pod memory limit (20971520) below current usage (61046784), attempting to set container "c" memory limit (20971520) below current usage (61046784)]`)
	notThere = says("kubelet 1.36, volume/configmap and volume/secret; volume/util, projected keys",
		[]string{"not found", "non-existent"},
		`secret "tls" not found`, "configmap references non-existent config key: app.yaml")
	// NotRegistered is said of an object that is there, by a kubelet that has just begun and does
	// not watch it yet.
	NotRegistered = says("kubelet 1.36, util/manager/cache_based_manager.go and watch_based_manager.go, Get",
		[]string{" not registered"},
		`MountVolume.SetUp failed for volume "kube-api-access-vwc2r" : object "shop"/"kube-root-ca.crt" not registered`)
	volumeObject = says("kubelet 1.36, volume/configmap and volume/secret",
		[]string{"configmap", "secret", "references non-existent"},
		`MountVolume.SetUp failed for volume "settings" : configmap "settings" not found`, `secret "tls" not found`, "configmap references non-existent config key: app.yaml")
)

// VolumeObjectMissing says whether a volume's set-up failed because an object, or a key
// of one, does not exist.
func VolumeObjectMissing(text string) bool { return volumeObject.In(text) && notThere.In(text) }

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
