package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

const gib = 1 << 30

func read(t *testing.T, manifest string) Workload {
	t.Helper()
	data, err := yaml.ToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Read("m.yaml", data)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[0]
}

// pod is a pod that has nothing wrong with it but what is added to it.
func pod(container, rest string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    resources: {requests: {memory: 64Mi}, limits: {memory: 64Mi}}
%s
%s`, container, rest)
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, manifest string
		want           []string
	}{
		{"nothing wrong", pod(`    ports: [{containerPort: 80, name: http}]
    startupProbe: {tcpSocket: {port: http}}
    livenessProbe: {httpGet: {path: /live, port: http}}
    readinessProbe: {httpGet: {path: /ready, port: 80}}`, ""), nil},
		{"port of no name", pod(`    ports: [{containerPort: 80, name: http}]
    readinessProbe: {httpGet: {path: /, port: web}}`, ""), []string{"probe-port-unknown"}},
		{"port of another number", pod(`    ports: [{containerPort: 80}]
    readinessProbe: {tcpSocket: {port: 8080}}`, ""), []string{"probe-port-undeclared"}},
		{"no ports declared", pod(`    readinessProbe: {tcpSocket: {port: 8080}}`, ""), []string{"probe-port-undeclared"}},
		{"port of a sibling", pod(`    ports: [{containerPort: 80}]
    readinessProbe: {tcpSocket: {port: 8080}}`, `  - name: d
    resources: {limits: {memory: 64Mi}}
    ports: [{containerPort: 8080}]`), nil},
		{"name of a sibling's port", pod(`    readinessProbe: {tcpSocket: {port: web}}`, `  - name: d
    resources: {limits: {memory: 64Mi}}
    ports: [{containerPort: 8080, name: web}]`), []string{"probe-port-unknown"}},
		{"the defaults of liveness", pod(`    livenessProbe: {exec: {command: [x]}}`, ""), nil},
		{"OnFailure of the container itself", pod(`    restartPolicy: OnFailure
    livenessProbe: {exec: {command: [x]}}`, ""), []string{"onfailure-with-liveness"}},
		{"OnFailure of the pod only", pod(`    restartPolicy: Always
    livenessProbe: {exec: {command: [x]}}`, "  restartPolicy: OnFailure"), nil},
		{"memory volumes together", pod(`    volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /w}]`, `  volumes:
  - {name: v, emptyDir: {medium: Memory, sizeLimit: 32Mi}}
  - {name: w, emptyDir: {medium: Memory, sizeLimit: 32Mi}}`), []string{"memory-volume-within-limit"}},
		{"another host", pod(`    ports: [{containerPort: 80}]
    readinessProbe: {tcpSocket: {host: 127.0.0.1, port: 8080}}`, ""), nil},
		{"a name at another host", pod(`    readinessProbe: {httpGet: {host: 127.0.0.1, port: web}}`, ""), []string{"probe-port-unknown"}},
		{"timeout above the default period", pod(`    readinessProbe: {exec: {command: [x]}, timeoutSeconds: 11}`, ""), []string{"probe-timeout-above-period"}},
		{"timeout equal to the period", pod(`    readinessProbe: {exec: {command: [x]}, timeoutSeconds: 5, periodSeconds: 5}`, ""), nil},
		{"the same question", pod(`    startupProbe: {exec: {command: [x]}}
    livenessProbe: {exec: {command: [x]}, periodSeconds: 5}
    readinessProbe: {exec: {command: [x]}}`, ""), []string{"liveness-equals-readiness"}},
		{"the same question, with patience", pod(`    startupProbe: {exec: {command: [x]}}
    livenessProbe: {exec: {command: [x]}, failureThreshold: 10}
    readinessProbe: {exec: {command: [x]}}`, ""), nil},
		{"killed while it starts", pod(`    livenessProbe: {exec: {command: [x]}, periodSeconds: 2, initialDelaySeconds: 5}`, ""), []string{"startup-not-covered"}},
		{"OnFailure", pod(`    livenessProbe: {exec: {command: [x]}}`, "  restartPolicy: OnFailure"), []string{"onfailure-with-liveness"}},
		{"memory volume", pod(`    volumeMounts: [{name: v, mountPath: /v}]`, "  volumes: [{name: v, emptyDir: {medium: Memory, sizeLimit: 64Mi}}]"), []string{"memory-volume-within-limit"}},
		{"small memory volume", pod(`    volumeMounts: [{name: v, mountPath: /v}]`, "  volumes: [{name: v, emptyDir: {medium: Memory, sizeLimit: 16Mi}}]"), nil},
		{"no limit", strings.ReplaceAll(pod("", ""), ", limits: {memory: 64Mi}", ""), []string{"no-memory-limit", "memory-overcommitted"}},
		{"too large for the node", strings.ReplaceAll(pod("", ""), "64Mi", "2Gi"), []string{"memory-requests-beyond-node", "memory-overcommitted"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range Check([]Workload{read(t, c.manifest)}, Node{Memory: gib}) {
				got = append(got, f.Rule)
				if f.Text == "" || f.Reason == "" || f.Fix == "" {
					t.Errorf("%s leaves something unsaid: %+v", f.Rule, f)
				}
			}
			if slices.Sort(got); !slices.Equal(got, sorted(c.want)) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// What is said about manifests as people write them, and nothing besides.
func TestUsualManifests(t *testing.T) {
	data, err := os.ReadFile("testdata/usual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Parse("usual.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	Prioritize(all, PrioritiesIn(data))
	for memory, want := range map[int64][]string{
		8 * gib: {
			"memory-overcommitted  ",
			"liveness-equals-readiness shop/StatefulSet/redis redis",
			"no-memory-limit monitoring/Deployment/prometheus prometheus",
		},
		gib: {
			"memory-requests-beyond-node  ",
			"memory-overcommitted  ",
			"liveness-equals-readiness shop/StatefulSet/redis redis",
			"no-memory-limit monitoring/Deployment/prometheus prometheus",
		},
	} {
		var got []string
		for _, f := range Check(all, Node{Memory: memory}) {
			got = append(got, f.Rule+" "+f.Object+" "+f.Container)
			if f.Rule == "memory-overcommitted" && !strings.Contains(f.Reason, "in this order: Deployment/prometheus, StatefulSet/postgres, Deployment/web; "+
				"pods that use more than they request push out others, but not StatefulSet/redis, CronJob/report") {
				t.Errorf("it says %q", f.Reason)
			}
		}
		if !slices.Equal(sorted(got), sorted(want)) {
			t.Errorf("with %d bytes of memory: %q, want %q", memory, got, want)
		}
	}
}

// The node whose pods could use 180 % of its memory: it is said, with the order
// in which pods would go, and with who is safe.
func TestOvercommit(t *testing.T) {
	deployment := func(name, request, limit string, replicas int) Workload {
		return read(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: shop}
spec:
  replicas: %d
  selector: {matchLabels: {app: x}}
  template:
    spec: {containers: [{name: c, resources: {requests: {memory: %s}, limits: {memory: %s}}}]}
`, name, replicas, request, limit))
	}
	found := Check([]Workload{
		deployment("web", "64Mi", "256Mi", 4), deployment("cache", "16Mi", "716Mi", 1), deployment("db", "103Mi", "103Mi", 1), deployment("idle", "1Mi", "8Gi", 0),
	}, Node{Memory: gib})
	if len(found) != 1 || found[0].Severity != Warning {
		t.Fatalf("%+v", found)
	}
	if want := "memory limits add up to 1843Mi, 179 % of the 1Gi that pods may have"; found[0].Text != want {
		t.Errorf("it says %q", found[0].Text)
	}
	if want := "set limits whose sum fits, for instance 148Mi for a pod of Deployment/web, 325Mi for a pod of Deployment/cache; " +
		"and requests close to the limits for pods that must stay"; found[0].Fix != want {
		t.Errorf("it says %q", found[0].Fix)
	}
	if want := "if all pods used their limits, some would be evicted, in this order: Deployment/cache, Deployment/web; " +
		"pods that use more than they request push out others, but not Deployment/db"; found[0].Reason != want {
		t.Errorf("it says %q", found[0].Reason)
	}
}

func TestRead(t *testing.T) {
	list := `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"kind":"Pod"}},
		{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"cj"},"spec":{"jobTemplate":{"spec":{"parallelism":3,"template":{"spec":{"containers":[{"name":"c"}]}}}}}},
		{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"other"},"spec":{"template":7}},
		{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"ds"},"spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}}]}`
	all, err := Read("f", []byte(list))
	if err != nil || len(all) != 2 || all[0].Replicas != 3 || len(all[0].Pod.Spec.Containers) != 1 || all[1].String() != "DaemonSet/ds" || all[1].File != "f" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := Read("f", []byte(`{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"resources":{"limits":{"memory":"lots"}}}]}}`)); err == nil {
		t.Error("a quantity that is none was read")
	}
}

// Every rule is explained where people look.
func TestRulesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range regexp.MustCompile(`Rule: "([a-z-]+)"`).FindAllSubmatch(text, -1) {
			if rules++; !strings.Contains(string(page), "`"+string(rule[1])+"`") {
				t.Errorf("%s is not in docs/operations.md", rule[1])
			}
		}
	}
	if rules < 14 {
		t.Errorf("only %d rules were found", rules)
	}
}

// The class of a pod decides when it goes, and Kubernetes' own classes that it does not.
func TestPriorities(t *testing.T) {
	const classes = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: v1
kind: List
items:
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 7, globalDefault: true}
- {apiVersion: example.org/v1, kind: PriorityClass, metadata: {name: other}, value: 9}
`
	var all []Workload
	for i, class := range []string{"high", "", "other", "system-node-critical"} {
		w := read(t, strings.ReplaceAll(pod("", "  priorityClassName: "+class), ", limits: {memory: 64Mi}", ""))
		w.Name = fmt.Sprint("p", i)
		all = append(all, w)
	}
	Prioritize(all, PrioritiesIn([]byte(classes)))
	for i, want := range []int32{1000, 7, -1, 2000001000} {
		if p := all[i].Pod.Spec.Priority; (p == nil) != (want < 0) || (p != nil && *p != want) {
			t.Errorf("pod %d has the priority %v, want %d", i, p, want)
		}
	}
	if got, want := evictionOrder(all, Node{Memory: gib}), []string{"Pod/p2", "Pod/p1", "Pod/p0"}; !slices.Equal(got, want) {
		t.Errorf("they would go in the order %v, want %v", got, want)
	}
}

// More memory makes nothing worse.
func TestMoreMemoryIsNoWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Workload
		for i := range rapid.IntRange(0, 5).Draw(t, "workloads") {
			data, err := yaml.ToJSON([]byte(pod("", "")))
			if err != nil {
				t.Fatal(err)
			}
			found, err := Read(fmt.Sprint(i), data)
			if err != nil {
				t.Fatal(err)
			}
			found[0].Replicas = rapid.Int64Range(0, 20).Draw(t, "replicas")
			all = append(all, found...)
		}
		memory := rapid.Int64Range(1, 8*gib).Draw(t, "memory")
		less, more := Check(all, Node{Memory: memory}), Check(all, Node{Memory: memory + rapid.Int64Range(0, gib).Draw(t, "more")})
		if Worst(more) > Worst(less) || len(more) > len(less) {
			t.Fatalf("with more memory there is more to say: %v, %v", less, more)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"c","livenessProbe":{"httpGet":{"port":"x"}}}]}}`))
	f.Add([]byte(`{"items":[{"items":[null]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Read("f", data)
		if err != nil {
			return
		}
		Prioritize(all, PrioritiesIn(data))
		for _, finding := range Check(all, Node{Memory: gib}) {
			if finding.Rule == "" || finding.Severity.String() == "" {
				t.Fatalf("%+v", finding)
			}
		}
	})
}
