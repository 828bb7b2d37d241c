package ask

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/record"
)

// village is a namespace that tests make by hand; nobody on a node remembers anything.
type village struct {
	*record.Case
	t *testing.T
}

func newVillage(t *testing.T) village {
	c := &record.Case{Manifest: record.Manifest{Time: time.Date(2026, 11, 28, 10, 10, 0, 0, time.UTC), Namespace: "shop"}, Logs: map[string][]byte{}}
	v := village{c, t}
	v.add(v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}})
	v.add(v1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	return v
}

func (v village) add(o any) { v.Objects = append(v.Objects, asJSON(v.t, o)) }

// pod adds one that runs, and is Ready where it is well, whose log has a line every two seconds since two minutes.
func (v village) pod(name string, well bool, said string, change func(*v1.Pod)) {
	p := v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": name}}}
	p.Spec = v1.PodSpec{NodeName: "n", Containers: []v1.Container{{Name: "main", Image: name}}}
	began := metav1.NewTime(v.Time.Add(-10 * time.Minute))
	p.CreationTimestamp = began
	p.Status.Phase, p.Status.StartTime = v1.PodRunning, &began
	p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: began}}}}
	ready := v1.ConditionTrue
	log := &strings.Builder{}
	for at := v.Time.Add(-2 * time.Minute); at.Before(v.Time) && said != ""; at = at.Add(2 * time.Second) {
		fmt.Fprintf(log, "%s %s\n", at.Format(time.RFC3339Nano), said)
	}
	v.Logs[record.LogOf("shop", name, "main", false)] = []byte(log.String())
	if !well {
		ready = v1.ConditionFalse
		ended := &v1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: metav1.NewTime(v.Time.Add(-31 * time.Second)), FinishedAt: metav1.NewTime(v.Time.Add(-30 * time.Second))}
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", RestartCount: 5, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, LastTerminationState: v1.ContainerState{Terminated: ended}}}
		v.Logs[record.LogOf("shop", name, "main", false)] = []byte(fmt.Sprintf("%s %s\n", ended.FinishedAt.UTC().Format(time.RFC3339Nano), strings.ReplaceAll(said, "\n", "\n"+ended.FinishedAt.UTC().Format(time.RFC3339Nano)+" ")))
		v.Logs[record.LogOf("shop", name, "main", true)] = v.Logs[record.LogOf("shop", name, "main", false)]
	}
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: ready, LastTransitionTime: began}}
	if change != nil {
		change(&p)
	}
	v.add(p)
}

func (v village) service(name string, port int32, selector map[string]string) {
	v.add(v1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: v1.ServiceSpec{ClusterIP: "10.43.0.9", Selector: selector, Ports: []v1.ServicePort{{Port: port}}},
	})
}

func (v village) ask(name string) answer.Answer {
	v.t.Helper()
	from, err := Recorded(v.Case, false, Options{Namespace: "shop"})
	if err != nil {
		v.t.Fatal(err)
	}
	all, err := from.About(context.Background(), Target{Kind: "pod", Name: name})
	if err != nil || len(all) != 1 {
		v.t.Fatal(len(all), err)
	}
	return all[0]
}

// What is Ready and fails at its work is told by its log alone, and followed to its root (CASES 1, 2, 4 and 6).
func TestReadyIsNotWell(t *testing.T) {
	for name, test := range map[string]struct {
		make      func(v village)
		symptom   answer.SymptomKind
		cause     answer.Cause
		certainty answer.Certainty
		pod       string // to which it leads
		says      string
	}{
		"a database that does not run as root": {
			func(v village) {
				v.pod("client", true, `psycopg2.OperationalError: connection to server at "postgres" (10.43.0.9), port 5432 failed: Connection refused`, nil)
				v.pod("postgres", false, "\"root\" execution of the PostgreSQL server is not permitted.\nThe server must be started under an unprivileged user ID to prevent\npossible system security compromise.  See the documentation for\nmore information on how to properly start the server.", nil)
				v.service("postgres", 5432, map[string]string{"app": "postgres"})
			}, answer.Degraded, "", "", "shop/postgres", "60",
		},
		"a Service that selects nobody": {
			func(v village) {
				v.pod("client", true, "curl: (7) Failed to connect to backend-service port 80 after 2 ms: Couldn't connect to server", nil)
				v.pod("backend", true, "", func(p *v1.Pod) { p.Labels["version"] = "v1" })
				v.service("backend-service", 80, map[string]string{"app": "backend", "version": "v2"})
			}, answer.Degraded, answer.SelectorMismatch, "", "", "version",
		},
		"a name of no Service, where the client does not say why": {
			func(v village) {
				v.pod("client", true, "StackExchange.Redis.RedisConnectionException: UnableToConnect on redis-invalid:6379/Interactive, Initializing/NotStarted", func(p *v1.Pod) {
					p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "REDIS_ADDR", Value: "redis-invalid:6379"}}
				})
				v.pod("redis", true, "", nil)
				v.service("redis", 6379, map[string]string{"app": "redis"})
			}, answer.Degraded, answer.DependencyDown, "", "", "correct the name redis-invalid in variable REDIS_ADDR to redis",
		},
		"a name of no Service, of which a quota admits no more": {
			func(v village) {
				v.pod("client", true, "dial tcp: lookup ads on 10.43.0.10:53: no such host", nil)
				one := v1.ResourceList{v1.ResourceServices: resource.MustParse("1")}
				v.add(v1.ResourceQuota{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "few"}, Status: v1.ResourceQuotaStatus{Hard: one, Used: one}})
			}, answer.Degraded, answer.DependencyDown, "", "", "ResourceQuota few has services: 1",
		},
		"a warning about failed work, again and again": {
			func(v village) {
				v.pod("client", true, `level=warn component="rule manager" msg="Evaluating rule failed" err="found duplicate series for the match group"`, nil)
			}, answer.Degraded, answer.AppUnhealthy, "", "", "found duplicate series",
		},
		"a consumer that the broker refuses": {
			func(v village) {
				v.pod("client", true, `WARNING Consumer raised exception. Exception summary: (403, "ACCESS_REFUSED - queue 'reports' in vhost '/' in exclusive use")`, nil)
			}, answer.Degraded, "", "", "", "exclusive use",
		},
		"a service account without the right": {
			func(v village) {
				v.pod("client", true, `E1128 10:01:00.000000       1 reflector.go:150] Failed to watch *v1.Pod: failed to list *v1.Pod: pods is forbidden: User "system:serviceaccount:shop:client" cannot list resource "pods" in API group "" in the namespace "shop"`, nil)
			}, answer.Degraded, answer.SecurityRefused, "", "", "kubectl -n shop create role",
		},
		"a variable that names a Service without endpoints": {
			func(v village) {
				v.pod("client", true, "", func(p *v1.Pod) { p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "DB_HOST", Value: "db.shop.svc"}} })
				v.service("db", 5432, map[string]string{"app": "db"})
			}, answer.Healthy, answer.None, answer.Unknown, "", "DB_HOST",
		},
		"a log in which nothing is wrong": {
			func(v village) { v.pod("client", true, "INFO synced 12 items, 0 errors", nil) }, answer.Healthy, answer.None, answer.Unknown, "", "the log has no error",
		},
		"a log with an error that is not repeated": {
			func(v village) {
				v.pod("client", true, "INFO synced", nil)
				of := record.LogOf("shop", "client", "main", false)
				v.Logs[of] = append([]byte(v.Time.Add(-3*time.Minute).Format(time.RFC3339Nano)+" ERROR price of order 7: rounding\n"), v.Logs[of]...)
			}, answer.Healthy, answer.None, answer.Unknown, "", "the log repeats no error",
		},
		"a log that is longer than may be read": {
			func(v village) {
				v.pod("client", true, "psycopg2.OperationalError: connection to server at \"postgres\", port 5432 failed: Connection refused", nil)
				of, old := record.LogOf("shop", "client", "main", false), &strings.Builder{}
				for range 500 {
					fmt.Fprintf(old, "%s INFO %s\n", v.Time.Add(-5*time.Minute).Format(time.RFC3339Nano), strings.Repeat("x", 10_000))
				}
				v.Logs[of] = append([]byte(old.String()), v.Logs[of]...)
			}, answer.Degraded, "", "", "", "Connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVillage(t)
			test.make(v)
			a := v.ask("client")
			got := a.Verdicts[0]
			text := strings.Join(strings.Fields(a.Text(answer.Style{Wide: true})), " ")
			t.Log(text)
			if a.Symptoms[0].Kind != test.symptom || test.cause != "" && got.Cause != test.cause || test.certainty != "" && got.Certainty != test.certainty {
				t.Errorf("%s: %s, %s", a.Symptoms[0].Kind, got.Cause, got.Certainty)
			}
			if test.pod != "" && got.Pod != test.pod || !strings.Contains(text, test.says) {
				t.Errorf("it leads to %q and does not say %q", got.Pod, test.says)
			}
		})
	}
}
