package dump

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubectl/pkg/describe"
	"sigs.k8s.io/yaml"
)

const podToDescribe = `
metadata: {name: web-1, namespace: shop, uid: p, labels: {app: web, tier: front}, creationTimestamp: "2026-11-20T09:00:00Z",
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, controller: true, uid: r}]}
spec:
  nodeName: n1
  serviceAccountName: web
  initContainers: [{name: init, image: "init:1", command: [sh, -c, "wait for it"]}]
  containers:
  - name: app
    image: registry.example/web:1
    command: [/web]
    args: ["--level", debug]
    ports: [{containerPort: 8080, protocol: TCP, name: http}, {containerPort: 53, protocol: UDP}]
    resources: {limits: {memory: 128Mi, cpu: "1"}, requests: {memory: 64Mi}}
    livenessProbe: {httpGet: {path: /healthz, port: http, scheme: HTTP}, initialDelaySeconds: 3, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}
    readinessProbe: {tcpSocket: {port: 8080}, timeoutSeconds: 2, periodSeconds: 5, successThreshold: 1, failureThreshold: 1}
    startupProbe: {exec: {command: [cat, /ready]}, timeoutSeconds: 2, periodSeconds: 5, successThreshold: 1, failureThreshold: 30}
    env:
    - {name: DB_HOST, value: "db:5432"}
    - {name: DB_KEY, valueFrom: {secretKeyRef: {name: db, key: pass, optional: false}}}
    - {name: MODE, valueFrom: {configMapKeyRef: {name: conf, key: mode, optional: true}}}
    envFrom: [{configMapRef: {name: all, optional: false}}]
    volumeMounts: [{name: data, mountPath: /data}, {name: conf, mountPath: /etc/conf, readOnly: true}]
  volumes:
  - {name: conf, configMap: {name: conf, optional: false}}
  - {name: data, persistentVolumeClaim: {claimName: data}}
  - {name: tmp, emptyDir: {}}
  - {name: key, secret: {secretName: key, optional: false}}
status:
  phase: Running
  startTime: "2026-11-20T09:00:00Z"
  podIP: 10.0.0.7
  qosClass: Burstable
  conditions: [{type: Ready, status: "False"}, {type: PodScheduled, status: "True"}]
  initContainerStatuses: [{name: init, image: "init:1", ready: true, state: {terminated: {exitCode: 0, reason: Completed, startedAt: "2026-11-20T09:00:00Z", finishedAt: "2026-11-20T09:00:01Z"}}}]
  containerStatuses:
  - name: app
    image: registry.example/web:1
    containerID: containerd://a
    restartCount: 9
    state: {waiting: {reason: CrashLoopBackOff}}
    lastState: {terminated: {exitCode: 137, reason: OOMKilled, message: bye, startedAt: "2026-11-20T10:00:00Z", finishedAt: "2026-11-20T10:00:02Z"}}
`

// TestDescribed has the real kubectl describe a pod, and reads that.
func TestDescribed(t *testing.T) {
	var want v1.Pod
	if err := yaml.UnmarshalStrict([]byte(podToDescribe), &want); err != nil {
		t.Fatal(err)
	}
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(time.Now().Add(-d)) }
	event := v1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e"}, InvolvedObject: v1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web-1", UID: "p", FieldPath: "spec.containers{app}"},
		Type: "Warning", Reason: "Unhealthy", Message: "Liveness probe failed: 500", Count: 12, Source: v1.EventSource{Component: "kubelet"}, LastTimestamp: ago(90 * time.Second), FirstTimestamp: ago(26 * time.Hour),
	}
	client := fake.NewClientset(&want, &event)
	text, err := (&describe.PodDescriber{Interface: client}).Describe("shop", "web-1", describe.DescriberSettings{ShowEvents: true})
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(most)
	r.content("web-1.txt", []byte(text))
	now := time.Date(2026, 11, 20, 10, 5, 0, 0, time.UTC)
	r.moment.file(now)
	c := r.finish()
	if len(c.Objects) != 2 || !c.Time.Equal(now) || len(c.Held) > 0 {
		t.Fatalf("%d objects as of %v, all of %v\n%s", len(c.Objects), c.Time, c.Held, text)
	}
	var got v1.Pod
	var seen v1.Event
	if err := json.Unmarshal(c.Objects[0], &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(c.Objects[1], &seen); err != nil {
		t.Fatal(err)
	}
	if seen.Reason != "Unhealthy" || seen.Count != 12 || seen.Message != event.Message || seen.InvolvedObject.FieldPath != "spec.containers{app}" || seen.InvolvedObject.UID != got.UID ||
		now.Sub(seen.LastTimestamp.Time).Round(time.Minute) != 2*time.Minute || !seen.FirstTimestamp.Time.Equal(now.Add(-26*time.Hour)) {
		t.Errorf("read the event as %+v", seen)
	}
	// What kubectl does not print.
	got.TypeMeta, got.UID, got.OwnerReferences[0].UID = metav1.TypeMeta{}, "p", "r"
	wanted, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	have, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(wanted, have) {
		t.Errorf("described\n%s\nread as\n%s\nand not\n%s", text, have, wanted)
	}
}

func TestProbeOfOlderKubectl(t *testing.T) {
	const before, now = "exec [cat /ready] delay=0s timeout=2s period=5s #success=1 #failure=30", "exec [cat /ready] delay=0s timeout=2s period=5s successThreshold=1 failureThreshold=30"
	if old, same := probe(before), probe(now); old == nil || !reflect.DeepEqual(old, same) {
		t.Errorf("%+v, %+v", old, same)
	}
}

func TestOtherDescriptionsAreNamed(t *testing.T) {
	r := newReader(most)
	r.content("web.txt", []byte("Name:         web\nNamespace:    shop\nSelector:     app=web\nReplicas:     3 desired\n"))
	if c := r.finish(); len(c.Missing) == 0 || !strings.Contains(c.Missing[0], "kubectl get -o yaml") {
		t.Error(c.Missing)
	}
}

func TestAgo(t *testing.T) {
	for text, want := range map[string]time.Duration{"0s": 0, "2m3s": 123 * time.Second, "5d20h": 140 * time.Hour, "3y45d": (3*365 + 45) * 24 * time.Hour, "90m": 90 * time.Minute} {
		if d, ok := ago(text); !ok || d != want {
			t.Errorf("%s is %v", text, d)
		}
	}
	for _, text := range []string{"", "x", "<unknown>", "5", "3m2"} {
		if d, ok := ago(text); ok {
			t.Errorf("%q is %v", text, d)
		}
	}
}
