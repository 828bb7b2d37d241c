package ask

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// all is the overview of everything of the village, by the API alone.
func (v village) all() string {
	v.t.Helper()
	from, err := Recorded(v.Case, false, Options{Namespace: "shop"})
	if err != nil {
		v.t.Fatal(err)
	}
	all, err := from.All(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	return answer.Overview(all, answer.Style{})
}

func (v village) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("of-" + name), CreationTimestamp: metav1.NewTime(v.Time.Add(-time.Hour))}
}

// deployment adds one whose pods have the label app, of which some are ready.
func (v village) deployment(name string, wanted, ready int32, refused string) {
	labels := map[string]string{"app": name}
	d := appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: v.meta(name),
		Spec:   appsv1.DeploymentSpec{Replicas: &wanted, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}},
		Status: appsv1.DeploymentStatus{ReadyReplicas: ready},
	}
	if refused != "" {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: v1.ConditionTrue, Message: refused}}
	}
	v.add(d)
}

func (v village) job(name string, owners ...metav1.OwnerReference) {
	labels := map[string]string{"job": name}
	j := batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: v.meta(name)}
	j.OwnerReferences, j.Spec.Selector = owners, &metav1.LabelSelector{MatchLabels: labels}
	j.Status.Active = 1
	v.add(j)
}

func controller(kind, name string) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{Kind: kind, Name: name, UID: types.UID("of-" + name), Controller: &yes}
}

// event adds one of six minutes ago, about an object that the village has or had.
func (v village) event(kind, name, reason, message string) {
	at := metav1.NewTime(v.Time.Add(-6 * time.Minute))
	about := v1.ObjectReference{Kind: kind, Namespace: "shop", Name: name, UID: types.UID("of-" + name), FieldPath: "spec.containers{main}"}
	if kind == "Pod" {
		about.UID = types.UID(name)
	}
	v.add(v1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name + reason}, InvolvedObject: about,
		Reason: reason, Message: message, Source: v1.EventSource{Component: "kubelet", Host: "n"}, FirstTimestamp: at, LastTimestamp: at, Count: 1, Type: v1.EventTypeWarning,
	})
}

// labelled gives a pod the label by which a workload knows it.
func labelled(app string) func(*v1.Pod) { return func(p *v1.Pod) { p.Labels["app"] = app } }

const quotaFull = `pods "web-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2`

// The API alone tells of what no pod tells of, and of each trouble once.
func TestEverything(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(village)
		want []string
		not  []string
	}{
		{
			"no pod of three, by a quota", func(v village) {
				v.deployment("web", 3, 0, quotaFull)
				v.service("web", 80, map[string]string{"app": "web"})
			},
			[]string{"deployment shop/web", "NotServing", "insufficient-resources", "takes down svc shop/web"},
			[]string{"There are no pods", "well", "service shop/web"},
		},
		{
			"two of three, by a quota", func(v village) {
				v.pod("web-1", true, "", labelled("web"))
				v.pod("web-2", true, "", labelled("web"))
				v.deployment("web", 3, 2, quotaFull)
				v.service("web", 80, map[string]string{"app": "web"})
			},
			[]string{"deployment shop/web", "insufficient-resources", "2 other pods well or done"},
			[]string{"All 2 pods", "takes down"},
		},
		{
			"a Service that selects nothing", func(v village) {
				v.pod("web-1", true, "", labelled("web"))
				v.service("web", 80, map[string]string{"app": "wep"})
			},
			[]string{"service shop/web", "selector-mismatch", "1 other pod well"},
			nil,
		},
		{
			"a Service whose only pod crashes", func(v village) {
				v.pod("web-1", false, "panic: no luck", labelled("web"))
				v.deployment("web", 1, 0, "")
				v.service("web", 80, map[string]string{"app": "web"})
			},
			[]string{"shop/web-1", "app-exit-error", "takes down svc shop/web"},
			[]string{"deployment shop/web", "service shop/web"},
		},
		{
			"a Service that another pod serves", func(v village) {
				v.pod("web-1", false, "panic: no luck", labelled("web"))
				v.pod("web-2", true, "", labelled("web"))
				v.service("web", 80, map[string]string{"app": "web"})
			},
			[]string{"shop/web-1", "1 other pod well"},
			[]string{"takes down"},
		},
		{
			"a node that has stopped reporting", func(v village) {
				v.add(v1.Node{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "away"},
					Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown, Message: "Kubelet stopped posting node status.", LastTransitionTime: metav1.NewTime(v.Time.Add(-2 * time.Minute))}}},
				})
				for _, name := range []string{"web-1", "web-2"} {
					v.pod(name, true, "", func(p *v1.Pod) { p.Spec.NodeName = "away" })
				}
			},
			[]string{"node away", "node-lost", "takes down shop/web-1, shop/web-2"},
			[]string{"shop/web-1   ", "well"},
		},
		{
			"a suspended CronJob", func(v village) {
				on := true
				v.add(batchv1.CronJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, ObjectMeta: v.meta("tick"), Spec: batchv1.CronJobSpec{Suspend: &on}})
			},
			[]string{"cronjob shop/tick", "suspended"},
			nil,
		},
		{
			"a Job that its sidecar keeps open", func(v village) {
				v.job("migrate")
				v.pod("migrate-x", true, "", func(p *v1.Pod) {
					p.OwnerReferences, p.Spec.RestartPolicy = []metav1.OwnerReference{controller("Job", "migrate")}, v1.RestartPolicyNever
					p.Status.ContainerStatuses[0].Ready = false
					p.Status.ContainerStatuses[0].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.NewTime(v.Time.Add(-time.Minute))}}
					p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{Name: "istio-proxy", Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: p.CreationTimestamp}}})
					p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "istio-proxy", Image: "proxy"})
					p.Status.Conditions[1].Status = v1.ConditionFalse
				})
			},
			[]string{"shop/migrate-x", "sibling-not-ready", "Container main is done (exit code 0), and container istio-proxy of the same pod still runs"},
			[]string{"out of service because of container main", "job shop/migrate"},
		},
		{
			"a CronJob whose last job is still active", func(v village) {
				tick := batchv1.CronJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, ObjectMeta: v.meta("tick"), Spec: batchv1.CronJobSpec{ConcurrencyPolicy: batchv1.ForbidConcurrent}}
				tick.Status.Active = []v1.ObjectReference{{Name: "tick-1"}}
				v.add(tick)
				v.job("tick-1", controller("CronJob", "tick"))
				v.pod("tick-1-x", true, "", func(p *v1.Pod) { p.OwnerReferences = []metav1.OwnerReference{controller("Job", "tick-1")} })
				v.event("CronJob", "tick", "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
			},
			[]string{"cronjob shop/tick", "NotServing", "job tick-1 is still active, and concurrencyPolicy is Forbid"},
			nil,
		},
		{
			"a claim that nothing makes a volume for", func(v village) {
				class := "fast"
				v.add(v1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: v.meta("data"), Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &class}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}})
			},
			[]string{"persistentvolumeclaim shop/data", "volume-unbound", `asks for the StorageClass "fast", which does not exist`},
			nil,
		},
		{
			"a pod that was evicted, and is gone, and one that was deleted", func(v village) {
				v.event("Pod", "web-1", "Evicted", "The node was low on resource: memory. ")
				v.event("Pod", "web-2", "Killing", "Stopping container main")
			},
			[]string{"Over by now:\nshop/web-1", "Evicted", "evicted-memory"},
			[]string{"web-2"},
		},
		{
			"a slow start that is over", func(v village) {
				v.pod("web-1", true, "", func(p *v1.Pod) {
					p.Spec.Containers[0].ReadinessProbe = &v1.Probe{FailureThreshold: 3, PeriodSeconds: 10, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{}}}
					p.Status.Conditions[1].LastTransitionTime = metav1.NewTime(v.Time.Add(-5 * time.Minute))
				})
				v.event("Pod", "web-1", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")
			},
			[]string{"The only pod is well or done."},
			[]string{"NotReady"},
		},
		{
			"a client of a Service that selects nothing", func(v village) {
				v.pod("web-1", false, "dial tcp 10.43.0.9:5432: connect: connection refused (db:5432)", nil)
				v.pod("web-2", false, "dial tcp 10.43.0.9:5432: connect: connection refused (db:5432)", nil)
				v.pod("db-1", true, "", nil)
				v.service("db", 5432, map[string]string{"app": "dbx"})
			},
			[]string{"service shop/db", "takes down shop/web-1, shop/web-2"},
			[]string{"shop/web-1   ", "shop/web-2   "},
		},
		{
			"a restart of two days ago, and today's trouble", func(v village) {
				v.pod("db", true, "", func(p *v1.Pod) {
					ended := metav1.NewTime(v.Time.Add(-48 * time.Hour))
					p.Status.ContainerStatuses[0].RestartCount = 1
					p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: metav1.NewTime(ended.Add(-time.Hour)), FinishedAt: ended}
				})
				v.service("web", 80, map[string]string{"app": "wep"})
			},
			[]string{"service shop/web", "Over by now:\nshop/db", "Restarted", "2 days ago: "},
			nil,
		},
		{
			"all is well", func(v village) {
				v.pod("web-1", true, "", labelled("web"))
				v.deployment("web", 1, 1, "")
				v.service("web", 80, map[string]string{"app": "web"})
			},
			[]string{"The only pod is well or done.\n"},
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := newVillage(t)
			test.make(v)
			got := v.all()
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in\n%s", want, got)
				}
			}
			for _, not := range test.not {
				if strings.Contains(got, not) {
					t.Errorf("%q is in\n%s", not, got)
				}
			}
		})
	}
}

// counting counts requests for objects.
type counting struct {
	http.RoundTripper
	n atomic.Int32
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/log") {
		c.n.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

// Of a live cluster each kind is listed once, however many pods and workloads are not well.
func TestRequests(t *testing.T) {
	v := newVillage(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		v.pod(name, false, "panic: no luck", nil)
		v.deployment(name, 2, 0, quotaFull)
		v.service(name, 80, map[string]string{"app": name})
	}
	client, err := v.Client(false)
	if err != nil {
		t.Fatal(err)
	}
	count := &counting{RoundTripper: client}
	c, err := Connect(&rest.Config{Host: "http://recorded", Transport: count}, Options{Namespace: "shop", NoFront: true})
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.All(t.Context())
	if err != nil || len(all) != 16 {
		t.Errorf("%d answers, %v", len(all), err)
	}
	// The kinds, one question to the node, and the ConfigMaps with entries of knowledge.
	if n := int(count.n.Load()); n > len(surveyed)+2+2 {
		t.Errorf("%d requests", n)
	}
}

// logReads counts requests for logs.
type logReads struct {
	http.RoundTripper
	n atomic.Int32
}

func (l *logReads) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/log") {
		l.n.Add(1)
	}
	return l.RoundTripper.RoundTrip(r)
}

// A question about a namespace reads the logs of some of its Ready pods; one about all namespaces, or one that is asked
// every few seconds, reads none.
func TestLogsOfNamespace(t *testing.T) {
	v := newVillage(t)
	for i := range mostHeardOf + 5 {
		v.pod(fmt.Sprintf("web-%d", i), true, "INFO synced", nil)
	}
	for _, c := range []struct {
		options Options
		reads   int
	}{
		{Options{Namespace: "shop", NoFront: true}, mostHeardOf},
		{Options{Namespace: "shop", NoFront: true, Watching: true}, 0},
		{Options{NoFront: true}, 0},
	} {
		client, err := v.Client(false)
		if err != nil {
			t.Fatal(err)
		}
		logs := &logReads{RoundTripper: client}
		from, err := Connect(&rest.Config{Host: "http://recorded", Transport: logs}, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := from.All(t.Context()); err != nil {
			t.Error(err)
		}
		if n := int(logs.n.Load()); n != c.reads {
			t.Errorf("%+v: %d logs read", c.options, n)
		}
	}
}

// overseer is a front that speaks for all nodes.
type overseer struct {
	herald
	gone []answer.Answer
}

func (o *overseer) Departed(_ context.Context, about serve.Question) ([]answer.Answer, error) {
	return slices.DeleteFunc(slices.Clone(o.gone), func(a answer.Answer) bool { return a.Subject.Name != about.Name }), nil
}

func (o *overseer) Standing(context.Context, string) ([]answer.Answer, int, []string, error) {
	return nil, 2, nil, nil
}

// Where a front speaks for all pods, the API is asked about the rest, and lists no pods but those of what is short of
// them.
func TestEverythingByFront(t *testing.T) {
	v := newVillage(t)
	v.Time = time.Now().UTC()
	v.pod("web-1", true, "", labelled("web"))
	v.pod("web-2", true, "", labelled("web"))
	v.deployment("web", 3, 2, quotaFull)
	v.deployment("api", 1, 1, "")
	v.service("api", 80, map[string]string{"app": "api"})
	v.event("Pod", "old", "Evicted", "The node was low on resource: memory. ")
	client, err := v.Client(false)
	if err != nil {
		t.Fatal(err)
	}
	count := &counting{RoundTripper: client}
	gone := answer.New(answer.Subject{Kind: "Pod", Namespace: "shop", Name: "old", UID: "old"}, v.Time, answer.Coverage{})
	gone.Put(answer.Symptom{Kind: answer.Evicted, Last: v.Time}, answer.Verdict{Cause: answer.EvictedMemory, Text: "The node was short of memory."})
	o := Options{Namespace: "shop", Front: &overseer{gone: []answer.Answer{gone}}}
	c, err := Connect(&rest.Config{Host: "http://recorded", Transport: count}, o)
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.All(t.Context())
	got := answer.Overview(all, answer.Style{})
	for _, want := range []string{"deployment shop/web", "insufficient-resources", "2 other pods well or done", "shop/old "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s, %v", want, got, err)
		}
	}
	if n := int(count.n.Load()); n > len(surveyed)+6 {
		t.Errorf("%d requests", n)
	}
}
