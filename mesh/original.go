package mesh

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
)

// Name names a mesh.
type Name string

// The meshes whose pods are recognised.
const (
	None    Name = ""
	Whylet  Name = "whylet"
	OSM     Name = "osm-edge"
	Istio   Name = "istio"
	Linkerd Name = "linkerd"
)

// Of says which mesh a pod is in, by the marks that its injector leaves.
func Of(pod *v1.Pod) Name {
	if pod.Annotations[FormAnnotation] != "" {
		return Whylet
	}
	for _, c := range containers(pod) {
		switch c.Name {
		case SidecarName:
			return Whylet
		case "istio-proxy":
			return Istio
		case "linkerd-proxy":
			return Linkerd
		case "pipy", "osm-healthcheck":
			return OSM
		}
	}
	return None
}

func containers(pod *v1.Pod) []*v1.Container {
	var all []*v1.Container
	for i := range pod.Spec.InitContainers {
		all = append(all, &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		all = append(all, &pod.Spec.Containers[i])
	}
	return all
}

// Probe is a container's probe, and what it was before a mesh rewrote it.
type Probe struct {
	Mesh      Name
	Container string
	Kind      fact.ProbeKind
	// Current is the probe in the pod, which the node attempts.
	Current *v1.Probe
	// Rewritten is set when a mesh changed it. Original is then what it was, with
	// its port as a number, and nil where the pod does not tell.
	Rewritten bool
	Original  *v1.Probe
}

// Original finds a container's probe as its author wrote it. ok is false when
// the container has no such probe.
//
// Istio keeps its originals in its sidecar's environment (ISTIO_KUBE_APP_PROBERS);
// Linkerd rewrites nothing. Of osm-edge's own pods only the port of a tcpSocket
// probe can be told, from its header.
func Original(pod *v1.Pod, container string, kind fact.ProbeKind) (Probe, bool) {
	for _, c := range containers(pod) {
		if c.Name != container || probeOf(c, kind) == nil {
			continue
		}
		p := Probe{Mesh: Of(pod), Container: container, Kind: kind, Current: probeOf(c, kind)}
		switch p.Mesh {
		case Whylet:
			p.Original = ownOriginal(pod, container, kind)
			p.Rewritten = p.Original != nil
		case OSM:
			p.Rewritten = meshProbe(p.Current)
			p.Original = osmOriginal(p.Current)
		case Istio:
			p.Rewritten = istioProbe(p.Current)
			p.Original = istioOriginal(pod, p.Current)
		}
		return p, true
	}
	return Probe{}, false
}

func ownOriginal(pod *v1.Pod, container string, kind fact.ProbeKind) *v1.Probe {
	saved, err := savedOriginals(pod)
	if err != nil {
		return nil
	}
	if probe, ok := saved[container][kind]; ok {
		return &probe
	}
	return nil
}

// meshProbe says whether a probe goes to the ports of osm-edge's proxy.
func meshProbe(p *v1.Probe) bool { return p.HTTPGet != nil && isMeshPort(p.HTTPGet.Port.IntVal) }

func osmOriginal(current *v1.Probe) *v1.Probe {
	if !meshProbe(current) || current.HTTPGet.Port.IntVal != HealthcheckPort {
		return nil
	}
	for _, h := range current.HTTPGet.HTTPHeaders {
		port, err := strconv.ParseUint(h.Value, 10, 16)
		if !strings.EqualFold(h.Name, OriginalTCPPort) || err != nil {
			continue
		}
		original := current.DeepCopy()
		original.ProbeHandler = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(int32(port))}}
		return original
	}
	return nil
}

// istioProbe says whether a probe goes to Istio's agent: /app-health/NAME/livez,
// readyz or startupz, on port 15020 unless its annotation says another.
func istioProbe(p *v1.Probe) bool {
	return p.HTTPGet != nil && strings.HasPrefix(p.HTTPGet.Path, "/app-health/")
}

func istioOriginal(pod *v1.Pod, current *v1.Probe) *v1.Probe {
	if !istioProbe(current) {
		return nil
	}
	for _, c := range containers(pod) {
		for _, e := range c.Env {
			if c.Name != "istio-proxy" || e.Name != "ISTIO_KUBE_APP_PROBERS" {
				continue
			}
			var probers map[string]v1.ProbeHandler
			if json.Unmarshal([]byte(e.Value), &probers) != nil {
				return nil
			}
			handler, ok := probers[current.HTTPGet.Path]
			if !ok {
				return nil
			}
			original := current.DeepCopy()
			original.ProbeHandler = handler
			return original
		}
	}
	return nil
}

// SidecarOf names the container that is a mesh's sidecar; "" outside of one.
func SidecarOf(in Name) string { return sidecarNames[in] }

var sidecarNames = map[Name]string{Whylet: SidecarName, OSM: "pipy", Istio: "istio-proxy", Linkerd: "linkerd-proxy"}

// PastSidecar says whether a probe does not go through the pod's sidecar: a
// command in the container, or another host.
func PastSidecar(p *v1.Probe) bool {
	return p.Exec != nil || p.HTTPGet != nil && p.HTTPGet.Host != "" || p.TCPSocket != nil && p.TCPSocket.Host != ""
}

// String says what a probe asks, as its author meant it:
// "liveness GET /liveness:14001, through the mesh".
func (p Probe) String() string {
	kind := strings.ToLower(string(p.Kind))
	switch {
	case !p.Rewritten:
		return kind + " " + describe(p.Current)
	case p.Original == nil:
		return fmt.Sprintf("%s %s, rewritten by %s", kind, describe(p.Current), p.Mesh)
	case p.Mesh == Whylet:
		return fmt.Sprintf("%s %s, through the mesh", kind, describe(p.Original))
	}
	return fmt.Sprintf("%s %s, through the mesh (%s)", kind, describe(p.Original), p.Mesh)
}

func describe(p *v1.Probe) string {
	switch {
	case p == nil:
		return "absent"
	case p.HTTPGet != nil:
		verb := "GET"
		if p.HTTPGet.Scheme == v1.URISchemeHTTPS {
			verb = "HTTPS GET"
		}
		path := p.HTTPGet.Path
		if path == "" {
			path = "/"
		}
		return fmt.Sprintf("%s %s%s:%s", verb, p.HTTPGet.Host, path, p.HTTPGet.Port.String())
	case p.TCPSocket != nil:
		return fmt.Sprintf("TCP %s:%s", p.TCPSocket.Host, p.TCPSocket.Port.String())
	case p.GRPC != nil:
		service := ""
		if p.GRPC.Service != nil && *p.GRPC.Service != "" {
			service = " service " + *p.GRPC.Service
		}
		return fmt.Sprintf("gRPC :%d%s", p.GRPC.Port, service)
	case p.Exec != nil:
		return "exec " + strings.Join(p.Exec.Command, " ")
	}
	return "without a handler"
}
