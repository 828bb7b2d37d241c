package why

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Where nobody knows anything to change, what configures the container is listed.
func TestWhatConfigures(t *testing.T) {
	ref := v1.LocalObjectReference{Name: "conf"}
	given := func(c *v1.Container) {
		c.VolumeMounts = []v1.VolumeMount{{Name: "conf", MountPath: "/etc/app"}}
		c.EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "keys"}}}}
		c.Env = []v1.EnvVar{
			{Name: "MODE", Value: "fast"},
			{Name: "LEVEL", ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: ref, Key: "level"}}},
		}
	}
	for name, test := range map[string]struct {
		change func(*v1.Container)
		said   string
		want   string
	}{
		"files and variables": {given, "FATAL: no way", "ConfigMap conf (at /etc/app) or Secret keys (variables) or variable MODE (fast) of its spec; otherwise go back to the version of the image that worked"},
		"nothing":             {func(*v1.Container) {}, "FATAL: no way", ""},
		"a change is known":   {given, "FATAL: unknown mode \"fast\"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := web(silentProbe, test.change)
			pod.Spec.Volumes = []v1.Volume{{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: ref}}}}
			s := tell(t, pod)
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, StatusKnown: true, LastLines: []string{test.said}})
			got := ""
			for _, f := range s.ask().Verdicts[0].Fixes {
				if rest, ok := strings.CutPrefix(f.Text, "correct the setting, file or address that its message names, in "); ok {
					got = rest
				}
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
