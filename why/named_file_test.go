package why

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// A file that last words name is told by where it comes from.
func TestNamedFile(t *testing.T) {
	pod := web(silentProbe)
	pod.Spec.Volumes = []v1.Volume{
		{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "squid"}}}},
		{Name: "one", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "all"}, Items: []v1.KeyToPath{{Key: "main", Path: "app.ini"}}}}},
		{Name: "tls", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "ldap-tls"}}},
		{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{
		{Name: "conf", MountPath: "/srv/"}, {Name: "one", MountPath: "/etc/app.ini", SubPath: "app.ini"}, {Name: "tls", MountPath: "/srv/tls"}, {Name: "data", MountPath: "/data"},
	}
	mode := int32(0o400)
	for _, v := range pod.Spec.Volumes {
		if v.Name == "tls" {
			v.Secret.DefaultMode = &mode
		}
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "keys", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "mq", DefaultMode: &mode}}})
	pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "conf", MountPath: "/etc/nginx"}, v1.VolumeMount{Name: "keys", MountPath: "/mosquitto/secret"})
	for said, want := range map[string]string{
		`[emerg] open() "/etc/nginx/mime.types" failed (2: No such file or directory) in /etc/nginx/nginx.conf:8`:            "mount file by file: ConfigMap squid at /etc/nginx covers the whole folder, and hides what the image has there (mime.types, if it has no such key)",
		`Error: Unable to open pwfile "/mosquitto/secret/pwfile".`:                                                           "let its user read /mosquitto/secret/pwfile: volume keys has defaultMode 0400",
		"2026/11/23 11:34:59| /srv/squid.conf(2): unrecognized: 'http_acess'":                                                "if /srv/squid.conf, which its words name, is wrong, correct it: it is squid.conf of ConfigMap squid: kubectl -n shop edit configmap squid",
		"PHP Fatal error: no memory in /srv/..2026_11_23_11_41_23.1086845026/status.php on line 3":                           "if /srv/status.php, which its words name, is wrong, correct it: it is status.php of ConfigMap squid: kubectl -n shop edit configmap squid",
		"ERROR: unknown key at /etc/app.ini:7":                                                                               "if /etc/app.ini, which its words name, is wrong, correct it: it is main of ConfigMap all: kubectl -n shop edit configmap all",
		"TLS: opening `/srv/tls/tls.key' failed: Permission denied\nTLS: could not use private key file `/srv/tls/tls.key`.": "let its user read /srv/tls/tls.key, which comes from Secret ldap-tls: give volume tls defaultMode: 0444",
		"Error: EACCES: permission denied, copyfile '/srv/settings.js' -> '/data/settings.js'":                               "give its user volume data, in which /data/settings.js is",
		"sed: can't create temp file '/srv/squid.confXX': Permission denied\nopen /srv/squid.conf: permission denied":        "have it write elsewhere than to /srv/squid.conf",
		"open /data/queries.active: permission denied":                                                                       "give its user volume data, in which /data/queries.active is",
		"error: cannot load /srv/tls/ca.crt: no such file or directory":                                                      "see whether Secret ldap-tls, mounted at /srv/tls, has ca.crt: kubectl -n shop describe secret ldap-tls",
		"postconf: fatal: open /data/main.cf for reading: No such file or directory":                                         "see that volume data has /data/main.cf before it starts (an init container that writes it there, or copies what the image has at /data, which the volume hides)",
		`initdb: error: could not create directory "/var/lib/pg": Permission denied`:                                         "let its user write to /var/lib/pg, which is part of the image: mount an emptyDir there",
		"ERROR in /usr/lib/python3/app.py":                                                                                   "read more of its log",
		"ERROR: cannot start from /srv":                                                                                      "read more of its log",
		"ERROR: https://db.example.com/srv/squid.conf answers 404":                                                           "read more of its log",
	} {
		s := tell(t, pod.DeepCopy())
		s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: strings.Split(said, "\n")})
		a := s.ask()
		check(t, a)
		if f := a.Verdicts[0].Fixes[0]; !strings.HasPrefix(f.Text+": "+f.Command, want) {
			t.Errorf("%s: %s: %s", said, f.Text, f.Command)
		}
	}
}
