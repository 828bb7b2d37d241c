package cluster

import (
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"whylet.dev/whylet/fact"
)

func TestWhichRequestsAreDeletions(t *testing.T) {
	ask := func(user_, verb, resource, sub, name string) auditinternal.Level {
		return deletions{}.EvaluatePolicyRule(authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: user_}, Verb: verb, Resource: resource, Subresource: sub, Name: name, ResourceRequest: true,
		}).Level
	}
	for _, c := range []struct {
		user, verb, resource, sub, name string
		want                            bool
	}{
		{"alice", "delete", "pods", "", "web", true},
		{"alice", "create", "pods", "eviction", "web", true},
		{"system:node:n", "delete", "pods", "", "web", false},
		{"alice", "get", "pods", "", "web", false},
		{"alice", "create", "pods", "exec", "web", false},
		{"alice", "deletecollection", "pods", "", "", false},
		{"alice", "delete", "services", "", "web", false},
	} {
		if got := ask(c.user, c.verb, c.resource, c.sub, c.name) != auditinternal.LevelNone; got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}

func TestWhoDeleted(t *testing.T) {
	at := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	event := func(change func(*auditinternal.Event)) *auditinternal.Event {
		e := &auditinternal.Event{
			Stage: auditinternal.StageResponseComplete, RequestURI: "/api/v1/namespaces/shop/pods/web", Verb: "delete",
			User: authenticationv1Info("alice"), UserAgent: "kubectl/v1.36.3", ObjectRef: &auditinternal.ObjectReference{Resource: "pods", Namespace: "shop", Name: "web"},
			ResponseStatus: &metav1.Status{Code: 200}, RequestReceivedTimestamp: metav1.NewMicroTime(at),
		}
		if change != nil {
			change(e)
		}
		return e
	}
	want := fact.Requested{Verb: "delete", User: "alice", Agent: "kubectl/v1.36.3"}
	f, ok := requested(event(nil))
	if !ok || f.Body != want || f.Pod != (fact.Pod{Namespace: "shop", Name: "web"}) || !f.At.Equal(at) {
		t.Errorf("told %+v", f)
	}
	f, _ = requested(event(func(e *auditinternal.Event) {
		e.ObjectRef.Subresource, e.Verb = "eviction", "create"
		as := authenticationv1Info("bob")
		e.ImpersonatedUser = &as
	}))
	if f.Body != (fact.Requested{Verb: "evict", User: "alice", As: "bob", Agent: "kubectl/v1.36.3"}) {
		t.Errorf("told %+v", f)
	}
	for name, change := range map[string]func(*auditinternal.Event){
		"refused":     func(e *auditinternal.Event) { e.ResponseStatus.Code = 403 },
		"another try": func(e *auditinternal.Event) { e.RequestURI += "?dryRun=All" },
		"no answer":   func(e *auditinternal.Event) { e.Stage = auditinternal.StagePanic },
		"no status":   func(e *auditinternal.Event) { e.ResponseStatus = nil },
		"no object":   func(e *auditinternal.Event) { e.ObjectRef = nil },
	} {
		if f, ok := requested(event(change)); ok {
			t.Errorf("%s: told %+v", name, f)
		}
	}
}

func authenticationv1Info(name string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: name}
}
