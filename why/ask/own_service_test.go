package ask

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
)

// A probe whose command asks by the Service of its own pod waits for what it keeps from coming.
func TestOwnService(t *testing.T) {
	for name, test := range map[string]struct {
		build func(w *town, v *answer.Verdict, r *answer.Reach)
		own   bool
	}{
		"a startup probe": {func(*town, *answer.Verdict, *answer.Reach) {}, true},
		"by its address": {func(_ *town, _ *answer.Verdict, r *answer.Reach) {
			r.Place = "10.43.0.1:80"
		}, true},
		"a readiness probe": {func(_ *town, v *answer.Verdict, _ *answer.Reach) {
			v.Chain[0].Evidence["probe"] = "Readiness"
		}, true},
		"its output names it": {func(_ *town, v *answer.Verdict, r *answer.Reach) {
			r.Fact, v.Chain[0].Evidence["output"] = 9, "connect to web1:80 failed: Connection refused"
		}, true},
		"a liveness probe of one that is ready by itself": {func(_ *town, v *answer.Verdict, _ *answer.Reach) {
			v.Chain[0].Evidence["probe"] = "Liveness"
		}, false},
		"a liveness probe before another decides": {func(w *town, v *answer.Verdict, _ *answer.Reach) {
			v.Chain[0].Evidence["probe"] = "Liveness"
			w.pods.Items[0].Spec.Containers = []v1.Container{{Name: "web", ReadinessProbe: &v1.Probe{}}}
		}, true},
		"one that was well": {func(_ *town, v *answer.Verdict, _ *answer.Reach) {
			v.Chain = append([]answer.Link{{Fact: 2, At: v.Chain[0].At.Add(1), Kind: "Probed", Evidence: map[string]any{"verdict": "Success"}}}, v.Chain...)
		}, false},
		"the application asks": {func(_ *town, v *answer.Verdict, r *answer.Reach) {
			r.Fact = 9
		}, false},
		"an answer": {func(_ *town, v *answer.Verdict, _ *answer.Reach) {
			v.Chain[0].Evidence["handler"] = "httpGet"
		}, false},
		"an end": {func(_ *town, v *answer.Verdict, _ *answer.Reach) {
			v.Chain[0] = answer.Link{Fact: 1, Kind: "Exited"}
		}, false},
		"its Service leads to it at once": {func(w *town, _ *answer.Verdict, _ *answer.Reach) {
			w.services.Items[0].Spec.PublishNotReadyAddresses = true
		}, false},
		"another pod is ready": {func(w *town, _ *answer.Verdict, _ *answer.Reach) {
			w.pod("web2", 80, answer.Healthy, answer.Verdict{Cause: answer.None})
			w.pods.Items[1].Labels = w.pods.Items[0].Labels
		}, false},
		"another's Service": {func(w *town, _ *answer.Verdict, r *answer.Reach) {
			w.pod("db2", 80, answer.Restarted, answer.Verdict{Cause: answer.AppExitError, Text: "It ended."})
			r.Place = "db2:80"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &town{t: t, answers: map[string]answer.Answer{}}
			v := answer.Verdict{
				Cause: answer.DependencyDown, Container: "web", Rule: "asks-another", Text: "The startup probe of container web asks web1, and not container web itself.",
				Chain: []answer.Link{{Fact: 1, Kind: (fact.Probed{}).Kind(), Evidence: map[string]any{"probe": "Startup", "verdict": "Failure", "handler": "exec", "target": "/check.sh"}}},
				Fixes: []answer.Fix{kubectl.Why("see why it does not answer", "svc", "shop", "web1")},
			}
			r := answer.Reach{Container: "web", Place: "web1:80", How: answer.ReachSaid, Text: "connection refused", Fact: 1}
			w.pod("web1", 80, answer.NotReady, v, r)
			w.services.Items[0].Spec.Ports[0].TargetPort = intstr.FromInt32(8080)
			test.build(w, &v, &r)
			a := w.answers["web1"]
			v.Certainty, v.Parts.What = answer.Inferred, v.Text
			v.Symptom = a.Verdicts[0].Symptom
			a.Verdicts[0], a.Reaches = v, []answer.Reach{r}
			w.answers["web1"] = a
			got := w.ask("web1")
			if own := got.Cause == answer.ProbeCommandFailed; own != test.own {
				t.Fatalf("%s: %s", got.Cause, got.Text)
			}
			if !test.own {
				return
			}
			host, _ := split(r.Place)
			if f := got.Fixes; len(f) != 2 || !strings.HasSuffix(f[0].Text, "ask 127.0.0.1:8080 in place of "+host) || !strings.Contains(f[1].Text, "publishNotReadyAddresses") {
				t.Errorf("%+v", f)
			}
			if got.Container != "web" || got.Certainty != answer.Inferred || !strings.Contains(got.Text, "of the pod itself. That leads to the pod only when it is ready") {
				t.Error(got.Text)
			}
		})
	}
}
