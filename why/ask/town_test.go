package ask

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// town is a namespace of pods behind Services of their names, and what their node says of
// each.
type town struct {
	t        *testing.T
	pods     v1.PodList
	services v1.ServiceList
	jobs     batchv1.JobList
	policies networkingv1.NetworkPolicyList
	listed   int // how often the policies were
	// forbidden is set where nobody may list them; groups are those of the API.
	forbidden bool
	groups    metav1.APIGroupList
	others    int // policies of Cilium
	// deployment is the one that there is.
	deployment *appsv1.Deployment
	sets       appsv1.StatefulSetList
	maps       map[string]string
	answers    map[string]answer.Answer
	all        []answer.Verdict // of the last answer
}

// pod adds a pod that its node answers about, and the Service that leads to it.
func (w *town) pod(name string, port int32, symptom answer.SymptomKind, v answer.Verdict, reaches ...answer.Reach) *answer.Answer {
	number := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz")
	p := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": name}}, Spec: v1.PodSpec{NodeName: "n"}}
	p.Status.PodIP = "10.42.0." + number
	for i := range w.jobs.Items {
		if j := &w.jobs.Items[i]; strings.HasPrefix(name, j.Name+"-") {
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
		}
	}
	if symptom == answer.Healthy {
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	}
	w.pods.Items = append(w.pods.Items, p)
	w.services.Items = append(w.services.Items, v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       v1.ServiceSpec{ClusterIP: "10.43.0." + number, Selector: map[string]string{"app": name}, Ports: []v1.ServicePort{{Port: port}}},
	})
	now := time.Now().UTC()
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: "shop", Name: name, UID: types.UID(name)}, now, answer.Coverage{Complete: true})
	v.Certainty, v.Parts.What = answer.Inferred, v.Text
	a.Put(answer.Symptom{ID: "s1", Kind: symptom, Last: now}, v)
	a.Reaches, a.Listening = reaches, &answer.Listening{At: now, Ports: []int32{port}}
	w.answers[name] = a
	return &a
}

// job adds one, and has the pod that is added next be its own.
func (w *town) job(name string) {
	w.jobs.Items = append(w.jobs.Items, batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("job-" + name)}})
}

// runs gives the pod that was added last a container that runs, or is done.
func (w *town) runs(container string, done bool) {
	s := v1.ContainerStatus{Name: container, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	if done {
		s.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
	}
	last := &w.pods.Items[len(w.pods.Items)-1]
	last.Status.ContainerStatuses = append(last.Status.ContainerStatuses, s)
}

// image gives the pod that was added last a container.
func (w *town) image(image string, command ...string) {
	last := &w.pods.Items[len(w.pods.Items)-1]
	last.Spec.Containers = append(last.Spec.Containers, v1.Container{Name: "web", Image: image, Command: command})
}

// says has the log of a pod tell of an error, another's or its own.
func (w *town) says(name, text string, another bool) {
	a := w.answers[name]
	a.Complaints = append(a.Complaints, answer.Complaint{Container: "web", Text: text, Another: another})
	w.answers[name] = a
}

// seenFrom has a pod see connections from another, and whether it works meanwhile.
func (w *town) seenFrom(name, from string, busy float64) {
	a := w.answers[name]
	l := *a.Listening
	l.From, l.Busy = []string{from}, &busy
	a.Listening = &l
	w.answers[name] = a
}

// serves has a pod take requests, whatever happened to it.
func (w *town) serves(name string) {
	for i := range w.pods.Items {
		if w.pods.Items[i].Name == name {
			w.pods.Items[i].Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		}
	}
}

// configure gives the pod that was added last a ConfigMap with that text.
func (w *town) configure(text string) {
	last := &w.pods.Items[len(w.pods.Items)-1]
	last.Spec.Volumes = []v1.Volume{{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}}
	w.maps = map[string]string{"conf": text}
}

func (w *town) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var body any
	parts := strings.Split(r.URL.Path, "/")
	name := parts[len(parts)-1]
	switch {
	case strings.HasSuffix(r.URL.Path, "/proxy/why"):
		name := r.URL.Query().Get("name")
		a, ok := w.answers[name]
		if !ok {
			http.Error(out, (&serve.NotKnownError{Namespace: "shop", Name: name}).Error(), http.StatusNotFound)
			return
		}
		body = typed(a)
	case name == "pods":
		list := w.pods
		if only, err := labels.Parse(r.URL.Query().Get("labelSelector")); err == nil {
			list.Items = slices.DeleteFunc(slices.Clone(list.Items), func(p v1.Pod) bool { return !only.Matches(labels.Set(p.Labels)) })
		}
		body = list
	case strings.Contains(r.URL.Path, "/deployments/"):
		body = w.deployment
	case name == "statefulsets":
		body = w.sets
	case strings.Contains(r.URL.Path, "/statefulsets/"):
		for _, s := range w.sets.Items {
			if s.Name == name {
				body = s
			}
		}
	case name == "nodes":
		body = v1.NodeList{Items: []v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}}
	case name == "services":
		body = w.services
	case name == "jobs":
		body = w.jobs
	case name == "networkpolicies":
		if w.listed++; w.forbidden {
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(http.StatusForbidden)
			fmt.Fprint(out, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
			return
		}
		body = w.policies
	case r.URL.Path == "/apis":
		body = w.groups
	case name == "ciliumnetworkpolicies":
		body = metav1.PartialObjectMetadataList{Items: make([]metav1.PartialObjectMetadata, w.others)}
	case strings.Contains(r.URL.Path, "/pods/"):
		for _, p := range w.pods.Items {
			if p.Name == name {
				body = p
			}
		}
	case strings.Contains(r.URL.Path, "/services/"):
		for _, s := range w.services.Items {
			if s.Name == name {
				body = s
			}
		}
	case strings.Contains(r.URL.Path, "/configmaps/"):
		body = v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: w.maps}
	}
	if body == nil {
		http.NotFound(out, r)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(out).Encode(body); err != nil {
		w.t.Error(err)
	}
}

// typed has an answer say beside its text, as agents do, what that quotes, and what its links rest on.
func typed(a answer.Answer) answer.Answer {
	a.Verdicts, a.Reaches = slices.Clone(a.Verdicts), slices.Clone(a.Reaches)
	for i := range a.Verdicts {
		v := &a.Verdicts[i]
		v.Quotes = append(slices.Clip(v.Quotes), answer.Quote{Role: answer.RoleWords, Text: v.Text})
		for _, before := range []string{"log says: ", "last message: "} {
			if _, said, ok := strings.Cut(v.Text, before); ok {
				v.Quotes = append(v.Quotes, answer.Quote{Role: answer.RoleLog, Text: said})
			}
		}
		if strings.Contains(v.Text, "the readiness probe of container") {
			v.Probe = fact.Readiness
		}
		v.Chain = slices.Clone(v.Chain)
		for j := range v.Chain {
			l := &v.Chain[j]
			l.Status, _ = l.Evidence["status"].(int)
			l.SignedBy, _ = l.Evidence["signedBy"].(string)
			if verdict, ok := l.Evidence["verdict"].(string); ok {
				l.Outcome = fact.Verdict(verdict)
			}
		}
	}
	for i := range a.Reaches {
		if r := &a.Reaches[i]; r.How == answer.ReachSaid && !strings.HasPrefix(r.Text, "its command asks ") && !strings.HasPrefix(r.Text, "the command of its probe asks ") {
			r.Said = r.Text
		}
	}
	return a
}

// ask asks about a pod of the town.
func (w *town) ask(name string) answer.Verdict { return w.about(Target{Kind: "pod", Name: name}) }

func (w *town) about(t Target) answer.Verdict {
	server := httptest.NewServer(w)
	defer server.Close()
	c, err := Connect(&rest.Config{Host: server.URL}, Options{Namespace: "shop"})
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := c.About(w.t.Context(), t)
	if err != nil {
		w.t.Fatal(err)
	}
	w.all = all[0].Verdicts
	return all[0].Verdicts[0]
}

// saysNo is a verdict of an application that answers with a status.
func saysNo(status int) answer.Verdict {
	return answer.Verdict{Cause: answer.AppUnhealthy, Text: "It says no.", Chain: []answer.Link{{Fact: 1, Evidence: map[string]any{"status": status}}}}
}

// signed is one of a server that hands on a page which another signs.
func signed(status int) answer.Verdict {
	v := saysNo(status)
	v.Chain[0].Evidence["signedBy"] = "nginx/1.22.1"
	return v
}

// since has what an answer is about have begun some time ago.
func (w *town) since(name string, ago time.Duration) {
	a := w.answers[name]
	a.Symptoms[0].First = time.Now().UTC().Add(-ago)
	w.answers[name] = a
}

// callsJob has the error of one call the Job that makes what another lacks.
func (w *town) callsJob() {
	w.pod("web1", 80, answer.NotReady, saysNo(503), answer.Reach{Container: "web", Place: "queue2:5672", How: answer.ReachSaid, Text: "amqp://queue2:5672/orders: NOT_ALLOWED - vhost orders not found"})
	w.says("web1", "amqp://queue2:5672/orders: NOT_ALLOWED - vhost orders not found (the vhost is made by the job broker-setup)", true)
	w.pod("queue2", 5672, answer.Healthy, answer.Verdict{Cause: answer.None})
	w.says("queue2", "vhost orders not found", false)
	w.job("broker-setup")
}

// leftPaused is a town where one waits for an answer of a pooler that idles, and a Job that asks the pooler,
// too, failed then, with those words.
func (w *town) leftPaused(says string, ago time.Duration) {
	const late = "no answer came from the pooler within 5 s of asking it"
	w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.AppHang, Text: "It waits."}, answer.Reach{Container: "web", Place: "pooler2:6432", How: answer.ReachAwaits, Text: late})
	w.since("web1", 10*time.Second)
	a := w.answers["web1"]
	a.Verdicts[0].Chain = []answer.Link{
		{At: a.AsOf.Add(-30 * time.Second), Kind: "Probed", Evidence: map[string]any{"verdict": "Success"}},
		{At: a.AsOf.Add(-10 * time.Second), Kind: "Probed", Evidence: map[string]any{"verdict": "Failure"}},
	}
	w.says("web1", late, true)
	w.pod("pooler2", 6432, answer.Healthy, answer.Verdict{Cause: answer.None})
	w.seenFrom("pooler2", "10.42.0.1", 0)
	w.job("maintenance")
	j := &w.jobs.Items[0]
	j.Spec.Template.Spec.Containers = []v1.Container{{Name: "psql", Command: []string{"psql", "-h", "pooler2", "-c", "PAUSE shop"}}}
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-ago))}}
	w.pod("maintenance-x", 1, answer.Failed, answer.Verdict{Cause: answer.AppExitError, Text: fmt.Sprintf("It ended: %q.", says)})
	w.since("maintenance-x", ago)
}

// unmigrated is a town where one says that its database has no table, and a Job that asks the same database,
// too, is done or fails.
func (w *town) unmigrated(done bool) {
	w.pod("web1", 80, answer.NotReady, saysNo(500))
	w.pods.Items[0].Spec.Containers = []v1.Container{{Name: "web", Env: []v1.EnvVar{{Name: "DB", Value: "postgres://db2:5432/shop"}}}}
	w.says("web1", `psycopg2.errors.UndefinedTable: relation "settings" does not exist`, false)
	w.pod("db2", 5432, answer.Healthy, answer.Verdict{Cause: answer.None})
	w.job("migrate")
	j := &w.jobs.Items[0]
	j.Spec.Template.Spec.Containers = []v1.Container{{Name: "psql", Command: []string{"psql", "-h", "db2", "-f", "/sql"}}}
	if done {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: v1.ConditionTrue}}
	}
	w.pod("migrate-x", 1, answer.Failed, answer.Verdict{Cause: answer.AppExitError, Text: "It ended: password authentication failed."})
}

// lacksReplicas is a town where one asks a store that takes nothing without a replica, and one
// that its configuration has ask that store, too, has no node.
func (w *town) lacksReplicas(image string) {
	w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:6379", How: answer.ReachOpen})
	w.since("web1", 10*time.Second)
	w.says("web1", "ResponseError: NOREPLICAS Not enough good replicas to write.", false)
	w.pod("cache2", 6379, answer.Healthy, answer.Verdict{Cause: answer.None})
	w.image("redis:1", "redis-server", "--min-replicas-to-write", "1")
	w.seenFrom("cache2", "10.42.0.1", 0)
	w.pod("replica3", 6379, answer.Pending, answer.Verdict{Cause: answer.NoMatchingNode, Text: "No node has the label disktype=nvme."})
	w.image(image, "redis-server", "--replicaof", "cache2", "6379")
	w.since("replica3", 11*time.Second)
}

// noRoom is a town where the answer has the words of a database behind another, for a cause.
func (w *town) noRoom(cause answer.Cause) {
	full := `could not resize shared memory segment "/PostgreSQL.129" to 4194304 bytes: No space left on device`
	v := saysNo(500)
	v.Cause, v.Text = answer.DiskFull, `Container web says that there is no room: "{\"error\":\"could not resize shared memory segment \\\"/Postgre…"`
	w.pod("web1", 80, answer.NotReady, v, lately("10.43.0.2:8000"))
	w.pod("reports2", 8000, answer.Healthy, answer.Verdict{Cause: answer.None}, lately("10.43.0.3:5432"))
	w.answers["reports2"] = complaining(w.answers["reports2"], answer.Complaint{Container: "web", Text: "ERROR in app: report: " + full, Cause: answer.DiskFull})
	w.pod("db3", 5432, answer.Healthy, answer.Verdict{Cause: answer.None})
	if cause == "" {
		full = "FATAL: something else that is long enough to be found again"
	}
	w.answers["db3"] = complaining(w.answers["db3"], answer.Complaint{Container: "postgres", Text: "ERROR: " + full, Cause: cause})
}

// withheld is a town where one waits in the middle for an answer of a database that idles.
func (w *town) withheld() {
	now := time.Now().UTC()
	v := saysNo(504)
	v.Chain = []answer.Link{{Fact: 1, At: now.Add(-13 * time.Second), Kind: "Probed", Evidence: map[string]any{"verdict": "Success"}}, {Fact: 2, At: now.Add(-10 * time.Second), Kind: "Probed", Evidence: map[string]any{"status": 504, "verdict": "Failure"}}}
	w.pod("web1", 80, answer.NotReady, v, answer.Reach{Container: "web", Place: "10.43.0.2:8000", How: answer.ReachAwaits})
	w.pod("orders2", 8000, answer.Healthy, answer.Verdict{Cause: answer.None}, answer.Reach{Container: "web", Place: "10.43.0.3:5432", How: answer.ReachAwaits, Heard: true, Since: now.Add(-3 * time.Second)})
	w.seenFrom("orders2", "10.42.0.1", 0)
	w.pod("db3", 5432, answer.Healthy, answer.Verdict{Cause: answer.None})
	w.image("postgres:1")
	w.seenFrom("db3", "10.42.0.2", 0)
	a := w.answers["db3"]
	a.Listening.From = append(a.Listening.From, "10.42.0.4")
	w.pod("backup4", 80, answer.Healthy, answer.Verdict{Cause: answer.None})
}

// waitsForRoom has the database that idles have said some time ago, and not since, that it waits for
// room.
func (w *town) waitsForRoom(ago time.Duration) {
	w.answers["db3"] = complaining(w.answers["db3"], answer.Complaint{Container: "web", Text: "[Warning] mariadbd: Disk is full. Waiting for someone to free space...", Before: true, At: time.Now().Add(-ago), Cause: answer.DiskFull})
}

// standby adds a StatefulSet without pods that is to have a copy of the database, whose pod went
// some time ago.
func (w *town) standby(image string, ago time.Duration) {
	set := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "standby"}}
	set.Spec.Replicas = new(int32)
	set.Spec.Template.Spec.Containers = []v1.Container{{Name: "web", Image: image, Command: []string{"pg_basebackup", "-h", "db3"}}}
	w.sets.Items = append(w.sets.Items, set)
	gone := answer.New(answer.Subject{Kind: "Pod", Namespace: "shop", Name: "standby-0"}, time.Now(), answer.Coverage{})
	at := time.Now().Add(-ago)
	gone.Put(answer.Symptom{Kind: answer.Disappeared, First: at, Last: at}, answer.Verdict{Cause: answer.ScaledDown, Text: "StatefulSet standby no longer wanted the pod."})
	w.answers["standby-0"] = gone
}

// outOfLocks is what a database says of a limit of its own, and its clients repeat.
const outOfLocks = "ERROR:  out of shared memory / HINT:  You might need to increase max_locks_per_transaction."

// unregistered is a town where one waits for a task that is given to a worker, by a queue that is well.
func (w *town) unregistered(says string) {
	w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:6379", How: answer.ReachOpen})
	w.says("web1", "celery.exceptions.NotRegistered: 'shop.prices.quote'", false)
	w.configure("redis://redis2:6379/0")
	spec := w.pods.Items[0].Spec
	w.pod("redis2", 6379, answer.Healthy, answer.Verdict{Cause: answer.None})
	w.pod("worker", 80, answer.Healthy, answer.Verdict{Cause: answer.None})
	w.pods.Items[2].Spec = spec
	w.says("worker", says, false)
}

func complaining(a answer.Answer, c answer.Complaint) answer.Answer {
	a.Complaints = append(a.Complaints, c)
	return a
}

func lately(place string) answer.Reach {
	return answer.Reach{Container: "web", Place: place, How: answer.ReachLately, Text: "a connection from it to " + place + " was open less than a minute before"}
}

func refusedAt(place string) answer.Reach {
	return answer.Reach{Container: "web", Place: place, How: answer.ReachSaid, Text: "connection refused"}
}

// waitsAt is the verdict of one that waits for an answer.
func waitsAt(place string) answer.Verdict {
	return answer.Verdict{Cause: answer.DependencyDown, Text: "It waits for an answer of " + place + "."}
}
