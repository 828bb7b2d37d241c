package why

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Who was refused something is told where it may do that, or what lets it.
func TestMayThen(t *testing.T) {
	user := int64(101)
	for said, want := range map[string]string{
		"[emerg] bind() to 0.0.0.0:80 failed (13: Permission denied)":                   "have it listen on a port above 1023 in place of 80",
		`[emerg] mkdir() "/var/lib/nginx/body" failed (13: Permission denied)`:          "let its user write to /var/lib/nginx, which is of the image",
		"error: cannot write in dir /data: Permission denied":                           "let its user write to /data, which is of the image",
		"error: cannot write in dir /cache: Permission denied":                          "give its user volume cache, mounted at /cache",
		"FATAL: could not open /etc/shadow: Permission denied":                          "give that user the files",
		"FATAL failed to assume identity of user 'postgres': Operation not permitted":   "take the user that it changes to out of its configuration",
		"FATAL: not permitted: Permission denied":                                       "give that user the files",
		`(13)Permission denied: AH00072: make_sock: could not bind to address [::]:443`: "have it listen on a port above 1023 in place of 443",
	} {
		pod := web(silentProbe, func(c *v1.Container) {
			c.SecurityContext = &v1.SecurityContext{RunAsUser: &user}
			c.VolumeMounts = []v1.VolumeMount{{Name: "cache", MountPath: "/cache"}}
		})
		pod.Spec.Volumes = []v1.Volume{{Name: "cache", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		s := tell(t, pod)
		s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{said}})
		v := s.ask().Verdicts[0]
		if !slices.ContainsFunc(v.Fixes, func(f answer.Fix) bool { return strings.HasPrefix(f.Text, want) }) {
			t.Errorf("%s: %s: %+v", said, v.Cause, v.Fixes)
		}
	}
}
