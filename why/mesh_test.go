package why

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/why/answer"
)

// inMesh puts a pod into the mesh, as the webhook does.
func inMesh(t *testing.T, pod *v1.Pod, form mesh.Form) *v1.Pod {
	t.Helper()
	pod.Spec.ServiceAccountName = "default"
	out, err := mesh.Inject(pod, mesh.Injection{Form: form, Image: "mesh:1", CAURL: "https://ca"})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func liveness(handler v1.ProbeHandler) func(*v1.Container) {
	return func(c *v1.Container) { c.LivenessProbe = &v1.Probe{ProbeHandler: handler} }
}

// atSidecar is an attempt that ended at the sidecar's port without an answer.
func atSidecar(ev fact.Evidence) fact.Probed {
	ev.Target, ev.Remote = "http://10.0.0.1:15901/osm-liveness-probe/app", "10.0.0.1:15901"
	return attempt(fact.Liveness, ev)
}

// TestSidecarGone: the sidecar's container ended, and the application's probe
// fails for it.
func TestSidecarGone(t *testing.T) {
	get := liveness(v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/liveness", Port: intstr.FromInt32(14001)}})
	s := tell(t, inMesh(t, web(get), mesh.Default))
	s.exit(mesh.InitName, fact.Exited{OOMKnown: true})
	s.exit(mesh.SidecarName, fact.Exited{ExitCode: 137, Signal: 9, OOMKnown: true})
	for range 3 {
		s.in("app", atSidecar(fact.Evidence{Errno: "ECONNREFUSED"}))
	}
	a := s.ask()
	check(t, a)
	found := false
	for i, v := range a.Verdicts {
		if a.Symptoms[i].Container == "app" {
			found = v.Cause == answer.MeshSidecarNotReady
			if want := "whylet-mesh did not run: it was ended by SIGKILL (exit code 137)"; !found || !strings.Contains(v.Text, want) {
				t.Errorf("%s: %s does not say %q", v.Cause, v.Text, want)
			}
		}
	}
	if !found {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
}
