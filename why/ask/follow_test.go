package ask

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/kubectl"
)

// A verdict that ends at another's door gets the cause of the last that is waited for; what
// is well there, or over, or a matter of the pod's own, leads nowhere.
func TestFollow(t *testing.T) {
	well := answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."}
	ended := answer.Verdict{Cause: answer.AppExitError, Text: "It ended with exit code 1."}
	oom := answer.Verdict{Cause: answer.MemoryLimit, Text: "It hit its limit."}
	for name, test := range map[string]struct {
		build func(*town)
		want  answer.Cause
		pod   string
		hops  int
	}{
		"its words name a Service": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), refusedAt("db2:5432"))
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppExitError, "shop/db2", 1},
		"its words name an address": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("10.43.0.2:5432"))
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppExitError, "shop/db2", 1},
		"two hops, and who is in the middle has no probe": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("api2:80"))
			w.pod("api2", 80, answer.Healthy, well, refusedAt("db3.shop.svc.cluster.local:5432"))
			w.pod("db3", 5432, answer.Restarted, oom)
		}, answer.MemoryLimit, "shop/db3", 2},
		"they wait for each other": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503), refusedAt("api2:80"))
			w.pod("api2", 80, answer.NotReady, saysNo(503), refusedAt("web1:80"))
		}, answer.AppUnhealthy, "shop/api2", 1},
		"whom it asks is well": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), refusedAt("db2:5432"))
			w.pod("db2", 5432, answer.Healthy, well)
		}, answer.AppUnhealthy, "", 0},
		"what happened there is over": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), refusedAt("db2:5432"))
			a := w.pod("db2", 5432, answer.Restarted, ended)
			a.Symptoms[0].Last = a.AsOf.Add(-time.Hour)
			w.answers["db2"] = *a
		}, answer.AppUnhealthy, "", 0},
		"its own 404": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(404), refusedAt("db2:5432"))
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppUnhealthy, "", 0},
		"an open connection, of one that answers": {func(w *town) {
			w.pod("web1", 80, answer.Restarted, ended, answer.Reach{Container: "web", Place: "10.43.0.2:5432", How: answer.ReachOpen})
			w.pod("db2", 5432, answer.Restarted, oom)
		}, answer.AppExitError, "", 0},
		"an open connection of one that says 500, to one that hangs": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:5432", How: answer.ReachOpen})
			w.pod("db2", 5432, answer.NotReady, answer.Verdict{Cause: answer.ProcessStopped, Text: "It is stopped."})
		}, answer.ProcessStopped, "shop/db2", 1},
		"an open connection of one that says 500, to one that was restarted": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:5432", How: answer.ReachOpen})
			w.pod("db2", 5432, answer.Restarted, ended)
			w.serves("db2")
		}, answer.AppUnhealthy, "", 0},
		"a port that the Service does not have": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), refusedAt("db2:5433"))
			w.pod("db2", 5432, answer.Healthy, well)
		}, answer.ServicePortMismatch, "", 1},
		"it listens on loopback alone": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), refusedAt("db2:5432"))
			a := w.pod("db2", 5432, answer.Healthy, well)
			a.Listening.Ports, a.Listening.Loopback = nil, []int32{5432}
			w.answers["db2"] = *a
		}, answer.AppListensElse, "shop/db2", 1},
		"a gateway whose configuration names it": {func(w *town) {
			v := saysNo(503)
			v.Text = "503 Service Unavailable No server is available to handle this request."
			w.pod("web1", 80, answer.NotReady, v)
			w.configure("server app1 db2:5432 check")
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppExitError, "shop/db2", 1},
		"a gateway whose configuration names several that are not well": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502))
			w.configure("server app1 db2:5432 check\nserver app2 db3:5432 check")
			w.pod("db2", 5432, answer.Restarted, ended)
			w.pod("db3", 5432, answer.Restarted, oom)
		}, answer.AppUnhealthy, "", 0},
		"one that does not say what it cannot reach": {func(w *town) {
			w.pod("web1", 80, answer.Restarted, answer.Verdict{Cause: answer.DependencyDown, Text: "Connection refused."})
			w.configure("DB_HOST=db2:5432")
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppExitError, "shop/db2", 1},
		"a command that says no reason, of one whose log says that another refuses it": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.AppUnhealthy, Text: "The command of its probe exits with 1."})
			w.says("web1", "Error condition on socket for SYNC: Connection refused", true)
			w.configure("replicaof db2 5432")
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppExitError, "shop/db2", 1},
		"a command that says no reason, of one whose log says nothing": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.AppUnhealthy, Text: "The command of its probe exits with 1."})
			w.configure("replicaof db2 5432")
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppUnhealthy, "", 0},
		"a plain 500 of one whose configuration names it": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.configure("DB_HOST=db2:5432")
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppUnhealthy, "", 0},
		"a plain 503 of one that says no reason, and whose configuration names one that is gone": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.configure("DB_HOST=db2:5432")
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppExitError, "shop/db2", 1},
		"a plain 503 of one that says a reason": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.says("web1", "ERROR the license has run out", false)
			w.configure("DB_HOST=db2:5432")
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppUnhealthy, "", 0},
		"a plain 503 of one whose configuration names one that takes requests": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.configure("DB_HOST=db2:5432")
			w.pod("db2", 5432, answer.Restarted, ended)
			w.serves("db2")
		}, answer.AppUnhealthy, "", 0},
		"a plain 503 of one whose configuration names two that are gone": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.configure("DB_HOST=db2:5432 QUEUE=queue3:4222")
			w.pod("db2", 5432, answer.Restarted, ended)
			w.pod("queue3", 4222, answer.Restarted, oom)
		}, answer.AppUnhealthy, "", 0},
		"a plain 503 of one that looked well at its start, while what its configuration names was gone": {func(w *town) {
			now := time.Now().UTC()
			v := saysNo(503)
			v.Chain = append([]answer.Link{{Fact: 2, At: now.Add(-10 * time.Second), Kind: "Probed", Evidence: map[string]any{"verdict": "Success"}}}, v.Chain...)
			w.pod("web1", 80, answer.NotReady, v)
			w.pods.Items[0].Status.ContainerStatuses = []v1.ContainerStatus{{State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-15 * time.Second))}}}}
			w.configure("DB_HOST=db2:5432")
			a := w.pod("db2", 5432, answer.Restarted, ended)
			a.Symptoms[0].First = now.Add(-2 * time.Minute)
			w.answers["db2"] = *a
		}, answer.AppExitError, "shop/db2", 1},
		"a plain 503 of one that was well for long while what its configuration names was gone": {func(w *town) {
			now := time.Now().UTC()
			v := saysNo(503)
			v.Chain = append([]answer.Link{{Fact: 2, At: now.Add(-10 * time.Second), Kind: "Probed", Evidence: map[string]any{"verdict": "Success"}}}, v.Chain...)
			w.pod("web1", 80, answer.NotReady, v)
			w.configure("DB_HOST=db2:5432")
			a := w.pod("db2", 5432, answer.Restarted, ended)
			a.Symptoms[0].First = now.Add(-2 * time.Minute)
			w.answers["db2"] = *a
		}, answer.AppUnhealthy, "", 0},
		"in the middle one that is well, whose configuration names it": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), refusedAt("api2:80"))
			w.pod("api2", 80, answer.Healthy, well)
			w.configure("DB_HOST=db3:5432")
			w.pod("db3", 5432, answer.Restarted, ended)
		}, answer.AppUnhealthy, "", 0},
		"three hops, of which two have no probe: each is seen to be asked, and says what it was answered": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.configure("proxy_pass http://api2:80;")
			w.pod("api2", 80, answer.Healthy, well, answer.Reach{Container: "web", Place: "10.43.0.3:80", How: answer.ReachLately})
			w.says("api2", "HTTP Error 500", true)
			w.seenFrom("api2", "10.42.0.1", 0)
			w.pod("stock3", 80, answer.Healthy, well, refusedAt("db4:5432"))
			w.says("stock3", "connection refused", true)
			w.pod("db4", 5432, answer.Restarted, ended)
		}, answer.AppExitError, "shop/db4", 3},
		"nobody was seen to ask the first of them": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.configure("proxy_pass http://api2:80;")
			w.pod("api2", 80, answer.Healthy, well, refusedAt("db3:5432"))
			w.says("api2", "connection refused", true)
			w.pod("db3", 5432, answer.Restarted, ended)
		}, answer.AppUnhealthy, "", 0},
		"it says itself why it fails, and asks one that fails too": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachLately})
			w.says("web1", "TemplateNotFound: index.html", false)
			w.pod("api2", 80, answer.NotReady, saysNo(500))
		}, answer.AppUnhealthy, "", 0},
		"it asks one that crashes, and was not refused": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachLately})
			w.pod("queue2", 80, answer.Restarted, ended)
			w.serves("queue2")
		}, answer.AppUnhealthy, "", 0},
		"it asks one that crashes, and is refused by its Service": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachLately})
			w.pod("queue2", 80, answer.Restarted, ended)
		}, answer.AppExitError, "shop/queue2", 1},
		"it asks one that crashes, and says a reason of its own": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachLately})
			w.says("web1", "TemplateNotFound: index.html", false)
			w.pod("queue2", 80, answer.Restarted, ended)
		}, answer.AppUnhealthy, "", 0},
		"it asks one that crashes, whose name is in its own error": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachLately})
			w.says("web1", "shop.queue2.NotStored: the order was not stored", false)
			w.pod("queue2", 80, answer.Restarted, ended)
		}, answer.AppExitError, "shop/queue2", 1},
		"its new revision is up, and its probe asks a path that is not there": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachLately})
			w.pod("cart2", 80, answer.NotReady, answer.Verdict{Cause: answer.ProbeWrongPath, Text: "404."})
		}, answer.ProbeWrongPath, "shop/cart2", 1},
		"its error names the place in words of its own": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.says("web1", "RuntimeError: the queue at jobs2:11300 refused the job: OUT_OF_MEMORY", false)
			w.pod("jobs2", 11300, answer.Healthy, well)
			w.says("jobs2", "write: No space left on device", false)
			a := w.answers["jobs2"]
			a.Complaints[0].Cause = answer.DiskFull
		}, answer.DiskFull, "shop/jobs2", 1},
		"its error names a place that is well, and says nothing": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.says("web1", "RuntimeError: the queue at jobs2:11300 refused the job", false)
			w.pod("jobs2", 11300, answer.Healthy, well)
			w.configure("CACHE=cache3:6379")
			w.pod("cache3", 6379, answer.Restarted, ended)
		}, answer.AppUnhealthy, "", 0},
		"it finds none that leads the others, and who tells it so is well": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:26379", How: answer.ReachOpen})
			w.says("web1", "MasterNotFoundError: No master found for 'mymaster'", true)
			w.pod("watch2", 26379, answer.Healthy, well, answer.Reach{Container: "web", Place: "sessions3:6379", How: answer.ReachDialing})
			w.pod("sessions3", 6379, answer.Restarted, oom)
		}, answer.MemoryLimit, "shop/sessions3", 2},
		"who fails it is given nothing at a moment, and says what is wrong": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachAwaits})
			w.pod("api2", 80, answer.Healthy, well)
			w.seenFrom("api2", "10.42.0.1", 0)
			w.says("api2", "SyntaxError: Unexpected token }", false)
		}, answer.AppUnhealthy, "shop/api2", 1},
		"who fails it said something long ago": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachOpen})
			w.pod("api2", 80, answer.Healthy, well)
			w.says("api2", "SyntaxError: Unexpected token }", false)
			w.answers["api2"].Complaints[0].Before = true
		}, answer.AppUnhealthy, "", 0},
		"it was well until what another reads was changed": {func(w *town) {
			now := time.Now().UTC()
			v := saysNo(500)
			v.Chain = []answer.Link{{Fact: 1, At: now.Add(-20 * time.Second), Kind: "Probed", Evidence: map[string]any{"verdict": "Success"}}, {Fact: 2, At: now.Add(-10 * time.Second), Kind: "Probed", Evidence: map[string]any{"status": 500, "verdict": "Failure"}}}
			w.pod("web1", 80, answer.NotReady, v, answer.Reach{Container: "web", Place: "10.43.0.2:3000", How: answer.ReachOpen})
			w.pod("api2", 3000, answer.Healthy, well)
			w.says("api2", "SyntaxError: Unexpected token }", false)
			a := w.answers["api2"]
			a.Changes = []answer.Changed{{At: now.Add(-30 * time.Second), Text: "ConfigMap settings was changed (settings.json)"}}
			w.answers["api2"] = a
		}, answer.ConfigChanged, "shop/api2", 1},
		"what another reads was changed long before": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "10.43.0.2:3000", How: answer.ReachOpen})
			w.pod("api2", 3000, answer.Healthy, well)
			w.says("api2", "SyntaxError: Unexpected token }", false)
			a := w.answers["api2"]
			a.Changes = []answer.Changed{{At: time.Now().Add(-time.Hour), Text: "ConfigMap settings was changed (settings.json)"}}
			w.answers["api2"] = a
		}, answer.AppUnhealthy, "shop/api2", 1},
		"its connection was broken off by one that says why": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.DependencyDown, Text: "It fails."}, answer.Reach{Container: "web", Place: "10.43.0.2:9000", How: answer.ReachSaid, Text: "write tcp 10.42.0.1:56264->10.43.0.2:9000: write: connection reset by peer"})
			w.pod("php2", 9000, answer.Healthy, well)
			w.says("php2", "ERROR: Connection disallowed: IP address '10.42.0.1' has been dropped.", false)
		}, answer.AppUnhealthy, "shop/php2", 1},
		"it waits for a peer of its own, by the name that a headless Service gives it": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.DependencyDown, Text: "It waits."}, refusedAt("db-0.db2:5432"))
			w.pod("db2", 5432, answer.Healthy, well)
			w.services.Items[1].Spec.ClusterIP = v1.ClusterIPNone
			w.pod("db-0", 5432, answer.Restarted, oom)
			w.pods.Items[2].Spec.Subdomain = "db2"
			w.services.Items = w.services.Items[:2]
		}, answer.MemoryLimit, "shop/db-0", 1},
		"a name that stands for another Service": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.DependencyDown, Text: "It waits."}, refusedAt("legacy:5432"))
			w.services.Items = append(w.services.Items, v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "legacy"}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeExternalName, ExternalName: "db2.shop.svc.cluster.local"}})
			w.pod("db2", 5432, answer.Restarted, oom)
		}, answer.MemoryLimit, "shop/db2", 1},
		"a name that stands for a Service of a namespace that is gone, behind one that hands on what it is answered": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503), refusedAt("legacy:5432"))
			w.services.Items = append(w.services.Items, v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "legacy"}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeExternalName, ExternalName: "postgres.staging.svc.cluster.local"}})
		}, answer.DependencyDown, "", 1},
		"a name that stands for a host elsewhere": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503), refusedAt("legacy:5432"))
			w.services.Items = append(w.services.Items, v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "legacy"}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeExternalName, ExternalName: "postgres.example.com"}})
		}, answer.AppUnhealthy, "", 0},
		"a gateway before one that asks a replica by its name, which was scaled away": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachLately})
			w.pod("reports2", 80, answer.Healthy, well, answer.Reach{Container: "web", Place: "cache-1.cache3:6379", How: answer.ReachSaid, Text: "Temporary failure in name resolution"})
			w.says("reports2", "Error -3 connecting to cache-1.cache3:6379. Temporary failure in name resolution.", true)
			w.pod("cache3", 6379, answer.Healthy, well)
			w.services.Items[2].Spec.ClusterIP = v1.ClusterIPNone
			gone := answer.New(answer.Subject{Kind: "Pod", Namespace: "shop", Name: "cache-1"}, time.Now(), answer.Coverage{})
			gone.Put(answer.Symptom{ID: "s1", Kind: answer.Disappeared}, answer.Verdict{Cause: answer.ScaledDown, Text: "StatefulSet cache no longer wanted the pod."})
			w.answers["cache-1"] = gone
		}, answer.ScaledDown, "shop/cache-1", 2},
		"a 404 that another server signs than who answers, and the only one that it asks fails in the same way": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, signed(404), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachLately})
			w.says("web1", "handled request", false)
			w.configure("reverse_proxy pages2:80")
			w.pod("pages2", 80, answer.Restarted, saysNo(404))
		}, answer.AppUnhealthy, "shop/pages2", 1},
		"such a 404, seen only in its configuration and by who is asked": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, signed(404))
			w.configure("reverse_proxy pages2:80")
			w.pod("pages2", 80, answer.Restarted, saysNo(404))
			w.seenFrom("pages2", "10.42.0.1", 0)
		}, answer.AppUnhealthy, "shop/pages2", 1},
		"such a 404 of one whose configuration names nobody else": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, signed(404))
			w.configure("reverse_proxy pages2:80")
			w.pod("pages2", 80, answer.Restarted, saysNo(404))
		}, answer.AppUnhealthy, "shop/pages2", 1},
		"such a 404, and one that crashes, which gave it no answer": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, signed(404), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachLately}, answer.Reach{Container: "web", Place: "10.43.0.3:4222", How: answer.ReachLately})
			w.configure("reverse_proxy pages2:80 queue3:4222")
			w.pod("pages2", 80, answer.Healthy, well)
			w.pod("queue3", 4222, answer.Restarted, ended)
			w.serves("queue3")
		}, answer.AppUnhealthy, "", 0},
		"it waits for a Job, whose pod has no node": {func(w *town) {
			w.pod("web1", 80, answer.NotStarting, answer.Verdict{Cause: answer.InitWaiting, Text: "Init container wait has not ended. Its log says: waiting for job migrate: it is not 42 yet."})
			w.job("migrate")
			w.pod("migrate-x7k2p", 80, answer.Pending, answer.Verdict{Cause: answer.InsufficientResources, Text: "No node has 96 cpu."})
		}, answer.InsufficientResources, "shop/migrate-x7k2p", 1},
		"it waits for a Job that is done but for one that never ends": {func(w *town) {
			w.pod("web1", 80, answer.NotStarting, answer.Verdict{Cause: answer.InitWaiting, Text: "Init container wait has not ended. Its log says: waiting for job migrate: active=1 succeeded=0."})
			w.job("migrate")
			w.pod("migrate-x7k2p", 80, answer.Restarted, answer.Verdict{Cause: answer.AppExitSuccess, Container: "migrate", Text: "It ended with exit code 0."})
			w.runs("migrate", true)
			w.runs("pooler", false)
		}, answer.InitWaiting, "shop/migrate-x7k2p", 1},
		"whom it asks is well and lacks what a Job makes, which its error calls": {func(w *town) {
			w.callsJob()
			w.pod("broker-setup-x7k2p", 80, answer.NotStarting, answer.Verdict{Cause: answer.ConfigMissing, Text: "Secret broker-cookie is not there."})
		}, answer.ConfigMissing, "shop/broker-setup-x7k2p", 1},
		"whom it asks is being deleted, and takes nobody new until it is gone": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503), answer.Reach{Container: "web", Place: "db2:5432", How: answer.ReachSaid, Text: "db2:5432: FATAL: the database system is shutting down"})
			w.says("web1", "db2:5432: FATAL: the database system is shutting down", true)
			w.pod("db2", 5432, answer.Healthy, well)
			w.says("db2", "FATAL: the database system is shutting down", false)
			a := w.answers["db2"]
			a.Symptoms[0].Kind, a.Verdicts[0].Cause, a.Verdicts[0].Text = answer.Terminating, answer.Deleted, "The pod was deleted."
		}, answer.Deleted, "shop/db2", 1},
		"whom it asks is well, and the Job that its error calls is done": {func(w *town) {
			w.callsJob()
			w.jobs.Items[0].Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: v1.ConditionTrue}}
		}, answer.AppUnhealthy, "shop/queue2", 1},
		"it waits for a Job, and what runs on there hangs": {func(w *town) {
			w.pod("web1", 80, answer.NotStarting, answer.Verdict{Cause: answer.InitWaiting, Text: "Init container wait has not ended. Its log says: waiting for job migrate: active=1 succeeded=0."})
			w.job("migrate")
			w.pod("migrate-x7k2p", 80, answer.NotReady, answer.Verdict{Cause: answer.ProcessStopped, Container: "second", Text: "It is stopped."})
			w.runs("first", true)
			w.runs("second", false)
		}, answer.ProcessStopped, "shop/migrate-x7k2p", 1},
		"it was given a failure by whom its command asks, and says not by whom": {func(w *town) {
			w.pod("web1", 80, answer.NotStarting, answer.Verdict{Cause: answer.InitWaiting, Text: "Init container fetch has not ended. Its log says: wget: server returned error: HTTP/1.1 500 Internal Server Error."},
				answer.Reach{Container: "fetch", Place: "settings2", How: answer.ReachSaid, Text: "its command asks settings2"})
			w.pod("settings2", 80, answer.Healthy, well)
			w.says("settings2", "KeyError: 'price'", false)
		}, answer.AppUnhealthy, "shop/settings2", 1},
		"it waits for a Job that is done": {func(w *town) {
			w.pod("web1", 80, answer.NotStarting, answer.Verdict{Cause: answer.InitWaiting, Text: "Init container wait has not ended. Its log says: waiting for job migrate: it is not 42 yet."})
			w.job("migrate")
			w.jobs.Items[0].Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: v1.ConditionTrue}}
			w.pod("migrate-x7k2p", 80, answer.Restarted, ended)
		}, answer.InitWaiting, "", 0},
		"its words say that another failed it, and only one is not well": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.says("web1", "HTTP Error 500", true)
			w.configure("STOCK=http://api2")
			w.pod("api2", 80, answer.NotReady, saysNo(500), refusedAt("db3:5432"))
			w.pod("db3", 5432, answer.Restarted, ended)
		}, answer.AppExitError, "shop/db3", 2},
		"who is asked looks well, and its log has the reason": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500), answer.Reach{Container: "web", Place: "api2:80", How: answer.ReachSaid, Text: "500 Server Error: INTERNAL SERVER ERROR for url: http://api2/"})
			w.pod("api2", 80, answer.Healthy, well)
			w.says("api2", "KeyError: 'price'", false)
		}, answer.AppUnhealthy, "shop/api2", 1},
		"a 504, of one that takes connections and idles": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(504))
			w.configure("server app1 api2:80")
			w.pod("api2", 80, answer.Healthy, well)
			w.seenFrom("api2", "10.42.0.1", 0.01)
		}, answer.AppHang, "shop/api2", 1},
		"a 504, of one that works": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(504), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachOpen})
			w.pod("api2", 80, answer.Healthy, well)
			w.seenFrom("api2", "10.42.0.9", 0.9)
		}, answer.AppOverloaded, "shop/api2", 1},
		"who is asked answers, only later than its own probe allows": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502))
			w.configure("server app1 api2:80")
			w.pod("api2", 80, answer.NotReady, answer.Verdict{Cause: answer.ProbeTimeoutTooShort, Text: "Its answers are correct but late."})
		}, answer.AppUnhealthy, "", 0},
		"who is asked answers, only later than its own probe allows, and its Service refuses": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, waitsAt("api2:80"), refusedAt("api2:80"))
			w.pod("api2", 80, answer.NotReady, answer.Verdict{Cause: answer.ProbeTimeoutTooShort, Text: "Its answers are correct but late."})
		}, answer.ProbeTimeoutTooShort, "shop/api2", 1},
		"a 504, and nothing comes through": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(504))
			w.configure("server app1 api2:80")
			w.pod("api2", 80, answer.Healthy, well)
			w.seenFrom("api2", "10.42.0.9", 0.01)
		}, answer.AppUnhealthy, "", 0},
		"its words name one that is well, and its configuration another that is not": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.DependencyDown, Text: "Connection refused."}, refusedAt("db2:5432"))
			w.configure("QUEUE=queue3:4222")
			w.pod("db2", 5432, answer.Healthy, well)
			w.pod("queue3", 4222, answer.Restarted, ended)
		}, answer.DependencyDown, "", 0},
		"two symptoms, and both lead to the same": {func(w *town) {
			a := w.pod("web1", 80, answer.NotReady, saysNo(500), refusedAt("db2:5432"))
			a.Put(answer.Symptom{ID: "s0", Kind: answer.Restarted, Last: a.AsOf}, answer.Verdict{Cause: answer.DependencyDown, Text: "Refused.", Certainty: answer.Inferred})
			w.answers["web1"] = *a
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppExitError, "shop/db2", 1},
		"it waits for the answer of one that works": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, waitsAt("10.43.0.2:80"), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachAwaits})
			w.pod("api2", 80, answer.Healthy, well)
			w.seenFrom("api2", "10.42.0.1", 0.9)
		}, answer.AppOverloaded, "shop/api2", 1},
		"it waits for the answer of one that idles": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, waitsAt("10.43.0.2:80"), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachAwaits})
			w.pod("api2", 80, answer.Healthy, well)
			w.seenFrom("api2", "10.42.0.1", 0)
		}, answer.AppHang, "shop/api2", 1},
		"it waits for one that idles, and what that one's configuration names is not well": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, waitsAt("10.43.0.2:80"), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachAwaits})
			w.pod("api2", 80, answer.Healthy, well)
			w.seenFrom("api2", "10.42.0.1", 0)
			w.configure("DB_HOST=db3:5432")
			w.pod("db3", 5432, answer.Restarted, ended)
			w.serves("db3")
		}, answer.DependencyDown, "", 0},
		"it waits for one that its own CPU limit stalls": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, waitsAt("10.43.0.2:5432"), answer.Reach{Container: "web", Place: "10.43.0.2:5432", How: answer.ReachAwaits})
			w.pod("db2", 5432, answer.Healthy, well)
			w.seenFrom("db2", "10.42.0.1", 0.1)
			w.answers["db2"].Listening.Throttled = "its own CPU limit of 100m stalled container postgres in 18 of 20 periods within 2 s"
		}, answer.CPUThrottled, "shop/db2", 1},
		"it was hung up on by a broker that says why": {func(w *town) {
			said := "meters: disconnected by mqtt2:1883 after 1 s"
			w.pod("web1", 80, answer.Restarted, ended, answer.Reach{Container: "web", Place: "mqtt2:1883", How: answer.ReachSaid, Text: said})
			w.says("web1", said, true)
			w.pod("mqtt2", 1883, answer.Healthy, well)
			w.seenFrom("mqtt2", "10.42.0.1", 0)
			w.says("mqtt2", "Client meters already connected, closing old connection.", false)
		}, answer.AppUnhealthy, "shop/mqtt2", 1},
		"it is slow, and was a moment ago at one that its own CPU limit stalls": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.AppOverloaded, Text: "It became slow."}, lately("10.43.0.2:5432"))
			w.pod("db2", 5432, answer.Healthy, well)
			w.seenFrom("db2", "10.42.0.1", 0.1)
			w.answers["db2"].Listening.Throttled = "its own CPU limit of 100m stalled container postgres in 18 of 20 periods within 2 s"
		}, answer.CPUThrottled, "shop/db2", 1},
		"it may be slow, and was a moment ago at one that its own CPU limit stalls": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.CauseUnknown, Possible: []answer.Cause{answer.AppOverloaded, answer.AppHang}}, lately("10.43.0.2:5432"))
			w.pod("db2", 5432, answer.Healthy, well)
			w.seenFrom("db2", "10.42.0.1", 0.1)
			w.answers["db2"].Listening.Throttled = "its own CPU limit of 100m stalled container postgres in 18 of 20 periods within 2 s"
		}, answer.CPUThrottled, "shop/db2", 1},
		"it is slow, and was a moment ago at one that idles": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.AppOverloaded, Text: "It became slow."}, lately("10.43.0.2:5432"))
			w.pod("db2", 5432, answer.Healthy, well)
			w.seenFrom("db2", "10.42.0.1", 0)
		}, answer.AppOverloaded, "", 0},
		"it was told 503 by a gateway that says nothing, and who stands behind that says why": {func(w *town) {
			told := "GET http://proxy2:80/prices: 503 Service Unavailable"
			w.pod("web1", 80, answer.NotReady, saysNo(502), answer.Reach{Container: "web", Place: "proxy2:80", How: answer.ReachSaid, Text: told})
			w.says("web1", told, true)
			w.pod("proxy2", 80, answer.Healthy, well, lately("10.43.0.3:80"))
			w.pod("prices3", 80, answer.Healthy, well)
			w.seenFrom("prices3", "10.42.0.2", 0.1)
			w.says("prices3", "[error] limiting requests, excess: 2.5", false)
		}, answer.AppUnhealthy, "shop/prices3", 2},
		"it is refused by its neighbour in the pod, which reaches its database": {func(w *town) {
			w.pod("web1", 80, answer.Restarted, answer.Verdict{Cause: answer.DependencyDown, Text: "It could not reach 127.0.0.1."}, refusedAt("127.0.0.1:6432"), answer.Reach{Container: "pooler", Place: "10.43.0.2:5432", How: answer.ReachOpen})
			w.pod("db2", 5432, answer.NotReady, saysNo(503))
		}, answer.DependencyDown, "", 0},
		"it waits for the answer of one that idles, and answers others": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, waitsAt("10.43.0.2:80"), answer.Reach{Container: "web", Place: "10.43.0.2:80", How: answer.ReachAwaits, Heard: true})
			w.pod("api2", 80, answer.Healthy, well)
			w.seenFrom("api2", "10.42.0.1", 0)
		}, answer.DependencyDown, "", 0},
		"its answer calls by its name who fails": {func(w *town) {
			v := saysNo(503)
			v.Text = `The application itself answers with 503 ("components.db2.details.error: no connection, components.db2.status: DOWN, status: DOWN").`
			w.pod("web1", 80, answer.NotReady, v)
			w.configure("DB_HOST=db2:5432 QUEUE=queue3:4222")
			w.pod("db2", 5432, answer.Restarted, ended)
			w.pod("queue3", 4222, answer.Restarted, oom)
		}, answer.AppExitError, "shop/db2", 1},
		"its connection was broken off, and one that it asks is refused what it needs": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503), lately("10.43.0.2:6432"), lately("10.43.0.4:6379"))
			w.says("web1", "ERROR in app: database check failed: server closed the connection unexpectedly", true)
			w.pod("pooler2", 6432, answer.Healthy, well)
			w.says("pooler2", `ERROR S: login failed: FATAL: password authentication failed for user "shop"`, false)
			w.pod("cache4", 6379, answer.Healthy, well)
		}, answer.AppUnhealthy, "shop/pooler2", 1},
		"its connection was broken off by one that does not reach a database without room": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503), lately("10.43.0.2:6432"))
			w.says("web1", "ERROR in app: database check failed: server closed the connection unexpectedly", true)
			w.pod("pooler2", 6432, answer.Healthy, well, answer.Reach{Container: "web", Place: "10.43.0.3:5432", How: answer.ReachLately})
			w.says("pooler2", "LOG S-0x5560f60e9c30: shop/shop@10.43.0.3:5432 closing because: connect failed (age=0s)", true)
			w.pod("db3", 5432, answer.Restarted, answer.Verdict{Cause: answer.DiskFull, Text: "No space left on device."})
		}, answer.DiskFull, "shop/db3", 2},
		"its connection was broken off, and two that it asks are not well": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503), lately("10.43.0.2:6432"), lately("10.43.0.3:6379"))
			w.says("web1", "ERROR in app: server closed the connection unexpectedly", true)
			w.pod("pooler2", 6432, answer.Restarted, ended)
			w.pod("cache3", 6379, answer.Restarted, oom)
		}, answer.AppUnhealthy, "", 0},
		"in the middle one that idles, for it waits for another": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), answer.Reach{Container: "web", Place: "10.43.0.2:8000", How: answer.ReachAwaits})
			w.pod("orders2", 8000, answer.Healthy, well, answer.Reach{Container: "web", Place: "10.43.0.3:5432", How: answer.ReachDialing})
			w.seenFrom("orders2", "10.42.0.1", 0)
			w.says("orders2", `ERROR in app: connection to server at "db3" (10.43.0.3), port 5432 failed: timeout expired`, true)
			w.pod("db3", 5432, answer.Healthy, well)
		}, answer.DependencyDown, "shop/orders2", 1},
		"in the middle one to whose connections nobody answers, though there is room for them": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), answer.Reach{Container: "web", Place: "10.43.0.2:8000", How: answer.ReachAwaits})
			w.pod("orders2", 8000, answer.Healthy, well, answer.Reach{Container: "web", Place: "10.43.0.3:5432", How: answer.ReachDialing})
			w.seenFrom("orders2", "10.42.0.1", 0)
			w.says("orders2", `ERROR in app: connection to server at "db3" (10.43.0.3), port 5432 failed: timeout expired`, true)
			w.pod("db3", 5432, answer.Healthy, well)
			w.answers["db3"].Listening.Room = []int32{5432}
		}, answer.NetworkBlocked, "", 2},
		"in the middle one that asks for a connection, and says nothing": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), answer.Reach{Container: "web", Place: "10.43.0.2:8000", How: answer.ReachAwaits})
			w.pod("orders2", 8000, answer.Healthy, well, answer.Reach{Container: "web", Place: "10.43.0.3:5432", How: answer.ReachDialing})
			w.pod("db3", 5432, answer.Healthy, well)
			w.answers["db3"].Listening.Room = []int32{5432}
		}, answer.AppUnhealthy, "", 0},
		"in the middle one that hands on that it does not reach another": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), lately("10.43.0.2:8000"))
			w.pod("orders2", 8000, answer.Healthy, well)
			w.says("orders2", `ERROR in app: connection to server at "db3" (10.43.0.3), port 5432 failed: timeout expired`, true)
			w.pod("db3", 5432, answer.Healthy, well)
		}, answer.DependencyDown, "shop/orders2", 1},
		"in the middle one whose workers were ended at their work for others": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(504), answer.Reach{Container: "web", Place: "10.43.0.2:8000", How: answer.ReachAwaits})
			w.pod("shop2", 8000, answer.Healthy, well, answer.Reach{Container: "web", Place: "10.43.0.3:6379", How: answer.ReachOpen})
			w.seenFrom("shop2", "10.42.0.1", 0)
			w.answers["shop2"] = complaining(w.answers["shop2"], answer.Complaint{Container: "web", Text: "[CRITICAL] WORKER TIMEOUT (pid:7)"})
			w.pod("cache3", 6379, answer.Healthy, well)
		}, answer.AppUnhealthy, "shop/shop2", 1},
		"whom it asks is well and lacks replicas, and one that is to be its replica has no node": {func(w *town) {
			w.lacksReplicas("redis:1")
		}, answer.NoMatchingNode, "shop/replica3", 2},
		"whom it asks is well and lacks replicas, and one that is not well runs something else": {func(w *town) {
			w.lacksReplicas("postgres:1")
		}, answer.AppUnhealthy, "", 0},
		"in the middle one that waits for the answer of one that idles, and that another asks, too": {func(w *town) {
			w.withheld()
		}, answer.DependencyDown, "shop/db3", 2},
		"in the middle one that has waited for work since it was well": {func(w *town) {
			w.withheld()
			w.answers["orders2"].Reaches[0].Since = time.Now().Add(-time.Hour)
		}, answer.AppHang, "shop/orders2", 1},
		"in the middle one that waits for the answer of one whose standby was scaled away": {func(w *town) {
			w.withheld()
			w.standby("postgres:1", 12*time.Second)
		}, answer.ScaledDown, "shop/standby-0", 3},
		"in the middle one that waits for the answer of one that waits for room, as it said once": {func(w *town) {
			w.withheld()
			w.waitsForRoom(9 * time.Second)
		}, answer.DiskFull, "shop/db3", 2},
		"of one that waited for room before all was well": {func(w *town) {
			w.withheld()
			w.waitsForRoom(time.Minute)
		}, answer.DependencyDown, "shop/db3", 2},
		"whose standby was scaled away long before": {func(w *town) {
			w.withheld()
			w.standby("postgres:1", time.Hour)
		}, answer.DependencyDown, "shop/db3", 2},
		"its answer has what a database says of its own disk, behind one that repeats it": {func(w *town) {
			w.noRoom(answer.DiskFull)
		}, answer.DiskFull, "shop/db3", 2},
		"its answer is of a full disk, and the database says something else": {func(w *town) {
			w.noRoom("")
		}, answer.DiskFull, "shop/reports2", 1},
		"it ended with what its database says of its own limits": {func(w *town) {
			w.pod("web1", 80, answer.Failed, answer.Verdict{Cause: answer.AppExitError, Text: "It ended.", LastWords: []string{"pg_dump: error: query failed: " + outOfLocks, "pg_dump: detail: Query was: LOCK TABLE public.orders_15_16"}})
			w.configure("pg_dump -h db2")
			w.pod("db2", 5432, answer.Healthy, well)
			w.says("db2", outOfLocks, false)
		}, answer.AppUnhealthy, "shop/db2", 1},
		"another repeats it too, and has it from the database": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.says("web1", "pq: "+outOfLocks, false)
			w.configure("API=http://api2 DB=db3")
			w.pods.Items[0].Spec.Volumes, w.pods.Items[0].Spec.Containers = nil, []v1.Container{{Name: "web", Args: []string{"--api=http://api2", "--log=db3"}}}
			w.pod("api2", 80, answer.Healthy, well)
			w.says("api2", "psycopg2.OperationalError: "+outOfLocks, false)
			w.pods.Items[1].Spec.Containers = []v1.Container{{Name: "web", Args: []string{"--db=db3"}}}
			w.pod("db3", 5432, answer.Healthy, well)
			w.says("db3", outOfLocks, false)
		}, answer.AppUnhealthy, "shop/db3", 2},
		"two say so of themselves": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.says("web1", outOfLocks, false)
			w.configure("DB=db2 OTHER=db3")
			w.pods.Items[0].Spec.Volumes, w.pods.Items[0].Spec.Containers = nil, []v1.Container{{Name: "web", Args: []string{"--db=db2", "--other=db3"}}}
			w.pod("db2", 5432, answer.Healthy, well)
			w.says("db2", outOfLocks, false)
			w.pod("db3", 5432, answer.Healthy, well)
			w.says("db3", outOfLocks, false)
		}, answer.AppUnhealthy, "", 0},
		"its database said so long ago": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.says("web1", outOfLocks, false)
			w.configure("pg_dump -h db2")
			w.pod("db2", 5432, answer.Healthy, well)
			w.answers["db2"] = complaining(w.answers["db2"], answer.Complaint{Container: "web", Text: outOfLocks, Before: true})
		}, answer.AppUnhealthy, "", 0},
		"its own query is wrong, as its database says, too": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(500))
			w.says("web1", `psycopg2.errors.UndefinedTable: relation "orders_of_2024" does not exist`, false)
			w.configure("DB_HOST=db2")
			w.pod("db2", 5432, answer.Healthy, well)
			w.says("db2", `ERROR:  relation "orders_of_2024" does not exist at character 15`, false)
		}, answer.AppUnhealthy, "", 0},
		"what it misses went with the end of a store": {func(w *town) {
			w.pod("web1", 80, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Container: "web", Text: "It ended.", LastWords: []string{"redis.exceptions.ResponseError: NOGROUP No such key 'orders' or consumer group 'billing' in XREADGROUP with GROUP option"}})
			w.configure("REDIS_URL=redis://db2:6379/0")
			w.pod("db2", 6379, answer.Restarted, ended)
			w.serves("db2")
		}, answer.AppExitError, "shop/db2", 1},
		"a member of its health check is another workload that is not well": {func(w *town) {
			no := saysNo(503)
			no.Text = `It answers with 503 ("scheduler.latest_heartbeat: 18:53, scheduler.status: unhealthy").`
			w.pod("web1", 80, answer.NotReady, no)
			w.since("web1", time.Minute)
			w.pod("scheduler", 80, answer.NotStarting, answer.Verdict{Cause: answer.ConfigMissing, Container: "scheduler", Text: "A key is missing."})
			w.since("scheduler", 50*time.Second)
		}, answer.ConfigMissing, "shop/scheduler", 1},
		"its client has no certificate of its own to show": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.says("web1", `connection to server at "db2", port 5432 failed: could not open certificate file "/root/.postgresql/postgresql.crt": Permission denied`, false)
			w.pod("db2", 5432, answer.Healthy, well)
			w.says("db2", `FATAL:  connection requires a valid client certificate`, false)
		}, answer.AppUnhealthy, "", 0},
		"its task is thrown away by a worker of the same queue": {func(w *town) {
			w.unregistered("Received unregistered task of type 'shop.prices.quote'.")
		}, answer.AppUnhealthy, "shop/worker", 1},
		"a worker of the same queue has trouble with another task": {func(w *town) {
			w.unregistered("Received unregistered task of type 'shop.prices.quote_all'.")
		}, answer.AppUnhealthy, "", 0},
		"a worker of the same queue only says the same": {func(w *town) {
			w.unregistered("celery.exceptions.NotRegistered: the task 'shop.prices.quote' is not one of those")
			w.says("web1", "celery.exceptions.NotRegistered: the task 'shop.prices.quote' is not one of those", false)
		}, answer.AppUnhealthy, "", 0},
		"two workers of the same queue say what is wrong with its task": {func(w *town) {
			w.unregistered("Received unregistered task of type 'shop.prices.quote'.")
			p := w.pods.Items[2]
			w.pod("mailer", 80, answer.Healthy, well)
			w.pods.Items[3].Spec = p.Spec
			w.says("mailer", "Received unregistered task of type 'shop.prices.quote'.", false)
		}, answer.AppUnhealthy, "", 0},
		"its answer is of a full disk, and whom it asks crashes": {func(w *town) {
			v := saysNo(500)
			v.Cause, v.Text = answer.DiskFull, "Container web says that there is no room."
			w.pod("web1", 80, answer.NotReady, v, refusedAt("db2:5432"))
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.DiskFull, "", 0},
		"its error names a workload that was not well before": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.says("web1", "ERROR in app: queue mail of mailer: 16 jobs wait, 0 Sidekiq processes", false)
			w.since("web1", 10*time.Second)
			w.pod("mailer", 80, answer.Restarted, ended)
			w.since("mailer", time.Minute)
		}, answer.AppExitError, "shop/mailer", 1},
		"its error names a workload that was well before": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.says("web1", "ERROR in app: queue mail of mailer: 16 jobs wait, 0 Sidekiq processes", false)
			w.since("web1", time.Minute)
			w.pod("mailer", 80, answer.Restarted, ended)
			w.since("mailer", 10*time.Second)
		}, answer.AppUnhealthy, "", 0},
		"its error has a common word that one is called by": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.says("web1", "TemplateNotFound: the page of the queue is missing", false)
			w.since("web1", 10*time.Second)
			w.pod("queue", 80, answer.Restarted, ended)
			w.since("queue", time.Minute)
		}, answer.AppUnhealthy, "", 0},
		"its error has the name of one that crashes for a word of its own": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.says("web1", "ERROR asked in mailer text", false)
			w.since("web1", 10*time.Second)
			w.pod("mailer", 80, answer.Restarted, ended)
			w.since("mailer", time.Minute)
		}, answer.AppUnhealthy, "", 0},
		"one that asked it is named by its error": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.says("web1", "KeyError: 'price' in a request from mailer", false)
			w.since("web1", 10*time.Second)
			w.pod("mailer", 80, answer.Restarted, ended)
			w.since("mailer", time.Minute)
		}, answer.AppUnhealthy, "", 0},
		"a Job that failed asks the same": {func(w *town) {
			w.leftPaused("the Job's own error", 20*time.Second)
		}, answer.AppExitError, "shop/maintenance-x", 2},
		"its database has no tables, and the Job that makes them is not done": {func(w *town) {
			w.unmigrated(false)
		}, answer.AppExitError, "shop/migrate-x", 1},
		"its database has no tables, and the Job that makes them is done": {func(w *town) {
			w.unmigrated(true)
		}, answer.AppUnhealthy, "", 0},
		"it ends as it reaches nobody, and one that it is configured for is not well": {func(w *town) {
			w.pod("web1", 80, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "It ended.", LastWords: []string{"Traceback (most recent call last):", "pika.exceptions.AMQPConnectionError"}})
			w.pods.Items[0].Spec.Containers = []v1.Container{{Name: "web", Env: []v1.EnvVar{{Name: "AMQP_URL", Value: "amqp://queue2:5672/"}}}}
			w.pod("queue2", 5672, answer.NotReady, answer.Verdict{Cause: answer.AppUnhealthy, Text: "It says no."})
		}, answer.AppUnhealthy, "shop/queue2", 1},
		"it ends for something else, and one that it is configured for is not well": {func(w *town) {
			w.pod("web1", 80, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "It ended.", LastWords: []string{"Traceback (most recent call last):", "KeyError: 'SECRET'"}})
			w.pods.Items[0].Spec.Containers = []v1.Container{{Name: "web", Env: []v1.EnvVar{{Name: "AMQP_URL", Value: "amqp://queue2:5672/"}}}}
			w.pod("queue2", 5672, answer.NotReady, answer.Verdict{Cause: answer.AppUnhealthy, Text: "It says no."})
		}, answer.AppExitError, "", 0},
		"it ends, its last words have whom it asks, and a Job that asks there failed": {func(w *town) {
			w.pod("web1", 80, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "The main process of container web ended by itself with exit code 1; its last message: redis.exceptions.RedisClusterException: All slots are not covered.", LastWords: []string{
				"INFO carts: connecting to [[host=shard-0.shard2,port=6379]]", "redis.exceptions.RedisClusterException: All slots are not covered after query all startup_nodes.",
			}})
			w.since("web1", 0)
			w.pods.Items[0].Spec.Containers = []v1.Container{{Name: "web", Env: []v1.EnvVar{{Name: "REDIS", Value: "shard-0.shard2:6379"}}}}
			w.pod("shard2", 6379, answer.Healthy, well)
			w.services.Items[1].Spec.ClusterIP = v1.ClusterIPNone
			w.job("cluster-init")
			j := &w.jobs.Items[0]
			j.Spec.Template.Spec.Containers = []v1.Container{{Name: "cli", Command: []string{"redis-cli", "--cluster", "create", "shard-0.shard2:6379"}}}
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now()}}
			w.pod("cluster-init-x", 1, answer.Failed, answer.Verdict{Cause: answer.AppExitError, Text: `The main process of container cli ended by itself with exit code 1; its last message: [ERR] Node shard-0.shard2:6379 is not empty.`})
		}, answer.AppExitError, "shop/cluster-init-x", 1},
		"a Job that failed long before": {func(w *town) {
			w.leftPaused("the Job's own error", time.Hour)
		}, answer.AppHang, "shop/pooler2", 1},
		"a Job that failed for the same words": {func(w *town) {
			w.leftPaused("no answer came from the pooler within 5 s of asking it", 20*time.Second)
		}, answer.AppHang, "shop/pooler2", 1},
		"a Service selects another's pod, and the one of its name has the port": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("api2:80"))
			w.pod("api2", 80, answer.Healthy, well)
			w.pods.Items[1].Spec.Containers = []v1.Container{{Name: "api", Ports: []v1.ContainerPort{{ContainerPort: 80}}}}
			w.pod("other3", 8761, answer.Healthy, well)
			w.services.Items[1].Spec.Selector = map[string]string{"app": "other3"}
		}, answer.SelectorMismatch, "", 1},
		"a Service selects another's pod, and none of its name has the port": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("api2:80"))
			w.pod("api2", 80, answer.Healthy, well)
			w.pod("other3", 8761, answer.Healthy, well)
			w.services.Items[1].Spec.Selector = map[string]string{"app": "other3"}
			for i := range w.pods.Items {
				w.pods.Items[i].CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
			}
		}, answer.ServicePortMismatch, "shop/other3", 1},
		"a Service has the port for UDP alone": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("api2:80"))
			w.pod("api2", 80, answer.Healthy, well)
			w.services.Items[1].Spec.Ports[0].Protocol = v1.ProtocolUDP
		}, answer.ServicePortMismatch, "", 1},
		"a Service has the port for UDP and for TCP": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("api2:80"))
			w.pod("api2", 80, answer.Healthy, well)
			w.services.Items[1].Spec.Ports = []v1.ServicePort{{Port: 80, Protocol: v1.ProtocolUDP}, {Port: 80, Protocol: v1.ProtocolTCP}}
		}, answer.AppUnhealthy, "", 0},
		"a word of its configuration has the name in it": {func(w *town) {
			w.pod("web1", 80, answer.NotReady, saysNo(503))
			w.pods.Items[0].Spec.Containers = []v1.Container{{Command: []string{"serve", "--config=/etc/my-db2.conf"}}}
			w.pod("db2", 5432, answer.Restarted, ended)
		}, answer.AppUnhealthy, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &town{t: t, answers: map[string]answer.Answer{}}
			test.build(w)
			v := w.ask("web1")
			if more := w.all[1:]; len(more) > 0 && more[0].Pod != test.pod {
				t.Errorf("the other symptom: %+v", more)
			}
			if v.Cause != test.want || v.Pod != test.pod || len(v.Hops) != test.hops {
				t.Errorf("%s of %q by %d hops, want %s of %q by %d: %s", v.Cause, v.Pod, len(v.Hops), test.want, test.pod, test.hops, v.Text)
			}
		})
	}
}

// A place that only an answer names need not be asked by who gives it.
func TestAnswerNames(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	named := refusedAt("db2:5432")
	named.Fact = 1
	w.pod("web1", 80, answer.NotReady, saysNo(503), named)
	w.pod("db2", 5432, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "It ended."})
	if v := w.ask("web1"); len(v.Hops) != 1 || !strings.Contains(v.Hops[0].By, "the answer of container web names Service shop/db2") {
		t.Errorf("%+v", v.Hops)
	}
}

// Where one hands on an answer, and the only Service that its configuration names is well, that is named.
func TestHandedOn(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	w.pod("web1", 80, answer.NotReady, signed(400))
	w.configure("reverse_proxy account2:8443")
	w.pod("account2", 8443, answer.Healthy, answer.Verdict{Cause: answer.None})
	if v := w.ask("web1"); v.Cause != answer.AppUnhealthy || !strings.Contains(v.Text, "Behind it is Service shop/account2") {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
	w = &town{t: t, answers: map[string]answer.Answer{}}
	nobody := saysNo(503)
	nobody.Text = "It says: No server is available to handle this request."
	w.pod("web1", 80, answer.NotReady, nobody)
	w.configure("server app1 account2:8443 check")
	w.pod("account2", 8443, answer.Healthy, answer.Verdict{Cause: answer.None})
	v := w.ask("web1")
	if n := len(v.Fixes); v.Cause != answer.AppUnhealthy || !strings.Contains(v.Text, "and its pods are ready") || n != 2 || !strings.Contains(v.Fixes[0].Text, "its own health check") {
		t.Errorf("%s: %s %+v", v.Cause, v.Text, v.Fixes)
	}
}

// Who is not let in by whom it asks is told what that says of it.
func TestNotLetIn(t *testing.T) {
	for name, test := range map[string]struct {
		says string
		want answer.Cause
	}{
		"it says why":         {"Authentication refused: bad ownership or modes for directory /home/feed/.ssh", answer.AppUnhealthy},
		"it says nothing now": {"", answer.AppExitError},
	} {
		t.Run(name, func(t *testing.T) {
			const said = "feed@sftp2: Permission denied (publickey)."
			w := &town{t: t, answers: map[string]answer.Answer{}}
			w.pod("web1", 80, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "It ended; its last message: " + said}, answer.Reach{Container: "web", Place: "sftp2", How: answer.ReachSaid, Text: said})
			w.pod("sftp2", 2222, answer.Healthy, answer.Verdict{Cause: answer.None})
			if test.says != "" {
				w.says("sftp2", test.says, false)
			}
			if v := w.ask("web1"); v.Cause != test.want || !strings.Contains(v.Text, test.says) || (v.Pod != "") != (test.says != "") {
				t.Errorf("%s of %q: %s", v.Cause, v.Pod, v.Text)
			}
		})
	}
}

// Who asks a pod that its StatefulSet does not make yet is told for whom that waits.
func TestNotMadeYet(t *testing.T) {
	for name, test := range map[string]struct {
		replicas int32
		policy   appsv1.PodManagementPolicyType
		there    bool
		want     bool
	}{
		"the one before it is not ready": {replicas: 2, want: true},
		"all are made at once":           {replicas: 2, policy: appsv1.ParallelPodManagement},
		"it is not to be":                {replicas: 1},
		"it is there":                    {replicas: 2, there: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &town{t: t, answers: map[string]answer.Answer{}}
			asks := answer.Verdict{Cause: answer.DependencyDown, Container: "web", Text: "Container web fails because it cannot reach sessions-1.sessions:11211, which it needs."}
			w.pod("web1", 80, answer.NotReady, asks, refusedAt("sessions-1.sessions:11211"))
			w.pod("sessions-0", 11211, answer.NotReady, answer.Verdict{Cause: answer.ProbeWrongPort, Text: "The probe asks on port 11212."})
			w.services.Items = []v1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sessions"}, Spec: v1.ServiceSpec{ClusterIP: v1.ClusterIPNone, Selector: map[string]string{"app": "sessions-0"}}}}
			set := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sessions"}, Spec: appsv1.StatefulSetSpec{Replicas: &test.replicas, ServiceName: "sessions", PodManagementPolicy: test.policy}}
			w.sets.Items = []appsv1.StatefulSet{set}
			w.pods.Items[1].OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
			if test.there {
				w.pods.Items = append(w.pods.Items, v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sessions-1"}})
			}
			v := w.ask("web1")
			const step = "Pod sessions-1 does not exist: StatefulSet sessions makes it only when sessions-0 is Ready. Container web fails because"
			if v.Cause != answer.ProbeWrongPort || strings.Contains(v.Text, step) != test.want {
				t.Errorf("%s: %s", v.Cause, v.Text)
			}
		})
	}
}

// What to do about the pod to which it leads is said at once.
func TestLeadsToWhatToDo(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("db2:5432"))
	ended := answer.Verdict{Cause: answer.AppExitError, Text: "It ended with exit code 1."}
	for _, text := range []string{"a", "b", "c", "d"} {
		ended.Fixes = append(ended.Fixes, answer.Fix{Text: text, Risk: answer.Inspect})
	}
	w.pod("db2", 5432, answer.Restarted, ended)
	v := w.ask("web1")
	if n := len(v.Fixes); n != 4 || v.Fixes[0].Text != "a" || v.Fixes[1].Risk == answer.Inspect || v.Fixes[3].Text != "c" {
		t.Errorf("%+v", v.Fixes)
	}
	// Where nobody knows what to do there, what is known of it.
	ended.Fixes = nil
	w.pod("web3", 80, answer.NotReady, saysNo(502), refusedAt("db4:5432"))
	w.pod("db4", 5432, answer.Restarted, ended)
	if v := w.ask("web3"); len(v.Fixes) != 2 || v.Fixes[0].Command != "kubectl why -n shop pod/db4" {
		t.Errorf("%+v", v.Fixes)
	}
	// A Service goes by its name once.
	w.pod("web5", 80, answer.NotReady, saysNo(502), refusedAt("db6:5433"))
	w.pod("db6", 5432, answer.Healthy, answer.Verdict{Cause: answer.None})
	if v := w.ask("web5"); !strings.HasPrefix(v.Text, "The reason is Service shop/db6: It has no port 5433; it has 5432.") || !strings.HasPrefix(v.Hops[0].Text, "It has no port") {
		t.Errorf("%s", v.Text)
	}
}

// The first that is to be done about the pod that is to blame is in its ConfigMap, where its words
// name a line of that.
func TestShowsTheLine(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("db2:5432"))
	ended := answer.Verdict{Cause: answer.AppExitError, Container: "db", Text: "It ended with exit code 1; its last message: unrecognized parameter in /etc/db/conf:2."}
	w.pod("db2", 5432, answer.Restarted, ended)
	w.configure("port = 5432\nshared_bufers = 1GB\n")
	w.pods.Items[1].Spec.Containers = []v1.Container{{Name: "db", VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/etc/db"}}}}
	for _, name := range []string{"web1", "db2"} {
		v := w.ask(name)
		if f := v.Fixes[0]; !strings.Contains(f.Text, "line 2 of conf in ConfigMap conf (“shared_bufers = 1GB”)") || f.Command != "kubectl -n shop edit configmap conf && kubectl -n shop get pod db2 -o yaml | kubectl replace --force -f -" {
			t.Errorf("%s: %+v", name, v.Fixes)
		}
	}
}

// A pod that is out of service because of one container shares that container's reason.
func TestSharesItsReason(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	a := w.pod("web1", 80, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "It ended with exit code 1."}, refusedAt("db2:5432"))
	a.Symptoms[0].Container = "web"
	a.Put(answer.Symptom{ID: "s2", Kind: answer.NotReady}, answer.Verdict{Cause: answer.SiblingNotReady, Container: "web", Certainty: answer.Recorded})
	a.Put(answer.Symptom{ID: "s3", Kind: answer.NotReady}, answer.Verdict{Cause: answer.SiblingNotReady, Container: "log", Certainty: answer.Recorded})
	w.answers["web1"] = *a
	w.pod("db2", 5432, answer.Restarted, answer.Verdict{Cause: answer.MemoryLimit, Text: "It hit its limit."})
	w.ask("web1")
	if w.all[1].Cause != answer.MemoryLimit || w.all[1].Pod != "shop/db2" || len(w.all[1].Hops) != 1 || w.all[2].Cause != answer.SiblingNotReady {
		t.Errorf("%+v", w.all)
	}
}

// A name that is nobody's is told as that, with who has the port and what to correct.
func TestNoServiceOfTheName(t *testing.T) {
	for text, want := range map[string]string{
		"getaddrinfo ENOTFOUND redis-master": "There is no Service redis-master in namespace shop, so the cluster's DNS has no such name; port 6379 is that of redis2.",
		"Connection refused":                 "",
	} {
		w := &town{t: t, answers: map[string]answer.Answer{}}
		v := answer.Verdict{Cause: answer.DependencyDown, Container: "web", Text: "Container web fails because it cannot reach redis-master:6379, which it needs.", Fixes: []answer.Fix{kubectl.Why("see why", "svc", "shop", "redis-master"), {Text: "read"}}}
		w.pod("web1", 80, answer.NotReady, v, answer.Reach{Container: "web", Place: "redis-master:6379", How: answer.ReachSaid, Text: text})
		w.pod("redis2", 6379, answer.Healthy, answer.Verdict{Cause: answer.None})
		w.pods.Items[0].Spec.Containers = []v1.Container{{Name: "web", Env: []v1.EnvVar{{Name: "BROKER", Value: "redis://redis-master:6379/0"}}}}
		v = w.ask("web1")
		if want == "" {
			// The step that asks about the Service is left out: there is none.
			if strings.Contains(v.Text, "no Service") || len(v.Fixes) != 1 || v.Fixes[0].Text != "read" {
				t.Errorf("%s: %+v", v.Text, v.Fixes)
			}
			continue
		}
		if !strings.Contains(v.Text, want) || len(v.Fixes) != 3 || !strings.HasPrefix(v.Fixes[0].Text, "correct the name redis-master in variable BROKER") || v.Fixes[2].Text != "read" {
			t.Errorf("%s: %+v", v.Text, v.Fixes)
		}
	}
	for host, want := range map[string]bool{"db": true, "db.shop.svc": true, "db.shop.svc.cluster.local": true, "db.shop": false, "example.com": false, "db.example.com": false, "localhost": false, "10.0.0.1": false} {
		if cluster.MayBeService(host) != want {
			t.Errorf("%s: %v", host, !want)
		}
	}
}

// So they do through the Services that lead to them.
func TestWaitForEachOthersService(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	waits := answer.Verdict{Cause: answer.DependencyDown, Container: "api", Text: "Container api fails because it cannot reach the other. So the readiness probe of container api failed."}
	w.pod("orders1", 8000, answer.NotReady, waits, refusedAt("payments2:8000"))
	w.pod("payments2", 8000, answer.NotReady, waits, refusedAt("orders1:8000"))
	v := w.ask("orders1")
	if v.Pod != "" || !strings.Contains(v.Text, "Pod shop/payments2 waits for this one in turn, which it asks as orders1: neither is the reason of the other.") {
		t.Errorf("%s", v.Text)
	}
	if f := v.Fixes[0]; !strings.Contains(f.Text, "readiness probe") || !strings.Contains(f.Command, "get pod orders1 ") {
		t.Errorf("%+v", v.Fixes)
	}
}

// Two that wait for each other are neither the reason of the other, and who gives names to pods
// that are ready only keeps them from it.
func TestWaitForEachOther(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	waits := answer.Verdict{Cause: answer.DependencyDown, Container: "etcd", Text: "It waits: dial tcp: lookup etcd-1.etcd on 10.43.0.10:53: no such host"}
	w.pod("etcd-0", 80, answer.NotReady, waits, refusedAt("etcd-1.etcd:2380"))
	w.pod("etcd-1", 80, answer.NotReady, waits, refusedAt("etcd-0.etcd:2380"))
	for i := range w.pods.Items {
		w.pods.Items[i].Spec.Subdomain = "etcd"
	}
	w.services.Items = []v1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "etcd"}, Spec: v1.ServiceSpec{ClusterIP: v1.ClusterIPNone}}}
	v := w.ask("etcd-0")
	if v.Cause != answer.DependencyDown || v.Container != "etcd" || v.Pod != "" || !strings.Contains(v.Text, "Pod shop/etcd-1 waits for this one in turn") || !strings.Contains(v.Text, "only while they are ready") {
		t.Errorf("%+v", v)
	}
	w.services.Items[0].Spec.PublishNotReadyAddresses = true
	if v := w.ask("etcd-0"); strings.Contains(v.Text, "only while they are ready") {
		t.Errorf("its names are published: %s", v.Text)
	}
	w.pod("db3", 5432, answer.Restarted, answer.Verdict{Cause: answer.MemoryLimit, Text: "It hit its limit."})
	a := w.answers["etcd-1"]
	a.Reaches = append(a.Reaches, refusedAt("db3:5432"))
	w.answers["etcd-1"] = a
	if v := w.ask("etcd-0"); v.Cause != answer.MemoryLimit || v.Pod != "shop/db3" {
		t.Errorf("the other waits for a third, too: %+v", v)
	}
}

// What is not well either is worth a look, and no more.
func TestMention(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	w.pod("web1", 80, answer.NotReady, saysNo(500))
	w.configure("DB_HOST=db2:5432")
	w.pod("db2", 5432, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "It ended with exit code 1."})
	v := w.ask("web1")
	if n := len(v.Fixes); n != 2 || v.Fixes[0].Command != "kubectl why -n shop svc/db2" || v.Cause != answer.AppUnhealthy {
		t.Errorf("%+v", v)
	}
}

// Asked about the last pod, the answer tells whom it takes down; of one that suffers itself
// it tells nobody.
func TestTakesDown(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("api2:80"))
	w.pod("api2", 80, answer.NotReady, saysNo(500), refusedAt("db3:5432"))
	w.pod("db3", 5432, answer.Restarted, answer.Verdict{Cause: answer.MemoryLimit, Text: "It hit its limit."})
	w.pod("other4", 80, answer.NotReady, saysNo(500))
	w.pod("well5", 80, answer.NotReady, saysNo(500), refusedAt("db3:5432"))
	w.pods.Items[4].Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	down := w.ask("db3").TakesDown
	if len(down) != 2 || down[0].Pod != "shop/web1" || down[1].Pod != "shop/api2" || down[1].Cause != answer.AppUnhealthy || down[1].By == "" {
		t.Errorf("it takes down %+v", down)
	}
	if down := w.ask("api2").TakesDown; len(down) != 0 {
		t.Errorf("in the middle: %+v", down)
	}
}

// Who asks about what stands for a pod is led to the one that it waits for, too, and to the one
// that the API server asks in vain before it makes one.
func TestLed(t *testing.T) {
	ended := answer.Verdict{Cause: answer.AppExitError, Text: "It ended with exit code 1."}
	w := &town{t: t, answers: map[string]answer.Answer{}}
	w.pod("web1", 80, answer.NotReady, saysNo(502), refusedAt("db2:5432"))
	w.pod("db2", 5432, answer.Restarted, ended)
	w.deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d1"}}
	w.deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web1"}}
	for _, about := range []Target{{Kind: "deployment", Name: "web"}, {Kind: "service", Name: "web1"}} {
		if v := w.about(about); v.Cause != answer.AppExitError || v.Pod != "shop/db2" {
			t.Errorf("%s: %s of %q: %s", about, v.Cause, v.Pod, v.Text)
		}
	}
	w = &town{t: t, answers: map[string]answer.Answer{}, deployment: w.deployment}
	w.pod("policy1", 443, answer.Restarted, ended)
	w.deployment.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentReplicaFailure, Status: v1.ConditionTrue,
		Message: `Internal error occurred: failed calling webhook "pods.example.com": failed to call webhook: Post "https://policy1.shop.svc:443/validate?timeout=10s": no endpoints available for service "policy1"`,
	}}
	w.deployment.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
	if v := w.about(Target{Kind: "deployment", Name: "web"}); v.Cause != answer.AppExitError || v.Pod != "shop/policy1" || !strings.Contains(v.Text, "before it makes a pod") {
		t.Errorf("%s of %q: %s", v.Cause, v.Pod, v.Text)
	}
}
