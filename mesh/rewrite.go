package mesh

import (
	"encoding/json"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
)

// Form is how probes are rewritten.
type Form string

const (
	// Default keeps every container's probes apart: the paths carry its name. gRPC
	// probes are asked through the sidecar, and HTTPS is spoken to the application.
	Default Form = "whylet"
	// OSMEdge is what osm-edge does: one path for each kind of probe, on which the
	// last container of a pod wins; HTTPS probes keep their path, and their bytes
	// are passed on; gRPC probes are left alone.
	OSMEdge Form = "osm-edge"
)

// OriginalsAnnotation holds the probes as they were before, with their ports as
// numbers: a JSON object of container names, of kinds, of probes.
const OriginalsAnnotation = "mesh.whylet.dev/original-probes"

// FormAnnotation says in which form a pod's probes were rewritten.
const FormAnnotation = "mesh.whylet.dev/form"

// originals are probes by container and kind.
type originals map[string]map[fact.ProbeKind]v1.Probe

// Rewrite returns a copy of the pod in which the probes go to the sidecar.
// Rewriting it again changes nothing.
//
// Only httpGet and tcpSocket probes change (and grpc ones, in the default form);
// of these only the handler does: thresholds, periods and timeouts stay. exec
// probes are never touched, absent ones never added. Left alone are also probes
// of another host, which do not enter the pod, and those whose port name the
// container does not have, which fail with a clear text of their own.
//
// The error says that an annotation of an earlier rewriting cannot be read; the
// pod should then be left as it is.
func Rewrite(pod *v1.Pod, form Form) (*v1.Pod, error) {
	saved, err := savedOriginals(pod)
	if err != nil {
		return nil, err
	}
	out := pod.DeepCopy()
	if earlier := Form(out.Annotations[FormAnnotation]); earlier != "" {
		form = earlier // a pod is of one form
	}
	changed := false
	for _, c := range probed(out, form) {
		if c.Name == SidecarName || c.Name == HealthcheckName {
			continue
		}
		for _, kind := range Kinds {
			probe := probeOf(c, kind)
			original, ok := rewriteProbe(probe, c, kind, form)
			if !ok {
				continue
			}
			if saved[c.Name] == nil {
				saved[c.Name] = map[fact.ProbeKind]v1.Probe{}
			}
			saved[c.Name][kind] = original
			changed = true
		}
	}
	if !changed {
		return out, nil
	}
	data, err := json.Marshal(saved)
	if err != nil {
		return nil, fmt.Errorf("save the original probes of pod %s: %w", podName(pod), err)
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[OriginalsAnnotation], out.Annotations[FormAnnotation] = string(data), string(form)
	if size := annotationSize(out); size > maxAnnotations {
		return nil, fmt.Errorf("%w: its annotations would have %d bytes with the original probes, and %d are allowed", ErrNotInjectable, size, maxAnnotations)
	}
	return out, nil
}

// probed lists the containers that may have probes. osm-edge knows none but the
// main ones; restartable init containers are probed likewise.
func probed(pod *v1.Pod, form Form) []*v1.Container {
	var list []*v1.Container
	if form != OSMEdge {
		for i := range pod.Spec.InitContainers {
			list = append(list, &pod.Spec.InitContainers[i])
		}
	}
	for i := range pod.Spec.Containers {
		list = append(list, &pod.Spec.Containers[i])
	}
	return list
}

func probeOf(c *v1.Container, kind fact.ProbeKind) *v1.Probe {
	switch kind {
	case fact.Liveness:
		return c.LivenessProbe
	case fact.Readiness:
		return c.ReadinessProbe
	}
	return c.StartupProbe
}

// rewriteProbe changes the handler in place and returns what the probe was, with
// its port as a number. ok is false when it is left alone.
func rewriteProbe(probe *v1.Probe, c *v1.Container, kind fact.ProbeKind, form Form) (original v1.Probe, ok bool) {
	if probe == nil {
		return v1.Probe{}, false
	}
	original = *probe.DeepCopy()
	switch {
	case probe.Exec != nil:
		return v1.Probe{}, false
	case probe.HTTPGet != nil:
		get := probe.HTTPGet
		port, found := portNumber(get.Port, c)
		if !found || get.Host != "" || isMeshPort(port) || asHTTP2(get) && form == OSMEdge {
			return v1.Probe{}, false
		}
		original.HTTPGet.Port = intstr.FromInt32(port)
		rewriteHTTP(get, c, kind, form)
	case probe.TCPSocket != nil:
		port, found := portNumber(probe.TCPSocket.Port, c)
		if !found || probe.TCPSocket.Host != "" {
			return v1.Probe{}, false
		}
		original.TCPSocket.Port = intstr.FromInt32(port)
		probe.TCPSocket = nil
		probe.HTTPGet = &v1.HTTPGetAction{
			Path: HealthcheckPath, Port: intstr.FromInt32(HealthcheckPort), Scheme: v1.URISchemeHTTP,
			HTTPHeaders: []v1.HTTPHeader{{Name: OriginalTCPPort, Value: strconv.Itoa(int(port))}},
		}
	case probe.GRPC != nil && form != OSMEdge:
		if !validPort(probe.GRPC.Port) {
			return v1.Probe{}, false
		}
		probe.GRPC = nil
		probe.HTTPGet = &v1.HTTPGetAction{
			Path: ContainerPath(kind, c.Name), Port: intstr.FromInt32(Port(kind)), Scheme: v1.URISchemeHTTP,
		}
	default:
		return v1.Probe{}, false
	}
	return original, true
}

func rewriteHTTP(get *v1.HTTPGetAction, c *v1.Container, kind fact.ProbeKind, form Form) {
	get.Port = intstr.FromInt32(Port(kind))
	https := get.Scheme == v1.URISchemeHTTPS
	switch {
	case form != OSMEdge:
		get.Path = ContainerPath(kind, c.Name)
		get.Protocol = nil // to the sidecar, which speaks to the application as the probe did
		if https {
			get.Scheme = v1.URISchemeHTTP // to the sidecar, which speaks HTTPS to the application
		}
	case !https:
		get.Path = Path(kind)
	}
}

// asHTTP2 reports whether the probe speaks HTTP/2 without TLS.
func asHTTP2(get *v1.HTTPGetAction) bool {
	return get.Protocol != nil && *get.Protocol == v1.HTTPProtocolHTTP2
}

// portNumber resolves a port by the container's names for them.
func portNumber(port intstr.IntOrString, c *v1.Container) (n int32, ok bool) {
	if port.Type == intstr.Int {
		return port.IntVal, validPort(port.IntVal)
	}
	for _, p := range c.Ports {
		if p.Name == port.StrVal {
			return p.ContainerPort, validPort(p.ContainerPort)
		}
	}
	// kubelet takes a number written as text, too.
	parsed, err := strconv.ParseUint(port.StrVal, 10, 16)
	return int32(parsed), err == nil && validPort(int32(parsed))
}

// maxAnnotations is what the API server allows all annotations of an object
// together, in bytes (apimachinery's TotalAnnotationSizeLimitB).
const maxAnnotations = 256 << 10

func annotationSize(pod *v1.Pod) int {
	size := 0
	for name, value := range pod.Annotations {
		size += len(name) + len(value)
	}
	return size
}

func validPort(n int32) bool { return n > 0 && n < 65536 }

// savedOriginals reads the annotation; a pod without it has none.
func savedOriginals(pod *v1.Pod) (originals, error) {
	saved := originals{}
	text, ok := pod.Annotations[OriginalsAnnotation]
	if !ok {
		return saved, nil
	}
	if err := json.Unmarshal([]byte(text), &saved); err != nil {
		return nil, fmt.Errorf("annotation %s of pod %s is not readable; remove it, and restore the pod's probes: %w",
			OriginalsAnnotation, podName(pod), err)
	}
	if saved == nil {
		saved = originals{} // it said null
	}
	return saved, nil
}

// podName is how errors name a pod: one that a controller is about to make has
// only a prefix for a name.
func podName(pod *v1.Pod) string {
	name := pod.Name
	if name == "" {
		name = pod.GenerateName + "*"
	}
	return pod.Namespace + "/" + name
}
