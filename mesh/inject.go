package mesh

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// What the webhook adds to a pod.
const (
	SidecarName     = "whylet-mesh"
	InitName        = "whylet-mesh-init"
	HealthcheckName = "osm-healthcheck"
	IdentityVolume  = "whylet-mesh-identity"
	// IdentityDir is where the sidecar finds the token by which the mesh's CA
	// knows it.
	IdentityDir = "/var/run/whylet-mesh"
	// ConfigEnv names the variable that holds the sidecar's configuration.
	ConfigEnv = "WHYLET_MESH_CONFIG"
	// CAURLEnv says where the mesh's control plane is, and CAEnv (PEM) by which
	// authority it is known.
	CAURLEnv = "WHYLET_MESH_CA_URL"
	CAEnv    = "WHYLET_MESH_CA"
)

// Labels and annotations by which namespaces and pods opt in and out. A pod's
// word counts more than its namespace's, and its annotation more than its label.
const (
	InjectKey = "mesh.whylet.dev/inject"
	Enabled   = "enabled"
	Disabled  = "disabled"
)

// RewriteKey is the annotation that, set to disabled or false, leaves a pod's
// probes as they are. Those that ask over the network then fail in the mesh, and
// tcpSocket ones succeed always.
const RewriteKey = "mesh.whylet.dev/rewrite-probes"

// ProxyUID is the user of the sidecar: what it sends is not redirected again.
const ProxyUID int64 = 15900

// Ports of the sidecar that the redirect leads to.
const (
	OutboundPort int32 = 15001
	InboundPort  int32 = 15003
)

// Injection says what to add.
type Injection struct {
	Form Form
	// Image holds the whylet binary.
	Image string
	// CAURL is where the sidecar has its certificate signed, with CABundle (PEM)
	// to know it by. Both empty: the sidecar answers probes, and redirects nothing.
	CAURL    string
	CABundle string
}

// Wants says whether a pod is to be in the mesh, from its namespace's labels and
// its own labels and annotations.
func Wants(namespace map[string]string, pod *v1.Pod) bool {
	for _, said := range []string{pod.Annotations[InjectKey], pod.Labels[InjectKey], namespace[InjectKey]} {
		switch said {
		case Enabled, "true":
			return true
		case Disabled, "false":
			return false
		}
	}
	return false
}

// rewritingOff says whether the pod's probes are to stay as they are.
func rewritingOff(pod *v1.Pod) bool {
	said := pod.Annotations[RewriteKey]
	return said == Disabled || said == "false"
}

// ErrNotInjectable says that a pod cannot be put into the mesh, for the reason
// that wraps it. It is to be admitted as it is.
var ErrNotInjectable = errors.New("the pod cannot be in the mesh")

// Inject returns the pod with its probes rewritten and the mesh's containers
// added. A pod that has them already comes back with its probes rewritten only.
func Inject(pod *v1.Pod, in Injection) (*v1.Pod, error) {
	if pod.Spec.HostNetwork {
		return nil, fmt.Errorf("%w: it uses the node's network, whose traffic is not its own", ErrNotInjectable)
	}
	if other := Of(pod); other != None && other != Whylet {
		return nil, fmt.Errorf("%w: it is in the mesh %s already", ErrNotInjectable, other)
	}
	if pod.Spec.OS != nil && pod.Spec.OS.Name != v1.Linux {
		return nil, fmt.Errorf("%w: it is for %s", ErrNotInjectable, pod.Spec.OS.Name)
	}
	if in.CAURL != "" && pod.Spec.ServiceAccountName == "" {
		return nil, fmt.Errorf("%w: it has no service account, from which its identity would come", ErrNotInjectable)
	}
	if name := namesake(pod); name != "" {
		return nil, fmt.Errorf("%w: it has a container of its own called %s", ErrNotInjectable, name)
	}
	if port := taken(pod); port != 0 {
		return nil, fmt.Errorf("%w: a container of it uses port %d, which is the sidecar's", ErrNotInjectable, port)
	}
	out := pod.DeepCopy()
	if !rewritingOff(pod) {
		var err error
		if out, err = Rewrite(pod, in.Form); err != nil {
			return nil, err
		}
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	if out.Annotations[FormAnnotation] == "" {
		out.Annotations[FormAnnotation] = string(in.Form)
	}
	config, err := SidecarConfigOf(out)
	if err != nil {
		return nil, err
	}
	sidecar, err := sidecarContainer(in, config)
	if err != nil {
		return nil, err
	}
	placeSidecar(&out.Spec, sidecar, config.Form)
	if config.Form == OSMEdge && len(config.TCPPorts) > 0 {
		setContainer(&out.Spec.Containers, healthcheckContainer(sidecar))
	}
	if in.CAURL == "" {
		return out, nil
	}
	if !hasContainer(out.Spec.InitContainers, InitName) {
		out.Spec.InitContainers = slices.Insert(out.Spec.InitContainers, 0, initContainer(in))
	}
	if !slices.ContainsFunc(out.Spec.Volumes, func(v v1.Volume) bool { return v.Name == IdentityVolume }) {
		out.Spec.Volumes = append(out.Spec.Volumes, identityVolume())
	}
	return out, nil
}

// placeSidecar adds the sidecar. In osm-edge's form it is a container like the
// others; otherwise, and in pods that are to come to an end, it is a restartable
// init container: there before all others, and gone after them.
func placeSidecar(spec *v1.PodSpec, sidecar v1.Container, form Form) {
	if hasContainer(spec.Containers, SidecarName) || form == OSMEdge && spec.RestartPolicy != v1.RestartPolicyNever && spec.RestartPolicy != v1.RestartPolicyOnFailure {
		setContainer(&spec.Containers, sidecar)
		return
	}
	if hasContainer(spec.InitContainers, SidecarName) {
		setContainer(&spec.InitContainers, sidecar)
		return
	}
	sidecar.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	spec.InitContainers = slices.Insert(spec.InitContainers, 0, sidecar)
}

func hasContainer(list []v1.Container, name string) bool {
	return slices.ContainsFunc(list, func(c v1.Container) bool { return c.Name == name })
}

// namesake finds a container that has a name of the mesh's, in a pod that the
// mesh never touched.
func namesake(pod *v1.Pod) string {
	if pod.Annotations[FormAnnotation] != "" {
		return ""
	}
	for _, c := range containers(pod) {
		if c.Name == SidecarName || c.Name == InitName || c.Name == HealthcheckName {
			return c.Name
		}
	}
	return ""
}

// taken gives a declared port of the pod that the sidecar needs for itself.
func taken(pod *v1.Pod) int32 {
	for _, c := range containers(pod) {
		for _, p := range c.Ports {
			if c.Name != SidecarName && c.Name != HealthcheckName && (isMeshPort(p.ContainerPort) || p.ContainerPort == OutboundPort || p.ContainerPort == InboundPort) {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// setContainer appends a container, or brings the one that was added before up to
// date with the pod's probes.
func setContainer(list *[]v1.Container, c v1.Container) {
	for i := range *list {
		if (*list)[i].Name == c.Name {
			(*list)[i].Env = c.Env
			return
		}
	}
	*list = append(*list, c)
}

func sidecarContainer(in Injection, config SidecarConfig) (v1.Container, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return v1.Container{}, fmt.Errorf("write the sidecar's configuration: %w", err)
	}
	c := v1.Container{
		Name:            SidecarName,
		Image:           in.Image,
		ImagePullPolicy: v1.PullIfNotPresent,
		Args:            []string{"mesh", "sidecar"},
		Env: []v1.EnvVar{
			{Name: ConfigEnv, Value: string(data)},
			fieldEnv("POD_NAMESPACE", "metadata.namespace"),
			fieldEnv("POD_SERVICE_ACCOUNT", "spec.serviceAccountName"),
		},
		Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10m"), v1.ResourceMemory: resource.MustParse("32Mi")},
		},
		SecurityContext: &v1.SecurityContext{
			RunAsUser: new(ProxyUID), RunAsGroup: new(ProxyUID), RunAsNonRoot: new(true),
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
		},
	}
	if in.CAURL != "" {
		c.Env = append(c.Env, v1.EnvVar{Name: CAURLEnv, Value: in.CAURL}, v1.EnvVar{Name: CAEnv, Value: in.CABundle})
		c.VolumeMounts = []v1.VolumeMount{{Name: IdentityVolume, MountPath: IdentityDir, ReadOnly: true}}
	}
	return c, nil
}

// healthcheckContainer serves tcpSocket probes apart from the proxy, as osm-edge
// has it.
func healthcheckContainer(sidecar v1.Container) v1.Container {
	c := *sidecar.DeepCopy()
	c.Name = HealthcheckName
	c.Args = []string{"mesh", "sidecar", "--healthcheck-only"}
	c.Env = c.Env[:1]
	c.VolumeMounts = nil
	return c
}

// initContainer puts the redirect into the pod's network namespace.
func initContainer(in Injection) v1.Container {
	return v1.Container{
		Name:            InitName,
		Image:           in.Image,
		ImagePullPolicy: v1.PullIfNotPresent,
		Args:            []string{"mesh", "sidecar", "--redirect-only"},
		SecurityContext: &v1.SecurityContext{
			RunAsUser: new(int64(0)), RunAsGroup: new(int64(0)), RunAsNonRoot: new(false),
			AllowPrivilegeEscalation: new(false),
			Capabilities:             &v1.Capabilities{Drop: []v1.Capability{"ALL"}, Add: []v1.Capability{"NET_ADMIN"}},
		},
	}
}

// identityVolume has a token that is good for the mesh's CA only.
func identityVolume() v1.Volume {
	return v1.Volume{
		Name: IdentityVolume,
		VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{
			ServiceAccountToken: &v1.ServiceAccountTokenProjection{
				Audience: Audience, ExpirationSeconds: new(int64(3600)), Path: "token",
			},
		}}}},
	}
}

// Audience is whom the sidecar's token is for.
const Audience = "mesh.whylet.dev"

func fieldEnv(name, path string) v1.EnvVar {
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

// HasRedirect says whether a pod's traffic goes through a sidecar of ours, so
// that it speaks mutual TLS.
func HasRedirect(pod *v1.Pod) bool { return hasContainer(pod.Spec.InitContainers, InitName) }
