package cri_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"whylet.dev/whylet/node/cri"
)

// objects are ConfigMaps and Secrets by name, as the API server would give them.
type objects struct {
	maps    map[string]map[string]string
	secrets map[string]map[string]string
	err     error
}

func (o objects) GetConfigMap(_, name string) (*v1.ConfigMap, error) {
	data, ok := o.maps[name]
	if o.err != nil || !ok {
		return nil, orNotFound(o.err, "configmaps", name)
	}
	return &v1.ConfigMap{Data: data}, nil
}

func (o objects) GetSecret(_, name string) (*v1.Secret, error) {
	data, ok := o.secrets[name]
	if o.err != nil || !ok {
		return nil, orNotFound(o.err, "secrets", name)
	}
	s := &v1.Secret{Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s, nil
}

func orNotFound(err error, kind, name string) error {
	if err != nil {
		return err
	}
	return apierrors.NewNotFound(v1.Resource(kind), name)
}

func service(namespace, name, ip string, port int32) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1.ServiceSpec{ClusterIP: ip, Ports: []v1.ServicePort{{Port: port, Protocol: v1.ProtocolTCP}}},
	}
}

func configMapKey(name, key string, optional bool) *v1.EnvVarSource {
	return &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{
		LocalObjectReference: v1.LocalObjectReference{Name: name}, Key: key, Optional: &optional,
	}}
}

func secretKey(name, key string, optional bool) *v1.EnvVarSource {
	return &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
		LocalObjectReference: v1.LocalObjectReference{Name: name}, Key: key, Optional: &optional,
	}}
}

func field(path string) *v1.EnvVarSource {
	return &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}

func limit(container, name string) *v1.EnvVarSource {
	return &v1.EnvVarSource{ResourceFieldRef: &v1.ResourceFieldSelector{ContainerName: container, Resource: name}}
}

func envInput(env ...v1.EnvVar) cri.EnvInput {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web-0", UID: "u-1", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "x"},
		},
		Spec: v1.PodSpec{
			NodeName: "node-1", ServiceAccountName: "robot", EnableServiceLinks: ptr(false),
			Containers: []v1.Container{
				{Name: "main", Env: env},
				{Name: "limited", Resources: v1.ResourceRequirements{Limits: v1.ResourceList{
					v1.ResourceCPU: resource.MustParse("1500m"), v1.ResourceMemory: resource.MustParse("64Mi"),
				}}},
			},
		},
	}
	return cri.EnvInput{
		Pod: pod, Container: &pod.Spec.Containers[0],
		PodIPs: []string{"fd00::5", "10.0.0.5", "10.0.0.6"}, HostIPs: []string{"192.168.0.1", "fd00::1"},
		Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourceMemory: resource.MustParse("1Gi")},
	}
}

// joined writes an environment as NAME=value words.
func joined(t testing.TB, in cri.EnvInput) string {
	t.Helper()
	env, err := cri.Environment(in)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, e := range env {
		words = append(words, e.Name+"="+e.Value)
	}
	return strings.Join(words, " ")
}

func TestEnvironmentSources(t *testing.T) {
	volume := t.TempDir()
	if err := os.WriteFile(filepath.Join(volume, "env"), []byte("A='from a file'\nB='b'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(path, key string, optional bool) *v1.EnvVarSource {
		return &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "vol", Path: path, Key: key, Optional: &optional}}
	}
	for name, test := range map[string]struct {
		env       []v1.EnvVar
		want, err string
	}{
		"value":                         {env: []v1.EnvVar{{Name: "A", Value: "1"}}, want: "A=1"},
		"empty value":                   {env: []v1.EnvVar{{Name: "A"}}, want: "A="},
		"reference to an earlier one":   {env: []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "$(A)2"}}, want: "A=1 B=12"},
		"reference to a later one":      {env: []v1.EnvVar{{Name: "B", Value: "$(A)2"}, {Name: "A", Value: "1"}}, want: "B=$(A)2 A=1"},
		"escaped reference":             {env: []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "$$(A)"}}, want: "A=1 B=$(A)"},
		"the last of a name wins":       {env: []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}, want: "A=2"},
		"config map":                    {env: []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("cm", "k", false)}}, want: "A=v"},
		"config map missing":            {env: []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("none", "k", false)}}, err: `configmap "none" not found`},
		"config map missing, optional":  {env: []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("none", "k", true)}}, want: ""},
		"config map's key missing":      {env: []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("cm", "none", false)}}, err: "couldn't find key none in ConfigMap ns/cm"},
		"config map's key, optional":    {env: []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("cm", "none", true)}}, want: ""},
		"secret":                        {env: []v1.EnvVar{{Name: "A", ValueFrom: secretKey("sec", "k", false)}}, want: "A=hush"},
		"secret missing":                {env: []v1.EnvVar{{Name: "A", ValueFrom: secretKey("none", "k", false)}}, err: `secret "none" not found`},
		"secret missing, optional":      {env: []v1.EnvVar{{Name: "A", ValueFrom: secretKey("none", "k", true)}}, want: ""},
		"secret's key missing":          {env: []v1.EnvVar{{Name: "A", ValueFrom: secretKey("sec", "none", false)}}, err: "couldn't find key none in Secret ns/sec"},
		"pod fields":                    {env: []v1.EnvVar{{Name: "A", ValueFrom: field("metadata.name")}, {Name: "B", ValueFrom: field("metadata.namespace")}, {Name: "C", ValueFrom: field("metadata.uid")}}, want: "A=web-0 B=ns C=u-1"},
		"label and annotation":          {env: []v1.EnvVar{{Name: "A", ValueFrom: field("metadata.labels['app']")}, {Name: "B", ValueFrom: field("metadata.annotations['note']")}}, want: "A=web B=x"},
		"node and account":              {env: []v1.EnvVar{{Name: "A", ValueFrom: field("spec.nodeName")}, {Name: "B", ValueFrom: field("spec.serviceAccountName")}}, want: "A=node-1 B=robot"},
		"addresses":                     {env: []v1.EnvVar{{Name: "A", ValueFrom: field("status.podIP")}, {Name: "B", ValueFrom: field("status.podIPs")}, {Name: "C", ValueFrom: field("status.hostIP")}, {Name: "D", ValueFrom: field("status.hostIPs")}}, want: "A=10.0.0.5 B=10.0.0.5,fd00::5 C=192.168.0.1 D=192.168.0.1,fd00::1"},
		"unknown field":                 {env: []v1.EnvVar{{Name: "A", ValueFrom: field("spec.secret")}}, err: "field label not supported: spec.secret"},
		"own limit is the node's":       {env: []v1.EnvVar{{Name: "A", ValueFrom: limit("", "limits.memory")}, {Name: "B", ValueFrom: limit("", "limits.cpu")}}, want: "A=1073741824 B=2"},
		"another's limit":               {env: []v1.EnvVar{{Name: "A", ValueFrom: limit("limited", "limits.memory")}, {Name: "B", ValueFrom: limit("limited", "limits.cpu")}}, want: "A=67108864 B=2"},
		"limit of nobody":               {env: []v1.EnvVar{{Name: "A", ValueFrom: limit("nobody", "limits.cpu")}}, err: "container nobody not found"},
		"file":                          {env: []v1.EnvVar{{Name: "X", ValueFrom: file("env", "A", false)}}, want: "X=from a file"},
		"file's key missing":            {env: []v1.EnvVar{{Name: "X", ValueFrom: file("env", "C", false)}}, err: `environment variable key "C" not found in file`},
		"file's key missing, optional":  {env: []v1.EnvVar{{Name: "X", ValueFrom: file("env", "C", true)}}, want: ""},
		"no way out of the volume":      {env: []v1.EnvVar{{Name: "X", ValueFrom: file("../../../../etc/passwd", "A", false)}}, err: "couldn't parse env file"},
		"a NUL byte in a value":         {env: []v1.EnvVar{{Name: "A", Value: "a\x00b"}}, err: "the value of environment variable A holds a NUL byte"},
		"an equals sign in a name":      {env: []v1.EnvVar{{Name: "A=B", Value: "1"}}, err: `"A=B" cannot be the name of an environment variable`},
		"a dash in a name is fine":      {env: []v1.EnvVar{{Name: "data-1", Value: "1"}}, want: "data-1=1"},
		"an error that is not an end":   {env: []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("cm", "k", true)}}, err: "the API server is away"},
		"references reach config maps ": {env: []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("cm", "k", false)}, {Name: "B", Value: "[$(A)]"}}, want: "A=v B=[v]"},
	} {
		t.Run(name, func(t *testing.T) {
			in := envInput(test.env...)
			o := objects{maps: map[string]map[string]string{"cm": {"k": "v"}}, secrets: map[string]map[string]string{"sec": {"k": "hush"}}}
			if name == "an error that is not an end" {
				o.err = errors.New(test.err)
			}
			in.ConfigMaps, in.Secrets = o, o
			in.VolumePath = func(string) (string, error) { return volume, nil }
			if test.err != "" {
				if _, err := cri.Environment(in); err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if got := joined(t, in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestEnvFrom(t *testing.T) {
	o := objects{
		maps:    map[string]map[string]string{"cm": {"B": "cm-b", "A": "cm-a"}},
		secrets: map[string]map[string]string{"sec": {"A": "sec-a"}},
	}
	from := func(cm, secret, prefix string, optional bool) v1.EnvFromSource {
		f := v1.EnvFromSource{Prefix: prefix}
		if cm != "" {
			f.ConfigMapRef = &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: cm}, Optional: &optional}
		} else {
			f.SecretRef = &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: secret}, Optional: &optional}
		}
		return f
	}
	for name, test := range map[string]struct {
		from      []v1.EnvFromSource
		env       []v1.EnvVar
		want, err string
	}{
		"sorted keys":      {from: []v1.EnvFromSource{from("cm", "", "", false)}, want: "A=cm-a B=cm-b"},
		"prefix":           {from: []v1.EnvFromSource{from("cm", "", "P_", false)}, want: "P_A=cm-a P_B=cm-b"},
		"later wins":       {from: []v1.EnvFromSource{from("cm", "", "", false), from("", "sec", "", false)}, want: "A=sec-a B=cm-b"},
		"env wins":         {from: []v1.EnvFromSource{from("cm", "", "", false)}, env: []v1.EnvVar{{Name: "A", Value: "$(B)!"}}, want: "A=cm-b! B=cm-b"},
		"missing":          {from: []v1.EnvFromSource{from("none", "", "", false)}, err: `configmap "none" not found`},
		"missing secret":   {from: []v1.EnvFromSource{from("", "none", "", false)}, err: `secret "none" not found`},
		"missing optional": {from: []v1.EnvFromSource{from("none", "", "", true), from("", "none", "", true)}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := envInput(test.env...)
			in.Container.EnvFrom = test.from
			in.ConfigMaps, in.Secrets = o, o
			if test.err != "" {
				if _, err := cri.Environment(in); err == nil || err.Error() != test.err {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if got := joined(t, in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestServiceVariables(t *testing.T) {
	all := []*v1.Service{
		service("default", "kubernetes", "10.96.0.1", 443), service("ns", "my-db", "10.96.0.2", 5432),
		service("other", "hidden", "10.96.0.3", 80), service("ns", "headless", v1.ClusterIPNone, 80), service("ns", "external", "", 80),
	}
	in := envInput()
	in.Services = func() ([]*v1.Service, error) { return all, nil }
	got := joined(t, in)
	if !strings.Contains(got, "KUBERNETES_SERVICE_HOST=10.96.0.1") || strings.Contains(got, "MY_DB") {
		t.Errorf("without links: %s", got)
	}
	in.Pod.Spec.EnableServiceLinks = ptr(true)
	got = joined(t, in)
	for _, want := range []string{"MY_DB_SERVICE_HOST=10.96.0.2", "MY_DB_SERVICE_PORT=5432", "MY_DB_PORT_5432_TCP=tcp://10.96.0.2:5432"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	for _, not := range []string{"HIDDEN", "HEADLESS", "EXTERNAL"} {
		if strings.Contains(got, not) {
			t.Errorf("%s is in %s", not, got)
		}
	}
	in.Container.Env = []v1.EnvVar{{Name: "URL", Value: "$(MY_DB_PORT)"}, {Name: "MY_DB_SERVICE_HOST", Value: "mine"}}
	got = joined(t, in)
	if !strings.HasPrefix(got, "URL=tcp://10.96.0.2:5432 MY_DB_SERVICE_HOST=mine ") || strings.Count(got, "MY_DB_SERVICE_HOST=") != 1 {
		t.Errorf("own variables come first and win: %s", got)
	}

	in.Services = func() ([]*v1.Service, error) { return nil, cri.ErrServicesUnread }
	if _, err := cri.Environment(in); !errors.Is(err, cri.ErrServicesUnread) {
		t.Errorf("before the services are known: %v", err)
	}
	in.Pod.Annotations["kubernetes.io/config.source"] = "file"
	if _, err := cri.Environment(in); err != nil {
		t.Errorf("a static pod does not wait: %v", err)
	}
	in.Pod.Spec.EnableServiceLinks = nil
	if _, err := cri.Environment(in); err == nil {
		t.Error("a pod without enableServiceLinks was not defaulted by the API server")
	}
}

// TestEnvironmentIsStable draws environments: each name comes once, and the same
// input gives the same order, so that a configuration can be compared.
func TestEnvironmentIsStable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"A", "B", "C", "KUBERNETES_PORT"})
		var env []v1.EnvVar
		for range rapid.IntRange(0, 6).Draw(rt, "env") {
			env = append(env, v1.EnvVar{Name: name.Draw(rt, "name"), Value: rapid.SampledFrom([]string{"", "x", "$(A)", "$(B)$(C)"}).Draw(rt, "value")})
		}
		in := envInput(env...)
		in.Services = func() ([]*v1.Service, error) {
			return []*v1.Service{service("default", "kubernetes", "10.96.0.1", 443)}, nil
		}
		o := objects{maps: map[string]map[string]string{"cm": {"A": "1", "B": "2", "D": "3"}}}
		in.ConfigMaps = o
		in.Container.EnvFrom = []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "cm"}}}}
		first, err := cri.Environment(in)
		if err != nil {
			rt.Fatal(err)
		}
		again, err := cri.Environment(in)
		if err != nil || fmt.Sprint(first) != fmt.Sprint(again) {
			rt.Fatalf("%v, then %v, %v", first, again, err)
		}
		var names []string
		for _, e := range first {
			if slices.Contains(names, e.Name) {
				rt.Fatalf("%s comes twice in %v", e.Name, first)
			}
			names = append(names, e.Name)
		}
	})
}

func TestSortPodIPs(t *testing.T) {
	for _, test := range []struct {
		pod, host []string
		want      string
	}{
		{nil, nil, ""},
		{[]string{"10.0.0.1"}, nil, "10.0.0.1"},
		{[]string{"fd00::1", "10.0.0.1"}, []string{"192.168.0.1"}, "10.0.0.1,fd00::1"},
		{[]string{"10.0.0.1", "fd00::1"}, []string{"fd00::9"}, "fd00::1,10.0.0.1"},
		{[]string{"10.0.0.1", "10.0.0.2"}, []string{"192.168.0.1"}, "10.0.0.1"},
		{[]string{"nonsense", "10.0.0.2"}, []string{"nonsense"}, "10.0.0.2"},
	} {
		if got := strings.Join(cri.SortPodIPs(test.pod, test.host), ","); got != test.want {
			t.Errorf("%v on %v: %s, want %s", test.pod, test.host, got, test.want)
		}
	}
}
