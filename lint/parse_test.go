package lint

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
)

const several = `# a comment
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
--- # the next
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      initContainers:
      - name: side
        restartPolicy: Always
      containers:
      - name: c
        image: x
        readinessProbe:
          httpGet: {path: /, port: http}
---
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers: [{name: c, livenessProbe: {tcpSocket: {port: web}}}]
`

func TestParseFindsLines(t *testing.T) {
	all, err := Parse("m.yaml", []byte(several))
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	lines := map[string]int{}
	for _, f := range Check(all, Node{}) {
		lines[f.Rule+" "+f.Object+" "+f.Container] = f.Line
	}
	for what, want := range map[string]int{
		"no-memory-limit Deployment/web side": 14, "no-memory-limit Deployment/web c": 17, "probe-port-unknown Deployment/web c": 19,
		"probe-port-unknown Pod/p c": 30,
	} {
		if lines[what] != want {
			t.Errorf("%s on line %d, want %d (%v)", what, lines[what], want, lines)
		}
	}
}

func TestParseJSON(t *testing.T) {
	const one = "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Pod\",\n\t\"metadata\": {\"name\": \"p\"},\n\t\"spec\": {\"containers\": [{\"name\": \"c\"}]}\n}\n"
	all, err := Parse("m.json", []byte("\n"+one+one))
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if found := Check(all, Node{}); len(found) != 2 || found[0].Object != "Pod/p" {
		t.Errorf("%+v", found)
	}
}

func TestParseSaysWhere(t *testing.T) {
	_, err := Parse("m.yaml", []byte("apiVersion: v1\n---\nkind: [\n"))
	if err == nil || !strings.Contains(err.Error(), "m.yaml, document 2 (line 3)") {
		t.Error(err)
	}
}

// Every line that is named is one of the file, whatever the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(several))
	f.Add([]byte("{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}{}"))
	f.Add([]byte("apiVersion: v1\nkind: Pod\nspec: &a {containers: [*a]}\n"))
	f.Add([]byte("a: &a [*a]\n---\n\t- : :\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Parse("f", data)
		if err != nil {
			return
		}
		most := strings.Count(string(data), "\n") + 1
		for _, finding := range Check(all, Node{Memory: gib, Largest: gib}) {
			if finding.Line < 0 || finding.Line > most {
				t.Fatalf("line %d of %d: %+v", finding.Line, most, finding)
			}
		}
	})
}

// remembered is a journal in which a deployment's container needed 200 MiB, was
// OOM-killed, and took 41 s to become ready.
func remembered(kills int, most int64, start time.Duration) History {
	yes := true
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "web-abc-1", Labels: map[string]string{"pod-template-hash": "abc"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-abc", Controller: &yes}},
	}}
	dawn := time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)
	var facts []fact.Fact
	see := func(container string, after time.Duration, b fact.Body) {
		facts = append(facts, fact.Fact{Seen: dawn.Add(after), At: dawn.Add(after), Pod: fact.Pod{Namespace: "default", Name: pod.Name, UID: "u"}, Container: container, Body: b})
	}
	see("", 0, fact.SpecSeen{Object: pod})
	see("c", time.Second, fact.Started{})
	see("c", time.Second, fact.Marked{Started: true})
	see("c", time.Second+start, fact.Marked{Started: true, Ready: true})
	see("c", time.Hour, fact.Sampled{WorkingSet: most / 2})
	see("c", time.Hour, fact.Sampled{WorkingSet: most})
	for range kills {
		see("c", 2*time.Hour, fact.OOMKilled{})
	}
	// Neither is about the container's own limit.
	see("c", 2*time.Hour, fact.OOMKilled{Constraint: "CONSTRAINT_MEMCG", TaskCgroup: "/kubepods/podu/c", OOMCgroup: "/kubepods/podu"})
	see("c", 2*time.Hour, fact.OOMKilled{Constraint: "CONSTRAINT_NONE", TaskCgroup: "/kubepods/podu/c"})
	see("c", 3*time.Hour, fact.Marked{Started: true, Ready: true}) // of no start that is kept
	return Remember(facts)
}

func deployment(probe string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: c
        resources: {requests: {memory: 200Mi}, limits: {memory: 210Mi}}
` + probe
}

// What a journal remembers makes findings sharper, and takes away those that it
// refutes.
func TestHistorySharpens(t *testing.T) {
	const hasty = "        livenessProbe: {exec: {command: [x]}, periodSeconds: 5}\n"
	for _, c := range []struct {
		name  string
		probe string
		h     History
		want  map[string]Severity
	}{
		{"nothing remembered", hasty, nil, map[string]Severity{"startup-not-covered": Warning}},
		{"slow", hasty, remembered(0, 1<<20, 41*time.Second), map[string]Severity{"startup-not-covered": Error}},
		{"nearly too slow", hasty, remembered(0, 1<<20, 9*time.Second), map[string]Severity{"startup-not-covered": Warning}},
		{"quick", hasty, remembered(0, 1<<20, 2*time.Second), nil},
		{"killed", "", remembered(3, 100<<20, time.Second), map[string]Severity{"memory-limit-was-hit": Error}},
		{"at its limit", "", remembered(0, 205<<20, time.Second), map[string]Severity{"memory-limit-near-use": Warning, "memory-request-below-use": Note}},
		{"within", "", remembered(0, 100<<20, time.Second), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := Parse("f", []byte(deployment(c.probe)))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]Severity{}
			for _, f := range Check(all, Node{Memory: gib, Recorded: c.h}) {
				if f.Rule != "memory-overcommitted" {
					got[f.Rule] = f.Severity
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
			for rule, want := range c.want {
				if got[rule] != want {
					t.Errorf("%s is %v, want %v", rule, got[rule], want)
				}
			}
		})
	}
}

func TestLargerThanAnyNode(t *testing.T) {
	all, err := Parse("f", []byte(deployment("")))
	if err != nil {
		t.Fatal(err)
	}
	found := Check(all, Node{Memory: gib, Largest: 128 << 20})
	if len(found) != 1 || found[0].Rule != "larger-than-any-node" || found[0].Severity != Error || found[0].Line != 2 {
		t.Errorf("%+v", found)
	}
}
