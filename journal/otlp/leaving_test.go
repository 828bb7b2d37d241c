package otlp

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// A collector gets no values of variables, unless it is to have them.
func TestValuesStay(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Env: []v1.EnvVar{{Name: "DB_PASSWORD", Value: "envPwA1zz"}}}}}}
	for with, want := range map[bool]bool{false: false, true: true} {
		e, err := New(Options{Endpoint: "http://127.0.0.1:1", WithValues: with})
		if err != nil {
			t.Fatal(err)
		}
		r, err := record(e.leaving(fact.Fact{ID: 1, Body: fact.SpecSeen{Object: pod}}))
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(r.Body.GetStringValue(), "envPwA1zz"); has != want {
			t.Errorf("with values %t: the record has it %t", with, has)
		}
		e.transport.close()
	}
}
