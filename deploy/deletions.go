package deploy

import (
	"crypto/rand"
	"encoding/base64"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The names of the webhook that is told who asks for the end of pods, and of the Secret
// with the key by which the front knows that it is the API server that tells.
const (
	Deletions  = "whylet-deletions"
	WebhookKey = "whylet-webhook"
)

// WebhookFor makes what the chart makes with front.deletions. authority is the front's;
// key is that of the Secret, empty for a new one.
func WebhookFor(namespace, authority, key string) []*unstructured.Unstructured {
	if key == "" {
		key = strings.ToLower(rand.Text()) // as the API server wants a path to be
	}
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	meta := func(name string, more map[string]any) map[string]any {
		more["name"], more["labels"] = name, map[string]any{"app.kubernetes.io/name": "whylet", "app.kubernetes.io/managed-by": ManagedBy}
		return more
	}
	rule := func(operation, resource string) map[string]any {
		return map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{operation}, "resources": []any{resource}, "scope": "Namespaced",
		}
	}
	return []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": meta(WebhookKey, map[string]any{"namespace": namespace}),
			"data": map[string]any{"key": encoded(key)},
		}},
		{Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": meta(Deletions, map[string]any{}),
			"webhooks": []any{map[string]any{
				"name": "deletions.why.whylet.dev", "admissionReviewVersions": []any{"v1"},
				"failurePolicy": "Ignore", "timeoutSeconds": int64(1), "sideEffects": "NoneOnDryRun",
				"matchConditions": []any{map[string]any{"name": "not-a-node", "expression": "!request.userInfo.username.startsWith('system:node:')"}},
				"rules":           []any{rule("DELETE", "pods"), rule("CREATE", "pods/eviction")},
				"clientConfig": map[string]any{
					"caBundle": encoded(authority),
					"service":  map[string]any{"name": Front, "namespace": namespace, "port": int64(8443), "path": "/deletions/" + key},
				},
			}},
		}},
	}
}
