package why

import (
	"strings"
	"testing"
	"time"

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

// bySidecar is the sidecar's answer, and byApplication one that it passed on.
func bySidecar(code int, text string) fact.Probed {
	b := status(fact.Liveness, code, text)
	b.Evidence.Target, b.Evidence.Remote = "http://10.0.0.1:15901/osm-liveness-probe/app", "10.0.0.1:15901"
	b.Evidence.Header = map[string]string{mesh.AnsweredBy: mesh.Sidecar}
	return b
}

func byApplication(code int, text string) fact.Probed {
	b := bySidecar(code, text)
	b.Evidence.Header[mesh.AnsweredBy] = mesh.Application
	return b
}

// atSidecar is an attempt that ended at the sidecar's port without an answer.
func atSidecar(ev fact.Evidence) fact.Probed {
	ev.Target, ev.Remote = "http://10.0.0.1:15901/osm-liveness-probe/app", "10.0.0.1:15901"
	return attempt(fact.Liveness, ev)
}

// lookAt is a look at who listens on the probed port, and on the sidecar's.
func lookAt(sidecarState string, ports ...string) fact.Looked {
	look := fact.Looked{PID: 117, State: "S", Processes: 1, Over: 2 * time.Second, Listeners: []fact.Listener{{Address: ":::15901", PID: 900, Command: "whylet", State: sidecarState, Other: true}}}
	for _, port := range ports {
		look.Listeners = append(look.Listeners, fact.Listener{Address: "0.0.0.0:" + port, PID: 117, Command: "app", State: "S", Backlog: 1})
	}
	return look
}

const refusedReport = "Get \"http://10.0.0.1:14001/liveness\": dial tcp 10.0.0.1:14001: connect: connection refused\n"

// TestMesh: what the application does is told as of the application, at its own
// port; what the sidecar does is told apart.
func TestMesh(t *testing.T) {
	get := liveness(v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/liveness", Port: intstr.FromInt32(14001)}})
	tcp := liveness(v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(14001)}})
	grpc := liveness(v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 14001}})
	meshed := func(change func(*v1.Container)) *v1.Pod { return inMesh(t, web(change), mesh.Default) }
	plain := func(change func(*v1.Container)) *v1.Pod {
		pod := web(change)
		pod.Annotations = map[string]string{mesh.RewriteKey: mesh.Disabled}
		return inMesh(t, pod, mesh.Default)
	}
	started := func(s *tale) { s.exit(mesh.InitName, fact.Exited{OOMKnown: true}) }
	failing := func(b fact.Probed, looks ...fact.Looked) func(*tale) {
		return func(s *tale) {
			s.in("app", b)
			s.wait(2 * time.Second)
			for _, l := range looks {
				s.in("app", l)
			}
			s.probe("app", 2, b)
		}
	}
	for _, q := range []question{
		{
			name: "the application's own answer", pod: meshed(get), symptom: answer.Restarted, cause: answer.AppUnhealthy, certainty: answer.Recorded,
			tale: failing(byApplication(503, "no")), says: "(liveness GET /liveness:14001, through the mesh) with 503",
		},
		{
			name: "the application's own 404", pod: meshed(get), symptom: answer.Restarted, cause: answer.ProbeWrongPath,
			tale: failing(byApplication(404, "nothing here")), says: "http://10.0.0.1:14001/liveness",
		},
		{
			name: "nothing listens behind the sidecar", pod: meshed(get), symptom: answer.Restarted, cause: answer.ProbeWrongPort,
			tale: failing(bySidecar(503, refusedReport), lookAt("S", "9000")), says: "port 14001", contributing: []answer.Cause{answer.MeshSidecarAnswered},
		},
		{
			name: "the sidecar could not reach it, and nobody looked", pod: meshed(func(c *v1.Container) { get(c); c.LivenessProbe.InitialDelaySeconds = 1 }),
			symptom: answer.Restarted, cause: answer.MeshSidecarAnswered,
			tale: failing(bySidecar(503, "Get \"http://10.0.0.1:14001/liveness\": read: connection reset by peer")), says: "which got none from the application",
		},
		{
			name: "the sidecar does not know the probe", pod: meshed(get), symptom: answer.Restarted, cause: answer.MeshSidecarAnswered, certainty: answer.Recorded,
			tale: failing(bySidecar(404, "no liveness probe is known at /osm-liveness-probe/app")), says: "itself",
		},
		{
			name: "a hanging application behind the sidecar", pod: meshed(get), symptom: answer.Restarted, cause: answer.AppHang,
			tale: func(s *tale) {
				s.probe("app", 2, good(fact.Liveness, time.Millisecond))
				s.in("app", atSidecar(fact.Evidence{Connect: time.Millisecond, Timeout: true}))
				patient := bySidecar(504, "context deadline exceeded")
				s.in("app", fact.AskedAgain{Probe: fact.Liveness, Verdict: fact.Failure, Patience: 10 * time.Second, Timeout: time.Second, Took: time.Second, Evidence: patient.Evidence})
				s.in("app", lookAt("S", "14001"))
				s.probe("app", 2, atSidecar(fact.Evidence{Connect: time.Millisecond, Timeout: true}))
			},
		},
		{
			name: "a closed TCP port", pod: meshed(tcp), symptom: answer.Restarted, cause: answer.ProbeWrongPort,
			tale: failing(bySidecar(404, "dial tcp 10.0.0.1:14001: connect: connection refused\n"), lookAt("S", "9000")), says: "port 14001",
		},
		{
			name: "gRPC not serving", pod: meshed(grpc), symptom: answer.Restarted, cause: answer.AppUnhealthy,
			tale: failing(byApplication(503, "service unhealthy (responded with \"NOT_SERVING\")")), says: "gRPC :14001, through the mesh",
		},
		{
			name: "the sidecar is stopped", pod: meshed(get), symptom: answer.Restarted, cause: answer.MeshSidecarNotReady,
			tale: failing(atSidecar(fact.Evidence{Connect: time.Millisecond, Timeout: true}), lookAt("T", "14001")), says: "whylet-mesh is stopped",
		},
		{
			name: "not rewritten", pod: plain(get), symptom: answer.Restarted, cause: answer.MeshNotRewritten,
			tale: failing(attempt(fact.Liveness, fact.Evidence{Connect: time.Millisecond, Error: "EOF", Target: "http://10.0.0.1:14001/liveness"})), says: "no identity in the mesh",
		},
		{
			name: "not rewritten, and it is the application that answers", pod: plain(get), symptom: answer.Restarted, cause: answer.AppUnhealthy,
			tale: failing(status(fact.Liveness, 500, "no")),
		},
	} {
		then := q.tale
		q.tale = func(s *tale) { started(s); then(s) }
		t.Run(q.name, q.run)
	}
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

// TestOtherMeshes: Istio's and osm-edge's rewritten probes are named as such.
func TestOtherMeshes(t *testing.T) {
	istio := web(liveness(v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/app-health/app/livez", Port: intstr.FromInt32(15020)}}))
	istio.Spec.Containers = append(istio.Spec.Containers, v1.Container{Name: "istio-proxy", Env: []v1.EnvVar{{
		Name: "ISTIO_KUBE_APP_PROBERS", Value: `{"/app-health/app/livez":{"httpGet":{"path":"/live","port":8080,"scheme":"HTTP"}}}`,
	}}})
	osm := web(liveness(v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: mesh.LivenessPath, Port: intstr.FromInt32(15901)}}))
	osm.Spec.Containers = append(osm.Spec.Containers, v1.Container{Name: "pipy"})
	linkerd := web()
	linkerd.Spec.Containers = append(linkerd.Spec.Containers, v1.Container{Name: "linkerd-proxy"})
	answered := func(code int, target string) func(*tale) {
		b := status(fact.Liveness, code, "")
		b.Evidence.Target = target
		b.Evidence.Header = map[string]string{"Content-Type": "text/plain"}
		return func(s *tale) { s.probe("app", 3, b) }
	}
	agent := status(fact.Liveness, 500, "")
	agent.Evidence.Target = "http://10.0.0.1:15020/app-health/app/livez"
	refusal, said := status(fact.Liveness, 502, ""), status(fact.Liveness, 502, "")
	refusal.Evidence.Header = map[string]string{"L5d-Proxy-Error": "connect error: Connection refused (os error 111)"}
	said.By = fact.BySay
	for _, q := range []question{
		{name: "linkerd's proxy", pod: linkerd, symptom: answer.Restarted, cause: answer.MeshSidecarAnswered, says: "l5d-proxy-error", tale: func(s *tale) { s.probe("app", 3, refusal) }},
		{name: "linkerd's proxy, or the application", pod: linkerd, symptom: answer.Restarted, cause: answer.CauseUnknown, tale: func(s *tale) { s.probe("app", 3, said) }},
		{name: "istio's agent, or the application", pod: istio, symptom: answer.Restarted, cause: answer.CauseUnknown, tale: func(s *tale) { s.probe("app", 3, agent) }},
		{name: "istio's agent, and nobody listens", pod: istio, symptom: answer.Restarted, cause: answer.AppNotListening, says: "through the mesh (istio)", tale: func(s *tale) {
			s.probe("app", 2, agent)
			s.in("app", fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "[::]:15020", PID: 777, Command: "pilot-agent", Other: true}}})
			s.probe("app", 1, agent)
		}},
		{name: "istio", pod: istio, symptom: answer.Restarted, cause: answer.AppUnhealthy, says: "liveness GET /live:8080, through the mesh (istio)", tale: answered(500, "http://10.0.0.1:15020/app-health/app/livez")},
		{name: "osm-edge", pod: osm, symptom: answer.Restarted, cause: answer.AppUnhealthy, says: "rewritten by osm-edge", tale: answered(500, "http://10.0.0.1:15901/osm-liveness-probe")},
		{name: "linkerd", pod: linkerd, symptom: answer.Restarted, cause: answer.AppUnhealthy, says: "liveness probe of container app", tale: answered(500, "http://10.0.0.1:8080/")},
	} {
		t.Run(q.name, q.run)
	}
}
