package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Where in its own code a program failed is told once, behind what it says, and the file where a
// ConfigMap has it.
func TestRaisedAt(t *testing.T) {
	python := []string{"Traceback (most recent call last):", `  File "/srv/app.py", line 12, in load`, `    return os.environ["DB"]`, `  File "/usr/lib/python3.11/os.py", line 679, in __getitem__`, "KeyError: 'DB'"}
	pod := web(silentProbe)
	pod.Spec.Volumes = []v1.Volume{{Name: "code", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "shop"}}}}}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "code", MountPath: "/srv"}}

	s := tell(t, pod)
	s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, LastLines: python})
	v := s.ask().Verdicts[0]
	if !strings.Contains(v.Text, "its last message: KeyError: 'DB' (at /srv/app.py:12, in load).") {
		t.Error(v.Text)
	}
	if f := v.Fixes[0]; f.Text != "if /srv/app.py, where that was raised, is wrong, correct it: it is app.py of ConfigMap shop" || !strings.HasPrefix(f.Command, "kubectl -n shop edit configmap shop && ") {
		t.Errorf("%+v", v.Fixes)
	}

	s = tell(t, web(silentProbe))
	s.exit("app", fact.Exited{ExitCode: 255, OOMKnown: true, LastLines: []string{"PHP Fatal error:  Uncaught RuntimeException: no in /srv/vendor/a.php:12", "#0 /srv/index.php(3): a()", "thrown in /srv/vendor/a.php on line 12"}})
	if v := s.ask().Verdicts[0]; strings.Count(v.Text, "/srv/index.php:3") != 1 {
		t.Error(v.Text)
	}

	s = tell(t, web(ready))
	s.probe("app", 3, status(fact.Readiness, 500, "down"))
	s.said([]time.Duration{time.Second, time.Second, time.Second, time.Second, time.Second}, python...)
	s.probe("app", 1, status(fact.Readiness, 500, "down"))
	if v := s.ask().Verdicts[0]; !strings.Contains(v.Text, "Its log says: KeyError: 'DB' (at /srv/app.py:12, in load).") {
		t.Error(v.Text)
	}
}
