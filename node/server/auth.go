package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// How long an answer of the API server about a token or an access is kept: the
// defaults of KubeletConfiguration v1beta1.
const (
	tokenTTL   = 2 * time.Minute
	allowedTTL = 5 * time.Minute
	// Kubelet remembers a denial for 30 s. What asks in the first second of a control
	// plane, before its roles are in force, would be refused for as long.
	deniedTTL = 2 * time.Second
)

// guard lets only those through to the routes who may take them.
type guard struct {
	node          string
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
	log           *slog.Logger
}

func newGuard(c Config, clientCA dynamiccertificates.CAContentProvider) (*guard, error) {
	if c.Client == nil {
		return nil, errors.New("the node's API has no API server to ask who may use it")
	}
	// Five quick attempts, as all of Kubernetes' delegated checks make.
	retry := &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
	authentication, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                          &apiserver.AnonymousAuthConfig{Enabled: false},
		TokenAccessReviewClient:            c.Client.AuthenticationV1(),
		WebhookRetryBackoff:                retry,
		CacheTTL:                           tokenTTL,
		ClientCertificateCAContentProvider: clientCA,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authentication of the node's API: %w", err)
	}
	authorization, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: c.Client.AuthorizationV1(),
		WebhookRetryBackoff:       retry,
		AllowCacheTTL:             allowedTTL,
		DenyCacheTTL:              deniedTTL,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authorisation of the node's API: %w", err)
	}
	return &guard{node: c.NodeName, authenticator: authentication, authorizer: authorization, log: c.Log}, nil
}

// protect puts the guard in front of a handler.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok, err := g.authenticator.AuthenticateRequest(r)
		if err != nil {
			g.log.Info("request could not be authenticated", "path", r.URL.Path, "from", r.RemoteAddr, "error", err)
		}
		if err != nil || !ok {
			refuseText(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		if status, text := g.authorize(r, who.User); status != http.StatusOK {
			g.log.Info("request refused", "path", r.URL.Path, "from", r.RemoteAddr, "why", text)
			refuseText(w, status, text)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authorize asks for each of the request's subresources in turn; one is enough.
// It gives the HTTP status, and what to say when that is not OK.
func (g *guard) authorize(r *http.Request, who user.Info) (int, string) {
	asked := attributes(g.node, who, r)
	var subresources []string
	for _, a := range asked {
		subresources = append(subresources, a.GetSubresource())
		decision, _, err := g.authorizer.Authorize(r.Context(), a)
		if err != nil {
			return http.StatusInternalServerError, fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s): %v",
				who.GetName(), a.GetVerb(), a.GetSubresource(), err)
		}
		if decision == authorizer.DecisionAllow {
			return http.StatusOK, ""
		}
	}
	return http.StatusForbidden, fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)",
		who.GetName(), asked[0].GetVerb(), subresources)
}

// verbs are Kubernetes' names for HTTP's methods; others have none, and no role
// grants that.
var verbs = map[string]string{
	http.MethodPost: "create", http.MethodGet: "get", http.MethodPut: "update",
	http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// subresources says which subresource of the node a path belongs to. Those with
// orProxy existed before the finer ones (KEP-2862) and are still open to who may
// use nodes/proxy; all paths not named here belong to nodes/proxy.
var subresources = []struct {
	path, subresource string
	orProxy           bool
}{
	{"/stats", "stats", false},
	{"/metrics", "metrics", false},
	{"/logs", "log", false},
	{"/pods", "pods", true},
	{"/runningpods", "pods", true},
	{"/healthz", "healthz", true},
	{"/configz", "configz", true},
}

// attributes says what somebody must be allowed to do for a request to go on:
// any one of the returned.
func attributes(node string, who user.Info, r *http.Request) []authorizer.Attributes {
	ask := func(subresource string) authorizer.Attributes {
		return authorizer.AttributesRecord{
			User: who, Verb: verbs[r.Method], APIVersion: "v1", Resource: "nodes", Subresource: subresource,
			Name: node, ResourceRequest: true, Path: r.URL.Path,
		}
	}
	for _, s := range subresources {
		if r.URL.Path != s.path && !strings.HasPrefix(r.URL.Path, s.path+"/") {
			continue
		}
		if s.orProxy {
			return []authorizer.Attributes{ask(s.subresource), ask("proxy")}
		}
		return []authorizer.Attributes{ask(s.subresource)}
	}
	return []authorizer.Attributes{ask("proxy")}
}
