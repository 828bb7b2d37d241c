// Package oracle_test checks with the API server's own validation that the mesh
// never makes an invalid pod of a valid one. It lives apart because it links a
// good part of Kubernetes.
package oracle_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"pgregory.net/rapid"

	"whylet.dev/whylet/mesh"
	_ "whylet.dev/whylet/test/fixedseed"
)

// validate applies the API server's defaults, and its checks of a new pod.
func validate(pod *v1.Pod) error {
	pod = pod.DeepCopy()
	corev1.SetObjectDefaults_Pod(pod)
	var internal core.Pod
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod, &internal, nil); err != nil {
		return err
	}
	return validation.ValidatePodCreate(&internal, validation.PodValidationOptions{
		AllowSidecarResizePolicy: true, ResourceIsPod: true,
	}).ToAggregate()
}

func TestInjectedPodsAreValid(t *testing.T) {
	valid := 0
	rapid.Check(t, func(rt *rapid.T) {
		pod := rapid.Custom(drawPod).Draw(rt, "pod")
		if err := validate(pod); err != nil {
			rt.Skip(err)
		}
		in := mesh.Injection{
			Form: rapid.SampledFrom([]mesh.Form{mesh.Default, mesh.OSMEdge}).Draw(rt, "form"), Image: "whylet:1",
			CAURL: rapid.SampledFrom([]string{"", "https://ca.example"}).Draw(rt, "CA"),
		}
		out, err := mesh.Inject(pod, in)
		if errors.Is(err, mesh.ErrNotInjectable) {
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		valid++
		if err := validate(out); err != nil {
			rt.Fatalf("invalid: %v", err)
		}
		corev1.SetObjectDefaults_Pod(out)
		again, err := mesh.Inject(out, in)
		if err != nil || !reflect.DeepEqual(again, out) {
			rt.Fatalf("injecting the admitted pod again changes it: %v", err)
		}
		for _, f := range mesh.Check(out) {
			// What cannot work is found: unknown ports, the sidecar's own, gRPC and init containers in osm-edge's form.
			hopeless := strings.Contains(f.About, "nope") || strings.Contains(f.About, "15904") || in.Form == mesh.OSMEdge && (strings.Contains(f.About, "gRPC") || strings.Contains(f.About, "container i"))
			if !f.OK && f.ID != mesh.CheckSidecar && f.ID != mesh.CheckHealthcheck && !hopeless {
				rt.Fatalf("check %s: %s %s", f.ID, f.About, f.Text)
			}
		}
	})
	if valid == 0 {
		t.Error("no valid pod was generated")
	}
}

func drawPod(t *rapid.T) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"},
		Spec: v1.PodSpec{
			RestartPolicy:                 rapid.SampledFrom([]v1.RestartPolicy{"", v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}).Draw(t, "restart"),
			HostNetwork:                   rapid.IntRange(0, 9).Draw(t, "host network") == 0,
			ServiceAccountName:            rapid.SampledFrom([]string{"", "sa"}).Draw(t, "account"),
			SecurityContext:               rapid.SampledFrom([]*v1.PodSecurityContext{nil, {RunAsNonRoot: new(true), RunAsUser: new(int64(1000))}}).Draw(t, "security"),
			TerminationGracePeriodSeconds: new(int64(30)),
		},
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		pod.Spec.Containers = append(pod.Spec.Containers, drawContainer(t, fmt.Sprint("c", i)))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "init containers") {
		c := drawContainer(t, fmt.Sprint("i", i))
		if rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		} else {
			c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	return pod
}

func drawContainer(t *rapid.T, name string) v1.Container {
	c := v1.Container{Name: name, Image: "app", ImagePullPolicy: v1.PullIfNotPresent, TerminationMessagePolicy: v1.TerminationMessageReadFile}
	port := rapid.SampledFrom([]int32{80, 8080, 14001, 15020, 15901}).Draw(t, "port")
	c.Ports = []v1.ContainerPort{{Name: "web", ContainerPort: port, Protocol: v1.ProtocolTCP}}
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = drawProbe(t), drawProbe(t), drawProbe(t)
	if c.LivenessProbe != nil {
		c.LivenessProbe.SuccessThreshold = 1
	}
	if c.StartupProbe != nil {
		c.StartupProbe.SuccessThreshold = 1
	}
	return c
}

func drawProbe(t *rapid.T) *v1.Probe {
	port := rapid.SampledFrom([]intstr.IntOrString{
		intstr.FromInt32(80), intstr.FromInt32(65535), intstr.FromString("web"), intstr.FromString("nope"), intstr.FromInt32(15904),
	}).Draw(t, "probe port")
	host := rapid.SampledFrom([]string{"", "", "", "example.org"}).Draw(t, "host")
	handlers := []v1.ProbeHandler{
		{HTTPGet: &v1.HTTPGetAction{
			Path: rapid.SampledFrom([]string{"/", "/x?y=z", "healthz"}).Draw(t, "path"), Port: port, Host: host,
			Scheme:      rapid.SampledFrom([]v1.URIScheme{v1.URISchemeHTTP, v1.URISchemeHTTPS}).Draw(t, "scheme"),
			HTTPHeaders: rapid.SampledFrom([][]v1.HTTPHeader{nil, {{Name: "X-A", Value: "b"}}}).Draw(t, "headers"),
		}},
		{TCPSocket: &v1.TCPSocketAction{Port: port, Host: host}},
		{Exec: &v1.ExecAction{Command: []string{"check", "-x"}}},
		{GRPC: &v1.GRPCAction{Port: 9000, Service: rapid.SampledFrom([]*string{nil, new("s")}).Draw(t, "service")}},
	}
	i := rapid.IntRange(-1, len(handlers)-1).Draw(t, "handler")
	if i < 0 {
		return nil
	}
	return &v1.Probe{
		ProbeHandler:   handlers[i],
		TimeoutSeconds: rapid.Int32Range(1, 5).Draw(t, "timeout"), PeriodSeconds: rapid.Int32Range(1, 30).Draw(t, "period"),
		SuccessThreshold: rapid.Int32Range(1, 3).Draw(t, "successes"), FailureThreshold: rapid.Int32Range(1, 9).Draw(t, "failures"),
	}
}
