package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Well-known words come with what they mean, and with what can be done about that, whether a
// container ended with them or says no with them.
func TestMeanings(t *testing.T) {
	second := []time.Duration{time.Second}
	no := func(line string) func(*tale) {
		return func(s *tale) {
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			s.probe("app", 3, status(fact.Readiness, 502, "bad gateway"))
			s.said(second, line)
			s.probe("app", 1, status(fact.Readiness, 502, "bad gateway"))
		}
	}
	ended := func(lines ...string) func(*tale) {
		return func(s *tale) {
			s.wait(10 * time.Second)
			s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: lines})
		}
	}
	proxied := web(ready)
	proxied.Spec.Containers[0].Env = []v1.EnvVar{{Name: "HTTP_PROXY", Value: "http://me:secret@egress:3128/"}}
	for _, q := range []struct {
		question
		fix string
	}{
		{question{name: "a certificate", symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "certificate has expired. That means: a TLS certificate has expired.", tale: no("GET https://payments:8443/health failed: Error: certificate has expired")}, "-connect payments:8443 -servername payments"},
		{question{name: "a proxy", pod: proxied, symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "Its requests go through the proxy egress:3128 (HTTP_PROXY in its env), so the refusal may come from the proxy", tale: no("urllib.error.HTTPError: HTTP Error 403: Forbidden")}, "NO_PROXY"},
		{question{name: "a quota", symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "a limit of its own is reached", tale: no("2026-11-23 09:31:13.618 W | etcdserver: /health error due to alarm:NOSPACE")}, "alarm disarm"},
		{question{name: "a replica", symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "takes no writes", tale: no("psycopg2.errors.ReadOnlySqlTransaction: cannot execute INSERT in a read-only transaction")}, "the primary"},
		{question{name: "a file of an earlier run", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "its last message: ERROR: Pidfile (celerybeat.pid) already exists. / Seems we're already running? (pid: 1).", tale: ended("celery beat v5.2.6 (dawn-chorus) is starting.", "ERROR: Pidfile (celerybeat.pid) already exists.", "Seems we're already running? (pid: 1)")}, "remove celerybeat.pid"},
		{question{name: "huge pages", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: `It said: FATAL: could not map anonymous shared memory: Cannot allocate memory / HINT: This error`, tale: ended("2026-11-23 10:26:39.147 UTC [1] FATAL:  could not map anonymous shared memory: Cannot allocate memory", "2026-11-23 10:26:39.147 UTC [1] HINT:  This error usually means that PostgreSQL's request for a shared memory segment exceeded available memory, swap space, or huge pages. To reduce it, reduce \"shared_buffers\".", "2026-11-23 10:26:39.147 UTC [1] LOG:  database system is shut down")}, "hugepages-2Mi"},
		{question{name: "memory that the kernel refuses", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "It said: mmap: Cannot allocate memory", tale: ended("mmap: Cannot allocate memory")}, "ulimit -v"},
		{question{name: "a Service's variable", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "that Kubernetes sets for a Service", tale: ended("ValueError: invalid literal for int() with base 10: 'tcp://10.43.0.9:6379'")}, "enableServiceLinks: false"},
		{question{name: "a service account", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "its service account may not do that in the cluster", tale: ended(`E1124 05:00:00.1 1 main.go:7] deployments.apps is forbidden: User "system:serviceaccount:shop:operator" cannot list resource "deployments" in API group "apps" in the namespace "shop"`)}, "kubectl -n shop create role operator-read-deployments --verb=get,list,watch --resource=deployments.apps && kubectl -n shop create rolebinding operator-read-deployments --role=operator-read-deployments --serviceaccount=shop:operator"},
		{question{name: "a service account, of the whole cluster", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "its service account may not do that in the cluster", tale: ended(`Error: nodes is forbidden: User "system:serviceaccount:shop:operator" cannot watch resource "nodes" in API group "" at the cluster scope`)}, "kubectl create clusterrole operator-read-nodes --verb=get,list,watch --resource=nodes && kubectl create clusterrolebinding operator-read-nodes --clusterrole=operator-read-nodes --serviceaccount=shop:operator"},
		{question{name: "a kind", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "its CustomResourceDefinition is not installed", tale: ended(`Error: no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"`)}, "kubectl api-resources | grep -i ServiceMonitor"},
		{question{name: "migrations", symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "its migrations have not run there", tale: no(`ERROR psycopg2.errors.UndefinedTable: relation "orders" does not exist`)}, "run the program's migrations"},
		{question{name: "damaged data", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "is missing, damaged or was cut off", tale: ended("PANIC:  could not locate a valid checkpoint record")}, "make a copy of its data"},
		{question{name: "no locale", symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "as the container has no locale", tale: no("ERROR ArgumentError: invalid byte sequence in US-ASCII")}, "LANG=C.UTF-8"},
		{question{name: "above Ruby's stack", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "its last message: cannot load such file -- pg (LoadError). That means: a part of the program is missing", tale: ended("! Unable to load application: LoadError: cannot load such file -- pg", "<internal:/usr/lib/ruby/kernel_require.rb>:85:in `require': cannot load such file -- pg (LoadError)", "\tfrom /srv/config.ru:in `new'", "\tfrom /srv/config.ru:in `<main>'")}, "build the image again"},
	} {
		if q.pod == nil {
			q.pod = web(ready)
		}
		t.Run(q.name, func(t *testing.T) {
			q.run(t)
			s := tell(t, q.pod)
			q.tale(s)
			v := s.ask().Verdicts[0]
			if !slices.ContainsFunc(v.Fixes, func(f answer.Fix) bool { return strings.Contains(f.Text+f.Command, q.fix) }) || strings.Contains(v.Text, "secret") {
				t.Errorf("%+v: %s", v.Fixes, v.Text)
			}
		})
	}
}
