package mounts

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestWhereAFileComesFrom(t *testing.T) {
	from := func(name, configMap string, items ...v1.KeyToPath) v1.Volume {
		source := &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: configMap}, Items: items}
		return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{ConfigMap: source}}
	}
	pod := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{
		from("conf", "web"), from("one", "app", v1.KeyToPath{Key: "settings", Path: "app/settings.ini"}),
		{Name: "tls", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "shop-tls"}}},
		{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
	}}}
	c := &v1.Container{VolumeMounts: []v1.VolumeMount{
		{Name: "conf", MountPath: "/etc/nginx/"},
		{Name: "conf", MountPath: "/etc/nginx/mime.types", SubPath: "types"},
		{Name: "one", MountPath: "/config"},
		{Name: "tls", MountPath: "/etc/nginx/tls"},
		{Name: "data", MountPath: "/data"},
	}}
	for file, want := range map[string][3]string{
		"/etc/nginx/nginx.conf":                              {"ConfigMap", "web", "nginx.conf"},
		"/etc/nginx/..2026_11_24_04_00_00.123456/nginx.conf": {"ConfigMap", "web", "nginx.conf"},
		"/etc/nginx/mime.types":                              {"ConfigMap", "web", "types"},
		"/config/app/settings.ini":                           {"ConfigMap", "app", "settings"},
		"/etc/nginx/tls/tls.key":                             {"Secret", "shop-tls", "tls.key"},
		"/etc/nginx":                                         {},
		"/data/db":                                           {},
		"/etc/nginxes/nginx.conf":                            {},
	} {
		mount, volume := Volume(pod, c, Clean(file))
		var kind, name, key string
		if volume != nil {
			kind, name, key = Key(Clean(file), mount, volume)
		}
		if got := [3]string{kind, name, key}; got != want {
			t.Errorf("%s is of %q, not %q", file, got, want)
		}
	}
	if _, volume := Volume(nil, c, "/data/db"); volume != nil {
		t.Error("a pod that is not known has a volume")
	}
}
