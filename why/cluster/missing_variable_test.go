package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

// A variable that words miss is named in the first step, unless something may give it, or a step names it.
func TestSetVariable(t *testing.T) {
	const step = "set EXPORT_BUCKET in the env of container web"
	secret := v1.EnvFromSource{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "keys"}}}
	for name, c := range map[string]struct {
		said  string
		env   []v1.EnvVar
		from  []v1.EnvFromSource
		data  map[string]string
		fixes []answer.Fix
		want  string
	}{
		"a key":                        {said: "KeyError: 'EXPORT_BUCKET'", want: step},
		"in words":                     {said: "ERROR: EXPORT_BUCKET is not set", want: step},
		"an environment":               {said: `bucket = os.environ["EXPORT_BUCKET"]`, want: step},
		"a shell":                      {said: "/run.sh: 3: EXPORT_BUCKET: parameter not set", want: step},
		"must be":                      {said: "Error: EXPORT_BUCKET must be set", want: step},
		"must not be":                  {said: "Error: EXPORT_BUCKET must not be set together with the other"},
		"a setting of a file":          {said: "The EXPORT_BUCKET setting must not be empty."},
		"a value":                      {said: "Error: bad value of EXPORT_BUCKET: x"},
		"it is in the env":             {said: "KeyError: 'EXPORT_BUCKET'", env: []v1.EnvVar{{Name: "EXPORT_BUCKET"}}},
		"a ConfigMap has it":           {said: "KeyError: 'EXPORT_BUCKET'", data: map[string]string{"EXPORT_BUCKET": "x"}},
		"a Secret may have it":         {said: "KeyError: 'EXPORT_BUCKET'", from: []v1.EnvFromSource{secret}},
		"a step names it":              {said: "KeyError: 'EXPORT_BUCKET'", fixes: []answer.Fix{{Variables: []string{"BUCKET", "EXPORT_BUCKET"}}}},
		"a step that names no setting": {said: "KeyError: 'EXPORT_BUCKET'", fixes: []answer.Fix{{ID: answer.StepGiveSetting}}, want: step},
	} {
		t.Run(name, func(t *testing.T) {
			v := answer.Verdict{Cause: answer.AppExitError, Container: "web", Text: "It ended.", LastWords: []string{"Error: it cannot go on", c.said}}
			v.Fixes = append(v.Fixes, c.fixes...)
			pod := mounting()
			pod.Spec.Containers[0].Env = c.env
			pod.Spec.Containers[0].EnvFrom = append(pod.Spec.Containers[0].EnvFrom, c.from...)
			if m, _ := MatterOf(v); len(m.missed) > 0 {
				shownIn(&v, pod, []v1.ConfigMap{configMap("env", c.data)}).showMissed()
			}
			got := ""
			for _, f := range v.Fixes {
				if strings.HasPrefix(f.Text, "set ") {
					got += f.Text
				}
				if c.want != "" && f.ID == answer.StepGiveSetting {
					t.Error("it is said twice")
				}
			}
			if got != c.want {
				t.Errorf("%q", got)
			}
			if c.want != "" && (v.Fixes[0].Text != c.want || v.Fixes[0].Risk != answer.Restarts) {
				t.Errorf("%+v", v.Fixes)
			}
		})
	}
}
