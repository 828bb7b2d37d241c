package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

// A word that lacks what a variable was to be in it names that variable.
func TestShowEmpty(t *testing.T) {
	for _, c := range []struct {
		of, script, says string
		env              []v1.EnvVar
		want             string
	}{
		{"not set", `exec java -jar "/app/shop-${APP_VERSION}.jar"`, "Error: Unable to access jarfile /app/shop-.jar", nil, "set APP_VERSION, which key start.sh in ConfigMap conf"},
		{"one of two", `exec java -jar /app/$NAME-$VERSION.jar`, "Error: Unable to access jarfile /app/shop-.jar", []v1.EnvVar{{Name: "NAME", Value: "shop"}}, "set VERSION, which key start.sh"},
		{"set", `exec java -jar "/app/shop-${APP_VERSION}.jar"`, "Error: Unable to access jarfile /app/shop-.jar", []v1.EnvVar{{Name: "APP_VERSION", Value: "1"}}, "look"},
		{"another", `exec java -jar "/app/shop-${APP_VERSION}.jar"`, "Error: Unable to access jarfile /app/shop-1.jar", nil, "look"},
		{"beside a secret", `exec java -Dpassword=hunter22 -jar /app/shop-$VERSION.jar`, "Error: Unable to access jarfile /app/shop-.jar", nil, "set VERSION, which key start.sh in ConfigMap conf wants"},
		{"too short", `cat $A/b`, "cat: /b: No such file", nil, "look"},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api"}, Spec: v1.PodSpec{
			Volumes:    []v1.Volume{{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "conf"}}}}},
			Containers: []v1.Container{{Name: "api", Env: c.env, VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/opt"}}}},
		}}
		v := answer.Verdict{Cause: answer.AppExitError, Container: "api", Text: `It ended; its last message: ` + c.says, Fixes: []answer.Fix{{Text: "look"}}}
		quoteText(&v)
		shownIn(&v, pod, []v1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "conf"}, Data: map[string]string{"start.sh": c.script}}}).showEmpty()
		if !strings.HasPrefix(v.Fixes[0].Text, c.want) {
			t.Errorf("%s: %s", c.of, v.Fixes[0].Text)
		}
	}
}
