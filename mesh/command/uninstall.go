package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/webhook"
)

func newUninstallCommand(env Env) *cobra.Command {
	a := access{env: env}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take the mesh out of the cluster",
		Long: `Take the mesh out of the cluster: its webhook, its control plane with the authority,
and the labels of the namespaces. Pods that are in the mesh stay in it until they are
made anew; their certificates are good for an hour at most, and then they refuse one
another.`,
		Example: `  whylet mesh uninstall
  kubectl rollout restart deployment -n shop   # for each namespace that it names`,
		Args: env.args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, _, err := a.client()
			if err != nil {
				return err
			}
			return a.uninstall(cmd.Context(), client)
		},
	}
	a.addFlags(cmd)
	return cmd
}

// uninstall removes the webhook first, so that no pod comes in while the rest goes.
func (a *access) uninstall(ctx context.Context, client kubernetes.Interface) error {
	rbac := client.RbacV1()
	steps := []func() error{
		func() error { return webhook.Unregister(ctx, client) },
		func() error { return rbac.ClusterRoleBindings().Delete(ctx, serviceName, metav1.DeleteOptions{}) },
		func() error { return rbac.ClusterRoles().Delete(ctx, serviceName, metav1.DeleteOptions{}) },
		func() error { return client.CoreV1().Namespaces().Delete(ctx, meshNamespace, metav1.DeleteOptions{}) },
	}
	for _, step := range steps {
		if err := step(); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("uninstall the mesh: %w", err)
		}
	}
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: mesh.InjectKey})
	if err != nil {
		return fmt.Errorf("list the namespaces of the mesh: %w", err)
	}
	for i := range list.Items {
		name := list.Items[i].Name
		// Applied without the label, it goes: it was applied with it.
		if _, err := client.CoreV1().Namespaces().Apply(ctx, applycore.Namespace(name), applyOptions); err != nil {
			return fmt.Errorf("take the label off namespace %s: %w", name, err)
		}
		if _, err := fmt.Fprintf(a.env.Err, "Pods of %s that run are in the mesh still:\n  kubectl rollout restart deployment -n %[1]s\n", name); err != nil {
			return err
		}
	}
	return nil
}
