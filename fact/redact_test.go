package fact_test

import (
	"encoding/json"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
)

const hidden = "Zq55aa1zz"

// secretive is a pod with a secret wherever people put one.
func secretive() *v1.Pod {
	probe := &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"redis-cli", "-a", hidden, "ping"}}}}
	asks := &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/h", HTTPHeaders: []v1.HTTPHeader{{Name: "X-Shop", Value: hidden}}}}}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{v1.LastAppliedConfigAnnotation: hidden, "shop/api-token": hidden, "shop/note": "kept"}},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "app", Command: []string{"app"}, Args: []string{"--db-password", hidden, "--token=" + hidden, "--port", "80"},
			Env: []v1.EnvVar{{Name: "SHOP", Value: hidden}, {Name: "FROM", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{Key: "k"}}}}, LivenessProbe: probe, ReadinessProbe: asks,
		}}},
	}
}

func TestOutwardHoldsNoValues(t *testing.T) {
	state, err := json.Marshal(map[string]any{"object": secretive(), "message": "password=" + hidden})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []fact.Body{
		fact.SpecSeen{Object: secretive(), Source: fact.FromAPI},
		fact.Checkpoint{State: state, Node: state},
		fact.Foreign{Name: "Newer", Raw: state},
		fact.Exited{Message: "login with password=" + hidden, LastLines: []string{"token: " + hidden}},
		fact.StatusSeen{Status: v1.PodStatus{Message: "postgres://a:" + hidden + "@db"}},
		fact.Probed{Verdict: fact.Failure, Message: "redis-cli -a " + hidden, Evidence: &fact.Evidence{Target: "http://a:" + hidden + "@x/", Header: map[string]string{"X-Auth-Token": hidden}}},
		fact.Act{By: "kubelet", Basis: fact.Told, Body: fact.Kill{Message: "password=" + hidden}},
	} {
		before, err := json.Marshal(body)
		if err != nil || !strings.Contains(string(before), hidden) {
			t.Fatalf("%s: %v", before, err)
		}
		after, err := json.Marshal(fact.Outward(fact.Fact{Body: body}).Body)
		if err != nil || strings.Contains(string(after), hidden) {
			t.Errorf("%s leaves as %s, %v", body.Kind(), after, err)
		}
		if again, _ := json.Marshal(body); string(again) != string(before) {
			t.Errorf("%s was changed itself", body.Kind())
		}
	}
	kept := fact.WithoutValues(secretive())
	if c := kept.Spec.Containers[0]; len(c.Env) != 2 || c.Env[1].ValueFrom == nil || c.Args[4] != "80" || c.Command[0] != "app" || kept.Annotations["shop/note"] != "kept" {
		t.Errorf("%+v", kept)
	}
}

func TestRedactedKeepsWhatARestartNeeds(t *testing.T) {
	for _, body := range []fact.Body{fact.SpecSeen{Object: secretive()}, fact.Exited{Message: "password=" + hidden}, fact.StatusSeen{Status: v1.PodStatus{Message: "password=" + hidden}}} {
		after, err := json.Marshal(fact.Redacted(fact.Fact{Body: body}).Body)
		if err != nil || !strings.Contains(string(after), hidden) {
			t.Errorf("%s is written as %s, %v", body.Kind(), after, err)
		}
	}
	for _, body := range []fact.Body{
		fact.Probed{Verdict: fact.Failure, Message: "command [redis-cli -a " + hidden + " ping] timed out"},
		fact.Probed{Verdict: fact.Success, Evidence: &fact.Evidence{Output: "password=" + hidden}},
		fact.StartFailed{Message: "exec: postgres://a:" + hidden + "@db: not found"},
		fact.HookRan{Error: "--token " + hidden},
	} {
		after, err := json.Marshal(fact.Redacted(fact.Fact{Body: body}).Body)
		if err != nil || strings.Contains(string(after), hidden) {
			t.Errorf("%s is written as %s, %v", body.Kind(), after, err)
		}
	}
	beside, err := json.Marshal(fact.RedactedBeside(fact.Fact{Body: fact.Exited{Message: "password=" + hidden}}).Body)
	if err != nil || strings.Contains(string(beside), hidden) {
		t.Errorf("beside a kubelet it is written as %s, %v", beside, err)
	}
}
