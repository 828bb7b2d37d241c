package ask

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// Who asks an address that a pod had, and goes on with it, is told that.
func TestOldAddress(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	v := waitsAt("10.42.0.32:3000")
	v.Container = "nginx"
	w.pod("web1", 80, answer.NotReady, v, refusedAt("10.42.0.32:3000"))
	w.configure("proxy_pass http://cart2:3000")
	w.pod("cart2", 3000, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
	if v := w.ask("web1"); v.Cause != answer.DependencyDown {
		t.Errorf("its Service has an address: %s: %s", v.Cause, v.Text)
	}
	w.services.Items[1].Spec.ClusterIP = v1.ClusterIPNone
	if v := w.ask("web1"); v.Cause != answer.AppUnhealthy || v.Container != "nginx" || !strings.Contains(v.Text, "leads to cart2 (10.42.0.2)") {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
	w.services.Items[1].Spec.Ports[0].Port = 3001
	if v := w.ask("web1"); v.Cause != answer.DependencyDown {
		t.Errorf("it leads to another port: %s: %s", v.Cause, v.Text)
	}
	w.services.Items[1].Spec.Ports[0].Port = 3000
	w.pod("other32", 3000, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
	if v := w.ask("web1"); v.Cause != answer.DependencyDown {
		t.Errorf("a pod has the address: %s: %s", v.Cause, v.Text)
	}
}

// So is who asks one that does, and is failed by it; a proxy of which no more is known than that it takes whom it
// hands on to for down is where the way ends.
func TestOldAddressBehind(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	w.pod("web1", 80, answer.NotReady, saysNo(503), answer.Reach{Container: "web", Place: "gate3:80", How: answer.ReachSaid, Text: "http://gate3/prices: HTTP Error 503: Service Unavailable"})
	w.says("web1", "http://gate3/prices: HTTP Error 503: Service Unavailable", true)
	w.pod("cart2", 3000, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
	w.services.Items[1].Spec.ClusterIP = v1.ClusterIPNone
	w.pod("gate3", 80, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."}, answer.Reach{Container: "web", Place: "10.42.0.32:3000", How: answer.ReachDialing})
	w.configure("server cart cart2:3000 check")
	w.says("gate3", "Server carts/cart is DOWN, reason: Layer4 timeout, check duration: 2001ms. / backend carts has no server available!", true)
	v := w.ask("web1")
	if v.Cause != answer.AppUnhealthy || v.Pod != "shop/gate3" || !strings.Contains(v.Text, "asks 10.42.0.32:3000, an address that no pod and no Service has any more") || !strings.Contains(v.Text, "leads to cart2 (10.42.0.2)") {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
	a := w.answers["gate3"]
	a.Reaches = nil
	w.answers["gate3"] = a
	w.seenFrom("gate3", "10.42.0.1", 0)
	if v := w.ask("web1"); v.Cause != answer.DependencyDown || v.Pod != "shop/gate3" || !strings.Contains(v.Text, "carts has no server available") {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
	a.Complaints = nil
	w.answers["gate3"] = a
	w.says("gate3", "Server carts/cart is DOWN, reason: Layer7 wrong status, code: 401, check duration: 1ms.", true)
	w.seenFrom("gate3", "10.42.0.1", 0)
	if v := w.ask("web1"); v.Cause != answer.AppUnhealthy || !strings.Contains(v.Text, "takes them for down because they answer its own health check otherwise") {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
}

// An address is told by the name that it has.
func TestName(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	w.pod("web1", 80, answer.NotReady, waitsAt("10.43.0.2:5432"), answer.Reach{Container: "web", Place: "10.43.0.2:5432", How: answer.ReachAwaits, Heard: true})
	w.pod("db2", 5432, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
	w.seenFrom("db2", "10.42.0.1", 0)
	v := w.ask("web1")
	if !strings.Contains(v.Text, "10.43.0.2:5432 is Service shop/db2.") || len(v.Fixes) == 0 || !strings.HasSuffix(v.Fixes[0].Command, "svc/db2") {
		t.Errorf("%s %+v", v.Text, v.Fixes)
	}
}

// So it is where the answer leads there, and whose container it is where both are called the same.
func TestCalledByName(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	v := answer.Verdict{Cause: answer.DependencyDown, Container: "api"}
	v.Say(answer.Parts{What: "Container api fails because it cannot reach 10.43.0.2:5432, which it needs: dial tcp 10.43.0.2:5432: connection refused."})
	w.pod("web1", 80, answer.NotReady, v, refusedAt("10.43.0.2:5432"))
	w.pod("db2", 5432, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "Container api ended with exit code 1."})
	v = w.ask("web1")
	want := "Container api of this pod fails because it cannot reach 10.43.0.2:5432 (Service shop/db2), which it needs: dial tcp 10.43.0.2:5432: connection refused."
	if got := strings.Join(v.Parts.Then, " "); got != want {
		t.Errorf("%s", got)
	}
	if !strings.HasPrefix(v.Text, "The reason is pod shop/db2: Container api ended") {
		t.Errorf("%s", v.Text)
	}
	quotes := saysNo(502)
	quotes.Say(answer.Parts{What: "Its log says: upstream: \"http://10.43.0.2:5432/x\"."})
	w.pod("web3", 80, answer.NotReady, quotes, refusedAt("10.43.0.2:5432"))
	if v := w.ask("web3"); !strings.Contains(v.Text, "upstream: \"http://10.43.0.2:5432/x\". 10.43.0.2:5432 is Service shop/db2.") {
		t.Errorf("%s", v.Text)
	}
}

// A Service that is there, asked for below a domain that is not the cluster's.
func TestOtherDomain(t *testing.T) {
	for host, want := range map[string]bool{"db3.shop.svc.k8s.example.com": true, "db3.shop.svc.cluster.local": false, "db4.shop.svc.k8s.example.com": false} {
		w := &town{t: t, answers: map[string]answer.Answer{}}
		w.pod("web1", 80, answer.Restarted, answer.Verdict{Cause: answer.DependencyDown, Text: "It could not reach " + host + ":3306: Temporary failure in name resolution."},
			answer.Reach{Place: host + ":3306", How: answer.ReachSaid, Text: "Temporary failure in name resolution"})
		w.pods.Items[0].Spec.Containers = []v1.Container{{Name: "web", Env: []v1.EnvVar{{Name: "DB_HOST", Value: host}}}}
		w.pod("db3", 3306, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
		v := w.ask("web1")
		if said := len(v.Fixes) > 0 && strings.Contains(v.Fixes[0].Text, "name it db3.shop, without the cluster's domain, or correct that domain, in variable DB_HOST"); said != want {
			t.Errorf("%s: %s: %+v", host, v.Text, v.Fixes)
		}
	}
}

// Who waits for migrations, and the Job that is to make them, ask the same database by a Secret.
func TestUnmigratedBySecret(t *testing.T) {
	if pod := (&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Env: []v1.EnvVar{{Name: "TOKEN", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{Key: "token"}}}}}}}}); cluster.SameSecret(pod, pod) != "" {
		t.Error("a token was taken for what leads to a database")
	}
	w := &town{t: t, answers: map[string]answer.Answer{}}
	env := []v1.EnvVar{{Name: "DB", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "db"}, Key: "url"}}}}
	w.pod("web1", 80, answer.NotStarting, answer.Verdict{Cause: answer.InitWaiting, Text: "Its log says: Waiting for migrations... 10 second(s)."})
	w.pods.Items[0].Spec.InitContainers = []v1.Container{{Name: "wait", Env: env}}
	w.job("migrate")
	w.jobs.Items[0].Spec.Template.Spec.Containers = []v1.Container{{Name: "migrate", Env: env}}
	w.pod("migrate-2", 80, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "permission denied for schema public"})
	if v := w.ask("web1"); v.Cause != answer.AppExitError || v.Pod != "shop/migrate-2" || !strings.Contains(v.Text, "key url of Secret db") {
		t.Errorf("%s of %s: %s", v.Cause, v.Pod, v.Text)
	}
}

// What a server is to be a part of, a Job makes that asks it by its Service.
func TestUnmade(t *testing.T) {
	for says, want := range map[string]answer.Cause{"cluster_state:fail": answer.AppExitError, "LOADING": answer.AppUnhealthy} {
		w := &town{t: t, answers: map[string]answer.Answer{}}
		w.pod("node1", 6379, answer.NotReady, answer.Verdict{Cause: answer.AppUnhealthy, Text: fmt.Sprintf("Its command exits with 1 (%q).", says)})
		w.job("create")
		w.jobs.Items[0].Spec.Template.Spec.Containers = []v1.Container{{Name: "create", Command: []string{"redis-cli", "--cluster", "create", "node1:6379", "--cluster-replicas", "1"}}}
		w.pod("create-2", 1, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "*** At least 6 nodes are required."})
		if v := w.ask("node1"); v.Cause != want || want == answer.AppExitError && v.Pod != "shop/create-2" {
			t.Errorf("%s: %s of %s: %s", says, v.Cause, v.Pod, v.Text)
		}
	}
}
