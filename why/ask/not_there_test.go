package ask

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/why/record"
)

// shop is a case of two namespaces.
func shop(t *testing.T, more ...string) *Cluster {
	t.Helper()
	c := &record.Case{Manifest: record.Manifest{Time: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}, Logs: map[string][]byte{}, Facts: map[string][]byte{}}
	for _, one := range append([]string{
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"prod"}}`,
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"prod","name":"payments"}}`,
		`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"front"}}`,
		`{"apiVersion":"v1","kind":"Event","metadata":{"namespace":"shop","name":"e1"},"involvedObject":{"kind":"Job","namespace":"shop","name":"migrate","uid":"j"},"reason":"SuccessfulCreate","lastTimestamp":"2026-11-20T09:00:00Z"}`,
		`{"apiVersion":"v1","kind":"Event","metadata":{"namespace":"shop","name":"e2"},"involvedObject":{"kind":"Pod","namespace":"shop","name":"migrate-x7k2p","uid":"p","fieldPath":"spec.containers{migrate}"},"type":"Warning","reason":"BackOff","message":"Back-off restarting failed container migrate","count":3,"lastTimestamp":"2026-11-20T09:00:30Z"}`,
	}, more...) {
		c.Objects = append(c.Objects, json.RawMessage(one))
	}
	from, err := Recorded(c, true, Options{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	return from
}

func TestNotThere(t *testing.T) {
	for _, c := range []struct {
		target Target
		want   string
	}{
		{Target{Kind: "deployment", Name: "wbe"}, "there is no deployment shop/wbe; did you mean deployment/web?"},
		{Target{Kind: "deployment", Name: "payments"}, "did you mean -n prod deployment/payments?"},
		{Target{Kind: "deployment", Name: "front"}, "did you mean service/front?"},
		{Target{Kind: "pod", Name: "web-7c9d5b8f4-x2x8q"}, "there is no pod shop/web-7c9d5b8f4-x2x8q; did you mean deployment/web?"},
		{Target{Kind: "pod", Name: "web"}, "did you mean deployment/web?"},
		{Target{Kind: "node", Name: "node-2"}, "there is no node node-2; did you mean node/node-1?"},
		{Target{Kind: "service", Name: "x", Namespace: "shp"}, "there is no namespace shp; did you mean -n shop?"},
		{Target{Kind: "service", Name: "x", Namespace: "nowhere-near"}, "there is no namespace nowhere-near; kubectl get namespaces lists them"},
		{Target{Kind: "statefulset", Name: "completely-else"}, "there is no statefulset shop/completely-else"},
	} {
		_, err := shop(t).About(t.Context(), c.target)
		var e *NotThereError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.target, err)
		}
	}
}

// A Job that is gone is answered by its pods, which events tell of.
func TestForgotten(t *testing.T) {
	all, err := shop(t).About(t.Context(), Target{Kind: "job", Name: "migrate"})
	if err != nil || len(all) != 1 || all[0].Subject.Name != "migrate-x7k2p" {
		t.Error(all, err)
	}
}

// Pods of a workload with a longer name are another's, and those that exist are not gone.
func TestForgottenByName(t *testing.T) {
	event := func(kind, name, at string) string {
		return `{"apiVersion":"v1","kind":"Event","metadata":{"namespace":"shop","name":"` + kind + name + `"},"involvedObject":{"kind":"` + kind + `","namespace":"shop","name":"` + name + `","uid":"` + name + `"},"type":"Warning","reason":"BackOff","message":"Back-off restarting failed container main","lastTimestamp":"2026-11-20T09:` + at + `Z"}`
	}
	own := event("Pod", "api-5d9c8b7f6-x7k2p", "10:00")
	others := []string{
		event("Deployment", "api", "00:00"), event("Pod", "api-worker-5d9c8b7f6-x7k2p", "20:00"), event("Pod", "api-0", "21:00"), event("Pod", "api-6c9c8b7f6-aaaaa", "22:00"),
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"api-6c9c8b7f6-aaaaa","uid":"living"}}`,
	}
	if all, err := shop(t, append(others, own)...).About(t.Context(), Target{Kind: "deployment", Name: "api"}); err != nil || len(all) != 1 || all[0].Subject.Name != "api-5d9c8b7f6-x7k2p" {
		t.Error(all, err)
	}
	if all, err := shop(t, others...).About(t.Context(), Target{Kind: "deployment", Name: "api"}); err == nil {
		t.Error(all)
	}
}
