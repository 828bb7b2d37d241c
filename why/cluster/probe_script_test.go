package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

// What the script of a failing probe reads and nothing gives it is named, and nothing else.
func TestShowScript(t *testing.T) {
	for of, c := range map[string]struct{ script, want string }{
		"a variable that nothing gives": {"PORT=${PORT:-5432}\npsql -U $PG_USER --port=$PORT -c 'select 1'", "set PG_USER, which the probe reads (key ready.sh in ConfigMap conf) and the pod does not set (unless its image does), in the env of container api"},
		"one that the spec gives":       {"psql -U $PGUSER", "look"},
		"one with another value":        {"psql -U ${PG_USER:-postgres}", "look"},
		"one that it sets":              {"PG_USER=x\npsql -U $PG_USER", "look"},
		"one of the shell":              {"echo $HOSTNAME $PATH", "look"},
		"in a comment":                  {"# psql -U $PG_USER", "look"},
		"a Service's":                   {"wget $REDIS_SERVICE_HOST:$REDIS_PORT", "look"},
		"too many":                      {"echo $ONE1 $TWO2 $THREE3", "look"},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api"}, Spec: v1.PodSpec{
			Volumes: []v1.Volume{{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}},
			Containers: []v1.Container{{
				Name: "api", Env: []v1.EnvVar{{Name: "PGUSER", Value: "x"}}, VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/opt"}},
				ReadinessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"bash", "/opt/ready.sh"}}}},
			}},
		}}
		v := answer.Verdict{Cause: answer.ProbeCommandFailed, Container: "api", Fixes: []answer.Fix{{Text: "look"}}}
		shownIn(&v, pod, []v1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "conf"}, Data: map[string]string{"ready.sh": c.script}}}).showScript()
		if !strings.HasPrefix(v.Fixes[0].Text, c.want) {
			t.Errorf("%s: %s", of, v.Fixes[0].Text)
		}
	}
}
