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
		`[emerg] mkdir() "/var/lib/nginx/body" failed (13: Permission denied)`:          "let user 101 write to /var/lib/nginx, which is part of the image",
		"error: cannot write in dir /data: Permission denied":                           "let user 101 write to /data, which is part of the image",
		"error: cannot write in dir /cache: Permission denied":                          "give user 101 volume cache (mounted at /cache): set fsGroup: 101 in the pod's securityContext",
		"FATAL: could not open /etc/shadow: Permission denied":                          "let user 101 use /etc/shadow, which is part of the image and belongs to root",
		"FATAL failed to assume identity of user 'postgres': Operation not permitted":   "remove the user switch from its configuration",
		"FATAL: not permitted: Permission denied":                                       "find in its log or configuration which file or port was refused; for a file of volume cache (at /cache)",
		"opening errorlog '/dev/stderr' failed: Permission denied":                      "start container app as the user that it changes to",
		"opening errorlog '/dev/pts/0' failed: Permission denied":                       "set tty: true for container app",
		"mkdir /nats-data: permission denied":                                           "mount an emptyDir at /nats-data",
		"[Errno 13] Permission denied: 'schedule.db'":                                   "let user 101 use schedule.db, which is relative to its working directory",
		"/bin/start.sh: line 6: can't create /srv/conf/app.conf: Permission denied":     "let user 101 write to /srv/conf, which is part of the image",
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
