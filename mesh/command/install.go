package command

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	applyrbac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/webhook"
)

var applyOptions = metav1.ApplyOptions{FieldManager: "whylet-mesh-enable", Force: true}

var labels = map[string]string{"app.kubernetes.io/name": serviceName}

// install puts the control plane into the cluster, or brings it up to date.
func (o *enableOptions) install(ctx context.Context, client kubernetes.Interface, form mesh.Form) error {
	core, rbac := client.CoreV1(), client.RbacV1()
	steps := []func() error{
		func() error {
			return applied(core.Namespaces().Apply(ctx, applycore.Namespace(meshNamespace), applyOptions))
		},
		func() error {
			return applied(core.ServiceAccounts(meshNamespace).Apply(ctx, applycore.ServiceAccount(serviceName, meshNamespace), applyOptions))
		},
		func() error { return applied(rbac.Roles(meshNamespace).Apply(ctx, role(), applyOptions)) },
		func() error { return applied(rbac.RoleBindings(meshNamespace).Apply(ctx, roleBinding(), applyOptions)) },
		func() error { return applied(rbac.ClusterRoles().Apply(ctx, clusterRole(), applyOptions)) },
		func() error {
			return applied(rbac.ClusterRoleBindings().Apply(ctx, clusterRoleBinding(), applyOptions))
		},
		func() error { return applied(core.Services(meshNamespace).Apply(ctx, service(), applyOptions)) },
		func() error {
			return applied(client.AppsV1().Deployments(meshNamespace).Apply(ctx, o.deployment(form), applyOptions))
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("install the mesh's control plane: %w", err)
		}
	}
	return nil
}

func applied[T any](_ T, err error) error { return err }

// role lets the control plane keep its CA.
func role() *applyrbac.RoleApplyConfiguration {
	return applyrbac.Role(serviceName, meshNamespace).WithRules(
		applyrbac.PolicyRule().WithAPIGroups("").WithResources("secrets").WithVerbs("create"),
		applyrbac.PolicyRule().WithAPIGroups("").WithResources("secrets").WithResourceNames(webhook.SecretName).WithVerbs("get", "update"),
	)
}

// clusterRole lets it register its webhook, check tokens, and see who is a member.
func clusterRole() *applyrbac.ClusterRoleApplyConfiguration {
	return applyrbac.ClusterRole(serviceName).WithRules(
		applyrbac.PolicyRule().WithAPIGroups("admissionregistration.k8s.io").WithResources("mutatingwebhookconfigurations").WithVerbs("create"),
		applyrbac.PolicyRule().WithAPIGroups("admissionregistration.k8s.io").WithResources("mutatingwebhookconfigurations").
			WithResourceNames(webhook.ConfigurationName).WithVerbs("get", "patch"),
		applyrbac.PolicyRule().WithAPIGroups("authentication.k8s.io").WithResources("tokenreviews").WithVerbs("create"),
		applyrbac.PolicyRule().WithAPIGroups("").WithResources("pods", "services").WithVerbs("list", "watch"),
		applyrbac.PolicyRule().WithAPIGroups("discovery.k8s.io").WithResources("endpointslices").WithVerbs("list", "watch"),
	)
}

func subject() *applyrbac.SubjectApplyConfiguration {
	return applyrbac.Subject().WithKind("ServiceAccount").WithName(serviceName).WithNamespace(meshNamespace)
}

func roleBinding() *applyrbac.RoleBindingApplyConfiguration {
	return applyrbac.RoleBinding(serviceName, meshNamespace).WithSubjects(subject()).
		WithRoleRef(applyrbac.RoleRef().WithAPIGroup("rbac.authorization.k8s.io").WithKind("Role").WithName(serviceName))
}

func clusterRoleBinding() *applyrbac.ClusterRoleBindingApplyConfiguration {
	return applyrbac.ClusterRoleBinding(serviceName).WithSubjects(subject()).
		WithRoleRef(applyrbac.RoleRef().WithAPIGroup("rbac.authorization.k8s.io").WithKind("ClusterRole").WithName(serviceName))
}

func service() *applycore.ServiceApplyConfiguration {
	return applycore.Service(serviceName, meshNamespace).WithSpec(applycore.ServiceSpec().
		WithSelector(labels).
		WithPorts(applycore.ServicePort().WithName("https").WithPort(webhook.ServicePort).WithTargetPort(intstr.FromInt32(webhook.ServicePort))))
}

func (o *enableOptions) deployment(form mesh.Form) *applyapps.DeploymentApplyConfiguration {
	args := []string{"mesh", "webhook", "--service", serviceName, "--image", o.image, "--compat", string(form)}
	if o.probesOnly {
		args = append(args, "--probes-only")
	}
	if o.strict {
		args = append(args, "--strict")
	}
	container := applycore.Container().WithName("webhook").WithImage(o.image).WithImagePullPolicy("IfNotPresent").WithArgs(args...).
		WithPorts(applycore.ContainerPort().WithName("https").WithContainerPort(webhook.ServicePort)).
		WithReadinessProbe(applycore.Probe().WithTCPSocket(applycore.TCPSocketAction().WithPort(intstr.FromString("https"))).WithPeriodSeconds(1)).
		WithSecurityContext(applycore.SecurityContext().
			WithRunAsNonRoot(true).WithRunAsUser(mesh.ProxyUID).WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).
			WithCapabilities(applycore.Capabilities().WithDrop("ALL")))
	return applyapps.Deployment(serviceName, meshNamespace).WithSpec(applyapps.DeploymentSpec().
		WithReplicas(1).
		WithSelector(applymeta.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(applycore.PodTemplateSpec().WithLabels(labels).
			WithSpec(applycore.PodSpec().WithServiceAccountName(serviceName).WithContainers(container))))
}
