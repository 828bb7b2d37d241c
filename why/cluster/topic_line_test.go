package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

// What a verdict is about is named where it stands: in the arguments, the variables or a ConfigMap.
func TestShowTopic(t *testing.T) {
	const taken = `The database refuses: "FATAL: sorry, too many clients already".`
	for _, c := range []struct {
		of         string
		cause      answer.Cause
		text, file string
		command    []string
		env        []v1.EnvVar
		want       string
	}{
		{"loopback in a file", answer.AppListensElse, "", "[mysqld]\nbind-address = 127.0.0.1\n", nil, nil, "change where it listens to all addresses (0.0.0.0): line 2 of it.conf in ConfigMap conf (“bind-address = 127.0.0.1”)"},
		{"loopback in an argument", answer.AppListensElse, "", "", []string{"gunicorn", "--bind", "127.0.0.1:8000", "app:app"}, nil, "change where it listens to all addresses (0.0.0.0): container db has “--bind 127.0.0.1:8000” of its command"},
		{"loopback in a variable", answer.AppListensElse, "", "", nil, []v1.EnvVar{{Name: "SERVER_ADDRESS", Value: "localhost"}}, "change where it listens to all addresses (0.0.0.0): container db has variable SERVER_ADDRESS (localhost)"},
		{"whom it asks", answer.AppListensElse, "", "upstream = http://127.0.0.1:9000\n", nil, nil, "look"},
		{"a name", answer.AppListensElse, "", "<Host name=\"localhost\" />\nserver_name localhost;\n", nil, nil, "look"},
		{"a comment", answer.AppListensElse, "", "# bind-address = 127.0.0.1\n", nil, nil, "look"},
		{"connections", answer.AppUnhealthy, taken, "max_connections = 4\n", nil, nil, "change the bound that it has reached, or have those who ask it take fewer: key it.conf in ConfigMap conf (“max_connections = 4”)"},
		{"connections of an argument", answer.AppUnhealthy, `"ERR max number of clients reached"`, "", []string{"redis-server", "--maxclients", "4"}, nil, "change the bound that it has reached, or have those who ask it take fewer: container db has “--maxclients 4” of its command"},
		{"another cause", answer.MemoryLimit, taken, "max_connections = 4\n", nil, nil, "look"},
		{"too many to tell", answer.AppOverloaded, "", "threads = 1\nworkers = 2\nmaxconn = 3\n", nil, nil, "look"},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: v1.PodSpec{
			Volumes:    []v1.Volume{{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}},
			Containers: []v1.Container{{Name: "db", Command: c.command, Env: c.env, VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/etc/db"}}}},
		}}
		v := answer.Verdict{Cause: c.cause, Container: "db", Text: c.text, Fixes: []answer.Fix{{Text: "look"}}}
		quoteText(&v)
		shownIn(&v, pod, []v1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "conf"}, Data: map[string]string{"it.conf": c.file}}}).showTopic()
		if !strings.HasPrefix(v.Fixes[0].Text, c.want) {
			t.Errorf("%s: %s", c.of, v.Fixes[0].Text)
		}
	}
}
