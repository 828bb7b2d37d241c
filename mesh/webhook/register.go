package webhook

import (
	"context"
	"fmt"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyadmission "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/mesh"
)

// ConfigurationName is the MutatingWebhookConfiguration's name, and the manager
// of its fields.
const ConfigurationName = "whylet-mesh"

// ServicePort is the port of the Service in front of the webhook, and of the
// webhook behind it.
const ServicePort = 8443

// timeoutSeconds bounds how long the creation of a pod waits for the webhook.
const timeoutSeconds = 5

// Registration says how the API server reaches the webhook, and what it does when
// it cannot.
type Registration struct {
	// URL is where the webhook listens, for an API server that can reach it there;
	// otherwise Service is in front of it.
	URL       string
	Service   string
	Namespace string // the control plane's, which never is in the mesh
	CABundle  []byte
	// Strict refuses pods while the webhook cannot be reached, instead of
	// admitting them without the mesh.
	Strict bool
}

// Register makes or changes the configuration. Pods come to the webhook for one
// of three reasons: their namespace opted in, or their label, or their annotation.
func Register(ctx context.Context, client kubernetes.Interface, r Registration) error {
	config := applyadmission.MutatingWebhookConfiguration(ConfigurationName).WithWebhooks(
		r.webhook("namespace", NamespacePath).
			WithNamespaceSelector(applymeta.LabelSelector().WithMatchExpressions(optedIn(), r.elsewhere())),
		r.webhook("label", PodPath).
			WithNamespaceSelector(applymeta.LabelSelector().WithMatchExpressions(r.elsewhere())).
			WithObjectSelector(applymeta.LabelSelector().WithMatchExpressions(optedIn())),
		r.webhook("annotation", PodPath).
			WithNamespaceSelector(applymeta.LabelSelector().WithMatchExpressions(r.elsewhere())).
			WithMatchConditions(applyadmission.MatchCondition().WithName("annotated").WithExpression(
				fmt.Sprintf("has(object.metadata.annotations) && %q in object.metadata.annotations", mesh.InjectKey))),
	)
	_, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().
		Apply(ctx, config, metav1.ApplyOptions{FieldManager: ConfigurationName, Force: true})
	if err != nil {
		return fmt.Errorf("register the webhook %s: %w", ConfigurationName, err)
	}
	return nil
}

// Unregister removes the configuration.
func Unregister(ctx context.Context, client kubernetes.Interface) error {
	err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, ConfigurationName, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("remove the webhook %s: %w", ConfigurationName, err)
	}
	return nil
}

func optedIn() *applymeta.LabelSelectorRequirementApplyConfiguration {
	return applymeta.LabelSelectorRequirement().WithKey(mesh.InjectKey).
		WithOperator(metav1.LabelSelectorOpIn).WithValues(mesh.Enabled, "true")
}

// elsewhere leaves out the namespaces on which the cluster and the mesh depend.
func (r Registration) elsewhere() *applymeta.LabelSelectorRequirementApplyConfiguration {
	return applymeta.LabelSelectorRequirement().WithKey(v1.LabelMetadataName).
		WithOperator(metav1.LabelSelectorOpNotIn).WithValues("kube-system", r.Namespace)
}

func (r Registration) webhook(name, path string) *applyadmission.MutatingWebhookApplyConfiguration {
	client := applyadmission.WebhookClientConfig().WithCABundle(r.CABundle...)
	if r.URL != "" {
		client = client.WithURL(r.URL + path)
	} else {
		client = client.WithService(applyadmission.ServiceReference().
			WithName(r.Service).WithNamespace(r.Namespace).WithPort(ServicePort).WithPath(path))
	}
	policy := admissionregistration.Ignore
	if r.Strict {
		policy = admissionregistration.Fail
	}
	return applyadmission.MutatingWebhook().
		WithName(name + ".mesh.whylet.dev").
		WithClientConfig(client).
		WithRules(applyadmission.RuleWithOperations().
			WithOperations(admissionregistration.Create).
			WithAPIGroups("").WithAPIVersions("v1").WithResources("pods").
			WithScope(admissionregistration.NamespacedScope)).
		WithSideEffects(admissionregistration.SideEffectClassNone).
		WithAdmissionReviewVersions("v1").
		WithFailurePolicy(policy).
		WithReinvocationPolicy(admissionregistration.IfNeededReinvocationPolicy).
		WithTimeoutSeconds(timeoutSeconds)
}
