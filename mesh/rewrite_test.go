package mesh

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/fact"
)

func podOf(containers ...v1.Container) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Spec: v1.PodSpec{Containers: containers}}
}

func mustRewrite(t *testing.T, pod *v1.Pod, form Form) *v1.Pod {
	t.Helper()
	out, err := Rewrite(pod, form)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSeedExamples holds the rewriting to the pages of osm-edge: testdata has
// its examples, before and after.
func TestSeedExamples(t *testing.T) {
	for _, name := range []string{"http", "tcp"} {
		t.Run(name, func(t *testing.T) {
			before, after := readContainer(t, name+"-before.yaml"), readContainer(t, name+"-after.yaml")
			got := mustRewrite(t, podOf(before), OSMEdge).Spec.Containers[0]
			if !reflect.DeepEqual(got, after) {
				t.Errorf("got  %+v\nwant %+v", got.LivenessProbe, after.LivenessProbe)
			}
		})
	}
}

func readContainer(t *testing.T, name string) v1.Container {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var c v1.Container
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSeedProxyConfig compares the derived proxy configuration with the page's,
// field by field and in its order.
func TestSeedProxyConfig(t *testing.T) {
	c := readContainer(t, "http-before.yaml")
	c.LivenessProbe.TimeoutSeconds, c.LivenessProbe.PeriodSeconds = 1, 10
	c.LivenessProbe.SuccessThreshold, c.LivenessProbe.FailureThreshold = 1, 3
	got, err := json.MarshalIndent(ProxyConfigOf(mustRewrite(t, podOf(c), OSMEdge)), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/proxy-config.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTable is the page's table of ports and paths, for every kind and scheme.
func TestTable(t *testing.T) {
	ports := []v1.ContainerPort{{Name: "web", ContainerPort: 14001}}
	table := []struct {
		kind fact.ProbeKind
		path string
		port int32
	}{
		{fact.Liveness, "/osm-liveness-probe", 15901},
		{fact.Readiness, "/osm-readiness-probe", 15902},
		{fact.Startup, "/osm-startup-probe", 15903},
	}
	header := []v1.HTTPHeader{{Name: "X-A", Value: "b"}}
	tcp := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{
		Path: "/osm-healthcheck", Port: intstr.FromInt32(15904), Scheme: "HTTP",
		HTTPHeaders: []v1.HTTPHeader{{Name: "Original-Tcp-Port", Value: "14001"}},
	}}
	for _, row := range table {
		own := row.path + "/c"
		get := func(scheme v1.URIScheme, path string, port intstr.IntOrString) v1.ProbeHandler {
			return v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path, Port: port, Scheme: scheme, HTTPHeaders: header}}
		}
		over2 := func(h v1.ProbeHandler) v1.ProbeHandler {
			h.HTTPGet.Protocol = new(v1.HTTPProtocolHTTP2)
			return h
		}
		meshPort, named := intstr.FromInt32(row.port), intstr.FromString("web")
		exec := v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"grpc_health_probe", "-addr=:14001"}}}
		grpc := v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 14001, Service: new("s")}}
		elsewhere := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Host: "example.org", Port: named}}
		cases := map[string]struct{ before, osm, whylet v1.ProbeHandler }{
			"HTTP":         {get("HTTP", "/x", named), get("HTTP", row.path, meshPort), get("HTTP", own, meshPort)},
			"no scheme":    {get("", "/x", intstr.FromInt32(14001)), get("", row.path, meshPort), get("", own, meshPort)},
			"HTTPS":        {get("HTTPS", "/x", named), get("HTTPS", "/x", meshPort), get("HTTP", own, meshPort)},
			"HTTP/2":       {over2(get("HTTP", "/x", named)), over2(get("HTTP", "/x", named)), get("HTTP", own, meshPort)},
			"TCP":          {v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: named}}, tcp, tcp},
			"exec":         {exec, exec, exec},
			"gRPC":         {grpc, grpc, v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: own, Port: meshPort, Scheme: "HTTP"}}},
			"another host": {elsewhere, elsewhere, elsewhere},
			"unknown port": {get("HTTP", "/x", intstr.FromString("nope")), get("HTTP", "/x", intstr.FromString("nope")), get("HTTP", "/x", intstr.FromString("nope"))},
		}
		for name, c := range cases {
			for form, want := range map[Form]v1.ProbeHandler{OSMEdge: c.osm, Default: c.whylet} {
				t.Run(string(row.kind)+"/"+name+"/"+string(form), func(t *testing.T) {
					probe := &v1.Probe{
						ProbeHandler: c.before, InitialDelaySeconds: 1, TimeoutSeconds: 2, PeriodSeconds: 3,
						SuccessThreshold: 4, FailureThreshold: 5, TerminationGracePeriodSeconds: new(int64(6)),
					}
					wantProbe := probe.DeepCopy()
					wantProbe.ProbeHandler = want
					container := v1.Container{Name: "c", Ports: ports}
					set(&container, row.kind, probe)
					out := mustRewrite(t, podOf(container), form)
					if got := probeOf(&out.Spec.Containers[0], row.kind); !reflect.DeepEqual(got, wantProbe) {
						t.Errorf("got  %+v\nwant %+v", got, wantProbe)
					}
					for _, other := range Kinds {
						if other != row.kind && probeOf(&out.Spec.Containers[0], other) != nil {
							t.Errorf("a %s probe was added", other)
						}
					}
				})
			}
		}
	}
}

func set(c *v1.Container, kind fact.ProbeKind, p *v1.Probe) {
	switch kind {
	case fact.Liveness:
		c.LivenessProbe = p
	case fact.Readiness:
		c.ReadinessProbe = p
	case fact.Startup:
		c.StartupProbe = p
	}
}

func live(path string, port int32) *v1.Probe {
	return &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}}}
}

// TestEveryContainerKeepsItsOwn: osm-edge's known limit, and the way out of it.
func TestEveryContainerKeepsItsOwn(t *testing.T) {
	pod := podOf(v1.Container{Name: "a", LivenessProbe: live("/a", 1)}, v1.Container{Name: "b", LivenessProbe: live("/b", 2)})
	for form, want := range map[Form][]string{
		Default: {"/osm-liveness-probe/a", "/osm-liveness-probe/b"},
		OSMEdge: {"/osm-liveness-probe", "/osm-liveness-probe"},
	} {
		out := mustRewrite(t, pod, form)
		for i, path := range want {
			if got := out.Spec.Containers[i].LivenessProbe.HTTPGet.Path; got != path {
				t.Errorf("%s: container %d asks for %s, want %s", form, i, got, path)
			}
		}
		config, err := SidecarConfigOf(out)
		if err != nil || len(config.Routes) != 2 || config.Routes[1].Probe.HTTPGet.Path != "/b" {
			t.Errorf("%s: %+v, %v", form, config, err)
		}
	}
}

func TestOriginal(t *testing.T) {
	istio := podOf(
		v1.Container{Name: "app", ReadinessProbe: live("/app-health/app/readyz", 15020), LivenessProbe: live("/plain", 80)},
		v1.Container{Name: "istio-proxy", Env: []v1.EnvVar{{
			Name:  "ISTIO_KUBE_APP_PROBERS",
			Value: `{"/app-health/app/readyz":{"httpGet":{"path":"/ready","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}`,
		}}},
	)
	osm := podOf(v1.Container{Name: "app", LivenessProbe: live("/osm-liveness-probe", 15901), ReadinessProbe: &v1.Probe{
		ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{
			Path: HealthcheckPath, Port: intstr.FromInt32(15904), HTTPHeaders: []v1.HTTPHeader{{Name: "Original-Tcp-Port", Value: "14001"}},
		}},
	}}, v1.Container{Name: "pipy"})
	own := mustRewrite(t, podOf(v1.Container{
		Name: "app", LivenessProbe: live("/liveness", 14001),
		ReadinessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 9, Service: new("s")}}},
		StartupProbe:   &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}},
	}), Default)
	for _, tt := range []struct {
		pod  *v1.Pod
		kind fact.ProbeKind
		want string
	}{
		{own, fact.Liveness, "liveness GET /liveness:14001, through the mesh"},
		{own, fact.Readiness, "readiness gRPC :9 service s, through the mesh"},
		{own, fact.Startup, "startup exec true"},
		{istio, fact.Readiness, "readiness GET /ready:8080, through the mesh (istio)"},
		{istio, fact.Liveness, "liveness GET /plain:80"},
		{osm, fact.Readiness, "readiness TCP :14001, through the mesh (osm-edge)"},
		{osm, fact.Liveness, "liveness GET /osm-liveness-probe:15901, rewritten by osm-edge"},
		{podOf(v1.Container{Name: "app", LivenessProbe: live("", 80)}, v1.Container{Name: "linkerd-proxy"}), fact.Liveness, "liveness GET /:80"},
	} {
		p, ok := Original(tt.pod, "app", tt.kind)
		if !ok || p.String() != tt.want {
			t.Errorf("got %q, want %q", p, tt.want)
		}
	}
	if _, ok := Original(own, "nobody", fact.Liveness); ok {
		t.Error("found a probe of a container that is not there")
	}
}

// TestCheck breaks a meshed pod in one way at a time.
func TestCheck(t *testing.T) {
	healthy := func() *v1.Pod {
		pod := podOf(v1.Container{Name: "app", LivenessProbe: live("/x", 80), ReadinessProbe: &v1.Probe{
			ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(81)}},
		}})
		out, err := Inject(pod, Injection{Form: OSMEdge, Image: "whylet"})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"app", SidecarName, HealthcheckName} {
			out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, v1.ContainerStatus{
				Name: name, Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
			})
		}
		return out
	}
	for name, tt := range map[string]struct {
		change func(*v1.Pod)
		want   string
	}{
		"all well":          {func(*v1.Pod) {}, ""},
		"no mesh":           {func(p *v1.Pod) { *p = *podOf(v1.Container{Name: "app"}) }, CheckInMesh},
		"probe added later": {func(p *v1.Pod) { p.Spec.Containers[0].StartupProbe = live("/x", 80) }, CheckRewritten},
		"wrong port":        {func(p *v1.Pod) { p.Spec.Containers[0].LivenessProbe.HTTPGet.Port = intstr.FromInt32(15902) }, CheckTarget},
		"wrong path":        {func(p *v1.Pod) { p.Spec.Containers[0].LivenessProbe.HTTPGet.Path = "/x" }, CheckTarget},
		"sidecar not told":  {func(p *v1.Pod) { p.Spec.Containers[1].Env[0].Value = "{}" }, CheckConfig},
		"sidecar down":      {func(p *v1.Pod) { p.Status.ContainerStatuses[1].State = v1.ContainerState{} }, CheckSidecar},
		"sidecar not ready": {func(p *v1.Pod) { p.Status.ContainerStatuses[1].Ready = false }, CheckSidecar},
		"health-check down": {func(p *v1.Pod) { p.Status.ContainerStatuses[2].State = v1.ContainerState{} }, CheckHealthcheck},
		"no image": {func(p *v1.Pod) {
			p.Status.ContainerStatuses[0].State.Waiting = &v1.ContainerStateWaiting{Reason: "ErrImagePull"}
		}, CheckStart},
		"old restarts": {func(p *v1.Pod) {
			p.Status.ContainerStatuses[0].RestartCount = 2
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: 1}
		}, ""},
		"application restarts": {func(p *v1.Pod) {
			p.Status.ContainerStatuses[0].Ready = false
			p.Status.ContainerStatuses[0].RestartCount = 2
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: 1}
		}, CheckRun},
	} {
		t.Run(name, func(t *testing.T) {
			pod := healthy()
			tt.change(pod)
			var bad []string
			for _, f := range Check(pod) {
				if !f.OK {
					bad = append(bad, f.ID)
				}
				if !f.OK && f.Fix == "" {
					t.Errorf("%s has no fix", f.ID)
				}
			}
			bad = slices.Compact(bad)
			if tt.want == "" && bad != nil || tt.want != "" && !reflect.DeepEqual(bad, []string{tt.want}) {
				t.Errorf("found %v, want %q", bad, tt.want)
			}
		})
	}
}

// TestRewritingOff: the annotation leaves the probes alone, and the checks say so.
func TestRewritingOff(t *testing.T) {
	pod := podOf(v1.Container{Name: "app", LivenessProbe: live("/x", 80)})
	pod.Annotations = map[string]string{RewriteKey: Disabled}
	out, err := Inject(pod, Injection{Form: Default, Image: "whylet"})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(out.Spec.Containers, pod.Spec.Containers) || !hasContainer(out.Spec.InitContainers, SidecarName) {
		t.Errorf("got %+v", out.Spec)
	}
	i := slices.IndexFunc(Check(out), func(f Finding) bool { return f.ID == CheckRewritten })
	if f := Check(out)[i]; f.OK || !strings.Contains(f.Fix, RewriteKey) {
		t.Errorf("the check says %+v", f)
	}
}

func TestWants(t *testing.T) {
	for _, tt := range []struct {
		namespace, label, annotation string
		want                         bool
	}{
		{"", "", "", false},
		{"enabled", "", "", true},
		{"enabled", "disabled", "", false},
		{"enabled", "disabled", "enabled", true},
		{"disabled", "true", "", true},
		{"", "", "enabled", true},
		{"enabled", "", "false", false},
		{"enabled", "nonsense", "", true},
	} {
		pod := podOf()
		pod.Labels, pod.Annotations = map[string]string{InjectKey: tt.label}, map[string]string{InjectKey: tt.annotation}
		if got := Wants(map[string]string{InjectKey: tt.namespace}, pod); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}
