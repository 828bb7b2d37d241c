package why

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// A volume that does not fit what the image has at its place, and what of that is known.
func TestMisfits(t *testing.T) {
	const onto = `runc create failed: unable to start container process: error during container init: error mounting "/var/lib/whylet/pods/u1/volume-subpaths/proxy/app/0" to rootfs at "/etc/app/app.cfg": mount src=/var/lib/whylet/pods/u1/volume-subpaths/proxy/app/0, dst=/etc/app/app.cfg, dstFd=/proc/thread-self/fd/16, flags=MS_RDONLY|MS_BIND|MS_REC: `
	configMap := func(items ...v1.KeyToPath) v1.VolumeSource {
		return v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}, Items: items}}
	}
	mounting := func(subPath string, volume v1.VolumeSource) *v1.Pod {
		p := web(func(c *v1.Container) {
			c.VolumeMounts = []v1.VolumeMount{{Name: "proxy", MountPath: "/etc/app/app.cfg", SubPath: subPath}}
		})
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "proxy", VolumeSource: volume})
		return p
	}
	for _, q := range []question{
		{name: "no such key", pod: mounting("app.cfg", configMap()), says: "a directory is to be mounted at /etc/app/app.cfg, where the image has a file (not a directory): subPath app.cfg of volume proxy. What a subPath names and a volume does not have is made as a directory: most likely ConfigMap conf has no key app.cfg."},
		{name: "no such item", pod: mounting("app.cfg", configMap(v1.KeyToPath{Key: "a", Path: "other.cfg"})), says: "the items of volume proxy have no path app.cfg"},
		{name: "an item of that name", pod: mounting("app.cfg", configMap(v1.KeyToPath{Key: "a", Path: "app.cfg"})), says: "One of what is mounted and what the image has there is a directory"},
		{name: "a whole volume onto a file", pod: mounting("", configMap()), says: "a directory is to be mounted at /etc/app/app.cfg, where the image has a file (not a directory): volume proxy."},
		{name: "a file of the node, or a directory", pod: mounting("", v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/etc/app.cfg"}}), says: "One of what is mounted"},
		{name: "a part of an emptyDir", pod: mounting("app.cfg", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), says: "subPath app.cfg of volume proxy could not be mounted at /etc/app/app.cfg: not a directory. One of"},
	} {
		q.symptom, q.cause = answer.NotStarting, answer.VolumeFailed
		q.set = func(s *tale) {
			s.fails = fact.StartFailed{Reason: "RunContainerError", Message: onto + "not a directory"}
		}
		t.Run(q.name, q.run)
	}
	q := question{pod: mounting("app.cfg", configMap()), symptom: answer.NotStarting, cause: answer.VolumeFailed, says: "because subPath app.cfg of volume proxy could not be mounted at /etc/app/app.cfg: no such device."}
	q.set = func(s *tale) {
		s.fails = fact.StartFailed{Reason: "RunContainerError", Message: onto + "no such device"}
	}
	t.Run("another error", q.run)
}
