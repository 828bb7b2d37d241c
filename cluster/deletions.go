package cluster

import (
	"net/url"
	"strings"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"whylet.dev/whylet/fact"
)

// deletions is an audit backend that tells who had pods deleted or evicted. The
// object itself does not show it. What the node itself deletes is left out: that
// only completes what another asked for.
type deletions struct{ tell func(fact.Fact) }

// EvaluatePolicyRule asks for the metadata of deletions, once they were granted.
func (deletions) EvaluatePolicyRule(a authorizer.Attributes) audit.RequestAuditConfig {
	wanted := a.IsResourceRequest() && a.GetAPIGroup() == "" && a.GetResource() == "pods" && a.GetName() != "" &&
		(a.GetVerb() == "delete" && a.GetSubresource() == "" || a.GetVerb() == "create" && a.GetSubresource() == "eviction")
	if !wanted || a.GetUser() == nil || strings.HasPrefix(a.GetUser().GetName(), "system:node:") {
		return audit.RequestAuditConfig{Level: auditinternal.LevelNone}
	}
	return audit.RequestAuditConfig{
		Level:      auditinternal.LevelMetadata,
		OmitStages: []auditinternal.Stage{auditinternal.StageRequestReceived, auditinternal.StageResponseStarted},
	}
}

// ProcessEvents runs within the request, so tell must not block.
func (d deletions) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, e := range events {
		if f, ok := requested(e); ok {
			d.tell(f)
		}
	}
	return true
}

// requested is a deletion that was granted, as a fact about a pod whose UID the
// request does not name.
func requested(e *auditinternal.Event) (fact.Fact, bool) {
	if e.Stage != auditinternal.StageResponseComplete || e.ObjectRef == nil || e.ResponseStatus == nil || e.ResponseStatus.Code/100 != 2 || dryRun(e.RequestURI) {
		return fact.Fact{}, false
	}
	b := fact.Requested{Verb: "delete", User: e.User.Username, Agent: e.UserAgent}
	if e.ObjectRef.Subresource == "eviction" {
		b.Verb = "evict"
	}
	if e.ImpersonatedUser != nil {
		b.User, b.As = e.User.Username, e.ImpersonatedUser.Username
	}
	return fact.Fact{
		At:   e.RequestReceivedTimestamp.UTC(),
		Pod:  fact.Pod{Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name},
		Body: b,
	}, true
}

// dryRun: only the option in the address can be seen here; one in the body of a
// request leads to a fact about a pod that is not deleted, which nothing follows.
func dryRun(uri string) bool {
	u, err := url.ParseRequestURI(uri)
	return err != nil || u.Query().Has("dryRun")
}

func (deletions) Run(<-chan struct{}) error { return nil }
func (deletions) Shutdown()                 {}
func (deletions) String() string            { return "whylet" }
