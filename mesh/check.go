package mesh

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Finding is the outcome of one check.
type Finding struct {
	// ID names the check; those that package why knows as causes have its names.
	ID string `json:"id"`
	OK bool   `json:"ok"`
	// About is the container and the probe, where the check is about one.
	About string `json:"about,omitempty"`
	Text  string `json:"text"`
	// Fix is what to do, when it is not OK.
	Fix string `json:"fix,omitempty"`
}

// The checks.
const (
	CheckInMesh       = "mesh-membership"
	CheckRewritten    = "mesh-probe-not-rewritten"
	CheckTarget       = "mesh-probe-target"
	CheckConfig       = "mesh-proxy-config"
	CheckSidecar      = "mesh-sidecar-not-ready"
	CheckHealthcheck  = "mesh-healthcheck"
	CheckStart        = "pod-start"
	CheckRun          = "pod-run"
	istioRewriteAnnot = "sidecar.istio.io/rewriteAppHTTPProbers"
)

// Check goes through osm-edge's troubleshooting list for a pod with its status:
// are the probes rewritten, and to the right place; does the proxy know them; do
// sidecar and health-check server run; did the pod fail to start, or in running.
// Every check that applies gives a finding, also when all is well.
func Check(pod *v1.Pod) []Finding {
	in := Of(pod)
	if in == None {
		return append([]Finding{{
			ID: CheckInMesh, Text: "the pod has no sidecar: its probes go straight to the application",
			Fix: "label its namespace or the pod " + InjectKey + "=" + Enabled + ", and create the pod again",
		}}, checkLife(pod)...)
	}
	findings := []Finding{{ID: CheckInMesh, OK: true, Text: fmt.Sprintf("the pod is in the mesh %s", in)}}
	for _, c := range containers(pod) {
		if isMeshContainer(c.Name) {
			continue
		}
		for _, kind := range Kinds {
			if p, ok := Original(pod, c.Name, kind); ok {
				findings = append(findings, checkProbe(pod, p)...)
			}
		}
	}
	findings = append(findings, checkSidecar(pod, in)...)
	return append(findings, checkLife(pod)...)
}

func isMeshContainer(name string) bool {
	return slices.Contains([]string{
		SidecarName, InitName, HealthcheckName, "pipy", "osm-init", "istio-proxy", "istio-init", "istio-validation", "linkerd-proxy", "linkerd-init",
	}, name)
}

func checkProbe(pod *v1.Pod, p Probe) []Finding {
	about := fmt.Sprintf("container %s, %s", p.Container, p)
	if p.Rewritten {
		found := []Finding{{ID: CheckRewritten, OK: true, About: about, Text: "rewritten to the sidecar"}}
		if p.Mesh == Whylet || p.Mesh == OSM {
			found = append(found, checkTarget(p, about))
		}
		if p.Mesh == Whylet {
			found = append(found, checkConfig(pod, p, about))
		}
		return found
	}
	current := p.Current
	switch {
	case p.Mesh == Linkerd:
		return []Finding{{ID: CheckRewritten, OK: true, About: about, Text: "Linkerd needs no rewriting: its proxy lets probes through"}}
	case current.Exec != nil:
		return []Finding{{ID: CheckRewritten, OK: true, About: about, Text: "runs in the container, past the sidecar"}}
	case PastSidecar(current):
		return []Finding{{ID: CheckRewritten, OK: true, About: about, Text: "asks another host, past the sidecar"}}
	}
	f := Finding{
		ID: CheckRewritten, About: about,
		Text: "not rewritten: the node has no identity in the mesh, so the sidecar refuses it",
		Fix:  "create the pod again while the webhook runs",
	}
	switch {
	case current.TCPSocket != nil:
		f.Text = "not rewritten: the sidecar accepts every connection, so it succeeds whether the port is open or not"
	case current.GRPC != nil && p.Mesh == Whylet && Form(pod.Annotations[FormAnnotation]) == OSMEdge:
		f.Text = "not rewritten: osm-edge's form leaves gRPC probes alone, and the sidecar refuses them"
		f.Fix = "use the default form, or an exec probe"
	}
	switch {
	case p.Mesh == Whylet && rewritingOff(pod):
		f.Fix = "remove the annotation " + RewriteKey + ", and create the pod again"
	case p.Mesh == Istio && pod.Annotations[istioRewriteAnnot] == "false":
		f.Fix = "remove the annotation " + istioRewriteAnnot + "=false, and create the pod again"
	}
	return []Finding{f}
}

// checkTarget says whether a rewritten probe has the port and path of its kind.
func checkTarget(p Probe, about string) Finding {
	get := p.Current.HTTPGet
	f := Finding{ID: CheckTarget, About: about, Fix: "create the pod again while the webhook runs"}
	if get == nil {
		f.Text = "it was rewritten, but is no httpGet probe any more"
		return f
	}
	port, paths := Port(p.Kind), []string{Path(p.Kind), ContainerPath(p.Kind, p.Container)}
	switch {
	case p.Original != nil && p.Original.TCPSocket != nil:
		port, paths = HealthcheckPort, []string{HealthcheckPath}
	case get.Scheme == v1.URISchemeHTTPS:
		paths = []string{get.Path}
	}
	if got := get.Port.IntVal; got != port {
		f.Text = fmt.Sprintf("it goes to port %s instead of %d", get.Port.String(), port)
		return f
	}
	if !slices.Contains(paths, get.Path) {
		f.Text = fmt.Sprintf("it asks for %s instead of %s", get.Path, paths[0])
		return f
	}
	return Finding{ID: CheckTarget, OK: true, About: about, Text: fmt.Sprintf("goes to :%d%s", port, get.Path)}
}

// checkConfig says whether the sidecar was told of the probe.
func checkConfig(pod *v1.Pod, p Probe, about string) Finding {
	f := Finding{ID: CheckConfig, About: about, Fix: "create the pod again while the webhook runs"}
	text := ""
	for _, c := range containers(pod) {
		for _, e := range c.Env {
			if c.Name == SidecarName && e.Name == ConfigEnv {
				text = e.Value
			}
		}
	}
	config, err := ParseSidecarConfig(text)
	if err != nil {
		f.Text = err.Error()
		return f
	}
	known := slices.ContainsFunc(config.Routes, func(r Route) bool { return r.Container == p.Container && r.Kind == p.Kind })
	if t := p.Original.TCPSocket; t != nil {
		known = slices.Contains(config.TCPPorts, t.Port.IntVal)
	}
	if !known {
		f.Text = "the sidecar's configuration does not have it"
		return f
	}
	return Finding{ID: CheckConfig, OK: true, About: about, Text: "the sidecar's configuration has it"}
}

func checkSidecar(pod *v1.Pod, in Name) []Finding {
	var findings []Finding
	for _, want := range []struct{ id, name string }{{CheckSidecar, sidecarNames[in]}, {CheckHealthcheck, HealthcheckName}} {
		if !slices.ContainsFunc(containers(pod), func(c *v1.Container) bool { return c.Name == want.name }) {
			continue
		}
		f := Finding{ID: want.id, About: "container " + want.name}
		switch s := statusOf(pod, want.name); {
		case s == nil:
			f.Text, f.Fix = "has no status yet", "see the checks of the pod's start below"
		case s.State.Running == nil:
			f.Text, f.Fix = "does not run: "+state(s.State), fmt.Sprintf("kubectl logs -n %s %s -c %s --previous", pod.Namespace, pod.Name, want.name)
		case !s.Ready:
			f.Text, f.Fix = "runs, and is not ready", fmt.Sprintf("kubectl logs -n %s %s -c %s", pod.Namespace, pod.Name, want.name)
		default:
			f.OK, f.Text = true, "runs, and is ready"
		}
		findings = append(findings, f)
	}
	return findings
}

// checkLife finds what has nothing to do with the mesh.
func checkLife(pod *v1.Pod) []Finding {
	var findings []Finding
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse {
			findings = append(findings, Finding{
				ID: CheckStart, Text: "the pod is not scheduled: " + c.Message,
				Fix: fmt.Sprintf("kubectl describe pod -n %s %s", pod.Namespace, pod.Name),
			})
		}
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		about := "container " + s.Name
		if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			findings = append(findings, Finding{
				ID: CheckStart, About: about, Text: "waits: " + w.Reason + " " + w.Message,
				Fix: fmt.Sprintf("kubectl why pod/%s -n %s", pod.Name, pod.Namespace),
			})
		}
		if t := s.LastTerminationState.Terminated; t != nil && s.RestartCount > 0 {
			f := Finding{
				ID: CheckRun, About: about,
				Text: fmt.Sprintf("restarted %d times, last after exit code %d (%s)", s.RestartCount, t.ExitCode, t.Reason),
				Fix:  fmt.Sprintf("kubectl logs -n %s %s -c %s --previous", pod.Namespace, pod.Name, s.Name),
			}
			if s.Ready && s.State.Running != nil { // it is over
				f.OK, f.Text = true, f.Text+"; it is ready, and runs since"+s.State.Running.StartedAt.UTC().Format(" 2006-01-02 15:04:05")
			}
			findings = append(findings, f)
		}
	}
	if !slices.ContainsFunc(findings, func(f Finding) bool { return !f.OK }) {
		findings = append(findings, Finding{ID: CheckStart, OK: true, Text: "no other error of the pod's start or run is in its status"})
	}
	return findings
}

func statusOf(pod *v1.Pod, name string) *v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

func state(s v1.ContainerState) string {
	switch {
	case s.Waiting != nil:
		return "waiting, " + s.Waiting.Reason
	case s.Terminated != nil:
		return fmt.Sprintf("ended with exit code %d, %s", s.Terminated.ExitCode, s.Terminated.Reason)
	}
	return "not started"
}
