package observe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// A change that kubelet takes over is told once, with the keys that changed; of a Secret
// only that it did.
func TestChangedConfigs(t *testing.T) {
	dir := t.TempDir()
	write := func(plugin, volume, folder string, files map[string]string) {
		t.Helper()
		path := filepath.Join(dir, "pods", "u", "volumes", plugin, volume)
		if err := os.MkdirAll(filepath.Join(path, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(path, folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_ = os.Symlink("..data/"+name, filepath.Join(path, name)) // there already, the second time
		}
		_ = os.Remove(filepath.Join(path, "..data")) // not there, the first time
		if err := os.Symlink(folder, filepath.Join(path, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	pod := pods.Pod{Key: web, Object: theSpec()}
	pod.Object.Spec.Volumes = []v1.Volume{
		{Name: "c", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "settings"}}}},
		{Name: "s", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "password"}}},
		{Name: "p", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}},
	}
	var c configs
	look := func() []fact.Fact { return c.look(dir, []pods.Pod{pod}) }
	if all := look(); len(all) != 0 {
		t.Errorf("nothing is there yet: %+v", all)
	}
	write("kubernetes.io~configmap", "c", "..1", map[string]string{"mode": "good", "level": "1"})
	write("kubernetes.io~secret", "s", "..1", map[string]string{"word": "a"})
	if all := look(); len(all) != 0 {
		t.Errorf("it began: %+v", all)
	}
	write("kubernetes.io~configmap", "c", "..2", map[string]string{"mode": "bad", "level": "1"})
	write("kubernetes.io~secret", "s", "..2", map[string]string{"word": "b"})
	all := look()
	slices.SortFunc(all, func(a, b fact.Fact) int {
		return len(b.Body.(fact.ConfigChanged).Keys) - len(a.Body.(fact.ConfigChanged).Keys)
	})
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	if b := all[0].Body.(fact.ConfigChanged); b.Object != "ConfigMap" || b.Name != "settings" || !slices.Equal(b.Keys, []string{"mode"}) || all[0].At.IsZero() {
		t.Errorf("%+v", all[0])
	}
	if b := all[1].Body.(fact.ConfigChanged); b.Object != "Secret" || b.Name != "password" || len(b.Keys) != 0 {
		t.Errorf("%+v", b)
	}
	if all := look(); len(all) != 0 {
		t.Errorf("it is told again: %+v", all)
	}
}
