package ask

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

// A page that says that it has no database leads through who hands it on to the database that its maker is configured for.
func TestNoDatabaseBehind(t *testing.T) {
	for _, complaint := range []string{"", "WARNING: [pool www] MySQL Connection Error: (2002) Connection refused"} {
		noDatabaseBehind(t, complaint)
	}
}

func noDatabaseBehind(t *testing.T, complaint string) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	v := saysNo(500)
	v.Say(answer.Parts{What: `The application itself answers the readiness probe with 500 ("Error establishing a database connection").`})
	w.pod("web1", 80, answer.NotReady, v)
	w.configure("php_fastcgi fpm2:9000")
	w.pod("fpm2", 9000, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
	if complaint != "" {
		w.answers["fpm2"] = complaining(w.answers["fpm2"], answer.Complaint{Container: "fpm", Text: complaint})
	}
	w.pods.Items[1].Spec.Containers = []v1.Container{{Name: "fpm", Env: []v1.EnvVar{{Name: "DB_HOST", Value: "db3"}}}}
	w.pod("db3", 3306, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "It ended."})
	if v := w.ask("web1"); v.Cause != answer.AppExitError || v.Pod != "shop/db3" {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
}

// Where a pod has the name of a Service, the name that was asked is the Service's: that may lead elsewhere.
func TestServiceOfAPodsName(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	v := saysNo(500)
	v.Say(answer.Parts{What: `The application itself answers the readiness probe with 500 ("Connection refused [db3]").`})
	w.pod("web1", 80, answer.NotReady, v)
	w.pod("db3", 3306, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
	w.services.Items[1].Spec.Selector["tier"] = "database"
	if v := w.ask("web1"); v.Cause != answer.SelectorMismatch {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
}
