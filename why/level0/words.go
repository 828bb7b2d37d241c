package level0

import (
	"slices"
	"strings"

	"whylet.dev/whylet/why/answer"
)

// word is a part of a message that stands for a cause. Others' words are theirs to
// change, so each names who says it.
type word struct {
	part  string
	cause answer.Cause
}

// configWords are in messages of CreateContainerConfigError (k8s.io/kubernetes
// pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables; kuberuntime/security_context.go,
// verifyRunAsNonRoot; the API's "not found").
var configWords = []word{
	{"runAsNonRoot", answer.SecurityRefused},
	{"couldn't find key", answer.ConfigMissing},
	{"non-existent config key", answer.ConfigMissing},
	{"references non-existent secret key", answer.ConfigMissing},
	{`" not found`, answer.ConfigMissing},
	{"subPath", answer.VolumeFailed},
}

// runWords are what runc and containerd say of a program (runc libcontainer/init_linux.go;
// Go's exec errors).
var runWords = []word{
	{"executable file not found", answer.AppStartFailed},
	{"exec format error", answer.AppStartFailed},
	{"no command specified", answer.AppStartFailed},
	{"is a directory", answer.AppStartFailed},
	{": permission denied", answer.AppStartFailed},
	{": no such file or directory", answer.AppStartFailed},
}

// imageWords are what registries and containerd say (distribution's error codes; Go's
// net errors). The first that fits counts: an unreachable registry is asked nothing.
var imageWords = []word{
	{"no such host", answer.ImageRegistryUnreachable},
	{"connection refused", answer.ImageRegistryUnreachable},
	{"i/o timeout", answer.ImageRegistryUnreachable},
	{"no route to host", answer.ImageRegistryUnreachable},
	{"network is unreachable", answer.ImageRegistryUnreachable},
	{"TLS handshake timeout", answer.ImageRegistryUnreachable},
	{"401 Unauthorized", answer.ImageUnauthorized},
	{"403 Forbidden", answer.ImageUnauthorized},
	{"no basic auth credentials", answer.ImageUnauthorized},
	{"authorization failed", answer.ImageUnauthorized},
	{"pull access denied", answer.ImageUnauthorized},
	{"manifest unknown", answer.ImageNotFound},
	{": not found", answer.ImageNotFound},
	{"no match for platform", answer.ImageNotFound},
}

// mountWords are in events of mounts that fail for something else than the volume
// (k8s.io/kubernetes pkg/volume/configmap, secret, projected).
var mountWords = []word{
	{"references non-existent config key", answer.ConfigMissing},
	{"references non-existent secret key", answer.ConfigMissing},
	{`configmap "`, answer.ConfigMissing},
	{`secret "`, answer.ConfigMissing},
}

func first(list []word, message string) (answer.Cause, bool) {
	for _, w := range list {
		if strings.Contains(message, w.part) {
			return w.cause, true
		}
	}
	return "", false
}

// spoken is what a process says of what it cannot have.
type spoken struct {
	parts []string
	cause answer.Cause
	text  string
}

// saidWords are the system's own words for what cannot be had (strerror, Go's net,
// Node's codes): a process that ends with an error right after them ended for want of it.
var saidWords = []spoken{
	{[]string{"no such host", "Name or service not known", "Temporary failure in name resolution", "ENOTFOUND", "could not translate host name", "bad address"}, answer.DependencyDown, "of a name that is not known"},
	{[]string{"Connection refused", "connection refused", "ECONNREFUSED"}, answer.DependencyDown, "of a connection that was refused"},
	{[]string{"Connection timed out", "i/o timeout", "ETIMEDOUT", "No route to host", "no route to host"}, answer.DependencyDown, "of a connection that nobody answered"},
	{[]string{"ddress already in use", "EADDRINUSE"}, answer.AppExitError, "of a port that is taken"},
	{[]string{"o space left on device", "ENOSPC", "isk quota exceeded"}, answer.DiskFull, "of a disk without room"},
	{[]string{"an't fork", "annot fork", "fork: Resource temporarily unavailable", "unable to create new native thread"}, answer.ProcessLimit, "of a process that could not be made"},
}

// spokenLines is how far back words may bear on an end.
const spokenLines = 4

// said finds such words among the last lines; at is how many lines followed them.
func said(lines []string) (w spoken, at int, ok bool) {
	for i := len(lines) - 1; i >= 0 && at < spokenLines; i-- {
		line := strings.TrimSpace(lines[i])
		if line == "" {
			continue
		}
		for _, w := range saidWords {
			if slices.ContainsFunc(w.parts, func(part string) bool { return strings.Contains(line, part) }) {
				return w, at, true
			}
		}
		at++
	}
	return spoken{}, 0, false
}

// short cuts a message to what a person reads.
func short(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if runes := []rune(message); len(runes) > 300 {
		return string(runes[:300]) + "…"
	}
	return message
}
