package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/webhook"
)

// meshNamespace has the mesh's own objects, and serviceName its webhook.
const (
	meshNamespace = "whylet-mesh"
	serviceName   = "whylet-mesh"
	serviceHost   = serviceName + "." + meshNamespace + ".svc"
)

type enableOptions struct {
	access
	image, compat      string
	strict, probesOnly bool
	off                bool
	wait               time.Duration
}

func newEnableCommand(env Env) *cobra.Command {
	o := enableOptions{access: access{env: env}}
	cmd := &cobra.Command{
		Use:   "enable NAMESPACE",
		Short: "Put the pods of a namespace into the mesh, from now on",
		Long: `Put the pods that are created in a namespace from now on into the mesh. Those that
run stay as they are: kubectl rollout restart makes them anew.

The first time, the mesh's control plane is put into the cluster, in the namespace
whylet-mesh; --image says where its nodes find the image (see whylet mesh image).
--off takes the namespace out again.`,
		Example: `  whylet mesh enable shop
  whylet mesh enable shop --image registry.example/mesh:1
  whylet mesh enable shop --off`,
		Args: env.args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			form, err := env.form(o.compat)
			if err != nil {
				return err
			}
			client, _, err := o.client()
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), client, args[0], form)
		},
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.image, "image", DefaultImage, "image of the mesh's containers")
	f.BoolVar(&o.probesOnly, "probes-only", false, "only what probes need: no redirect, no mutual TLS")
	f.BoolVar(&o.strict, "strict", false, "refuse pods while the webhook cannot be reached")
	f.BoolVar(&o.off, "off", false, "take the namespace out of the mesh")
	f.DurationVar(&o.wait, "wait", 2*time.Minute, "how long to wait for the control plane")
	addCompatFlag(cmd, &o.compat)
	return cmd
}

func (o *enableOptions) run(ctx context.Context, client kubernetes.Interface, namespace string, form mesh.Form) error {
	if namespace == meshNamespace || namespace == "kube-system" {
		return o.env.usage("%s cannot be in the mesh: the mesh depends on it", namespace)
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("read namespace %s: %w", namespace, err)
	}
	value := mesh.Enabled
	if o.off {
		value = mesh.Disabled
	} else if err := o.controlPlane(ctx, client, form); err != nil {
		return err
	}
	label := applycore.Namespace(namespace).WithLabels(map[string]string{mesh.InjectKey: value})
	if _, err := client.CoreV1().Namespaces().Apply(ctx, label, applyOptions); err != nil {
		return fmt.Errorf("label namespace %s: %w", namespace, err)
	}
	text := "Pods created in %s are in the mesh from now on; those that run are not:\n  kubectl rollout restart deployment -n %[1]s\n"
	if o.off {
		text = "Pods created in %s are not in the mesh any more; those that run still are:\n  kubectl rollout restart deployment -n %[1]s\n"
	}
	_, err := fmt.Fprintf(o.env.Err, text, namespace)
	return err
}

// controlPlane installs it unless a webhook is registered that was started
// otherwise, and waits until it can be asked.
func (o *enableOptions) controlPlane(ctx context.Context, client kubernetes.Interface, form mesh.Form) error {
	registered, err := isRegistered(ctx, client)
	if err != nil {
		return err
	}
	_, err = client.AppsV1().Deployments(meshNamespace).Get(ctx, serviceName, metav1.GetOptions{})
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("look for the mesh's control plane: %w", err)
	case err != nil && registered:
		return nil // it runs elsewhere
	}
	if err := o.install(ctx, client, form); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	for {
		up, err := isUp(ctx, client)
		if err == nil && up {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the mesh's control plane was not up after %v; kubectl get pods -n %s says more: %w", o.wait, meshNamespace, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// isUp says whether the webhook is registered, and answered by ready replicas as
// they are wanted now: one of before that still ends would inject as it was told.
func isUp(ctx context.Context, client kubernetes.Interface) (bool, error) {
	registered, err := isRegistered(ctx, client)
	if err != nil || !registered {
		return false, err
	}
	d, err := client.AppsV1().Deployments(meshNamespace).Get(ctx, serviceName, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("look for the mesh's control plane: %w", err)
	}
	pods, err := client.CoreV1().Pods(meshNamespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
	if err != nil {
		return false, fmt.Errorf("look for the mesh's control plane: %w", err)
	}
	left := slices.DeleteFunc(pods.Items, func(p v1.Pod) bool { return p.Status.Phase == v1.PodFailed || p.Status.Phase == v1.PodSucceeded })
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.Replicas > 0 && s.UpdatedReplicas == s.Replicas && s.ReadyReplicas == s.Replicas &&
		len(left) == int(s.Replicas), nil
}

func isRegistered(ctx context.Context, client kubernetes.Interface) (bool, error) {
	_, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, webhook.ConfigurationName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the mesh's webhook: %w", err)
	}
	return true, nil
}
