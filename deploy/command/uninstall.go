package command

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/deploy"
	"whylet.dev/whylet/exit"
)

type uninstall struct{ options }

func newUninstall(env Env) *cobra.Command {
	o := &uninstall{options: options{Env: env}}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the agents, and what they kept on their nodes",
		Long: `Remove the agents, what they kept on their nodes, and all that kubectl why install made.
It says what goes, and asks once.

What agents kept is removed by a DaemonSet that lives for that long. Nodes that are away
are named: their folder stays. What Helm installed Helm removes (helm uninstall); then
this removes what that leaves on the nodes.`,
		Example: `  kubectl why uninstall
  kubectl why uninstall --yes --wait 10m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.registerChange(cmd)
	return cmd
}

func (o *uninstall) run(ctx context.Context) error {
	objects, err := o.settings().Objects()
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	certificate, err := deploy.Certificate(o.namespace(), time.Now(), "")
	if err != nil {
		return err
	}
	objects = append(slices.Insert(objects, 1, certificate...), deploy.WebhookFor(o.namespace(), "", "")...)
	typed, _, err := o.clients()
	if err != nil {
		return err
	}
	agent, err := o.agentOf(ctx, typed, objects)
	if err != nil {
		return err
	}
	there, err := o.there(ctx, objects)
	if err != nil {
		return err
	}
	if _, err := typed.CoreV1().Namespaces().Get(ctx, o.namespace(), metav1.GetOptions{}); apierrors.IsNotFound(err) && len(there) == 0 {
		o.say("Nothing of it is in %s.\n", o.cluster())
		return nil
	}
	dir, err := deploy.DataDirOf(agent)
	if err != nil {
		return err
	}
	o.say("From %s this is removed:\n\n", o.cluster())
	if err := names(o.Err, there); err != nil {
		return err
	}
	o.say("\nOn each node: %s, with all that is remembered there.\n", dir)
	if err := o.agreed("Go on?"); err != nil {
		return err
	}
	late, err := o.clean(ctx, typed, agent)
	if err != nil {
		return err
	}
	if err := o.remove(ctx, there); err != nil {
		return err
	}
	if len(late) > 0 {
		return exit.With(exit.Failed, fmt.Errorf("all else is removed, but %s may be there still on these nodes:\n  %s", dir, lines(late)))
	}
	o.say("\nNothing is left.\n")
	return nil
}

// agentOf is the agents' DaemonSet: that of the cluster, whatever was set there; else as
// it would be.
func (o *uninstall) agentOf(ctx context.Context, typed kubernetes.Interface, objects []*unstructured.Unstructured) (*appsv1.DaemonSet, error) {
	agent, err := typed.AppsV1().DaemonSets(o.namespace()).Get(ctx, deploy.Agent, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		i := slices.IndexFunc(objects, func(u *unstructured.Unstructured) bool {
			return u.GetName() == deploy.Agent && u.GetKind() == "DaemonSet"
		})
		agent = &appsv1.DaemonSet{}
		// Its priority class and its service account may be gone, and it needs neither.
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, agent)
		agent.Spec.Template.Spec.PriorityClassName = ""
		return agent, err
	case err != nil:
		return nil, err
	}
	if by := agent.Labels["app.kubernetes.io/managed-by"]; by == "Helm" {
		return nil, exit.With(exit.Failed, fmt.Errorf("helm installed it, so first: helm uninstall %s -n %s; then this again removes what that leaves on the nodes",
			agent.Annotations["meta.helm.sh/release-name"], o.namespace()))
	}
	return agent, nil
}

// there are those of the objects that the cluster has, and that are not Helm's.
func (o *uninstall) there(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	_, client, err := o.clients()
	if err != nil {
		return nil, err
	}
	mapper, err := o.config.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	var there []*unstructured.Unstructured
	for _, object := range slices.Backward(objects) {
		at, err := resource(client, mapper, object)
		if err != nil {
			continue // a kind that the cluster does not have: none of it is there
		}
		found, err := at.Get(ctx, object.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		case object.GetKind() == "Namespace" && found.GetLabels()["app.kubernetes.io/managed-by"] != deploy.ManagedBy: // it was there before
		case found.GetLabels()["app.kubernetes.io/managed-by"] != "Helm":
			there = append(there, found)
		}
	}
	return there, nil
}

// clean ends the agents and has their folders removed. It gives the nodes on which that
// could not be done.
func (o *uninstall) clean(ctx context.Context, typed kubernetes.Interface, agent *appsv1.DaemonSet) ([]string, error) {
	sets := typed.AppsV1().DaemonSets(o.namespace())
	began, err := o.began(ctx, typed, agent)
	if err != nil {
		return nil, err
	}
	foreground := metav1.DeletePropagationForeground
	if err := o.gone(ctx, "agents", func(ctx context.Context) error {
		return sets.Delete(ctx, deploy.Agent, metav1.DeleteOptions{PropagationPolicy: &foreground})
	}); err != nil {
		return nil, err
	}
	if began.nowhere {
		return nil, nil // no folder was made
	}
	cleaner, err := deploy.Clean(agent, began.image)
	if err != nil {
		return nil, err
	}
	if _, err := typed.CoreV1().Namespaces().Get(ctx, o.namespace(), metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return nil, exit.With(exit.Failed, fmt.Errorf("there is no namespace %s for the pods that clean; nothing was changed", o.namespace()))
	}
	if _, err := sets.Create(ctx, cleaner, metav1.CreateOptions{FieldManager: fieldManager}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("the pods that clean: %w", err)
	}
	late, err := rollout{client: typed, namespace: o.namespace(), name: deploy.Cleaner, what: "cleaned", say: o.say, impatient: true}.wait(ctx, o.wait)
	if err != nil {
		return nil, err
	}
	away, err := awayNodes(ctx, typed)
	if err != nil {
		return nil, err
	}
	err = o.gone(ctx, "pods that cleaned", func(ctx context.Context) error {
		return sets.Delete(ctx, deploy.Cleaner, metav1.DeleteOptions{PropagationPolicy: &foreground})
	})
	return append(late, away...), err
}

// beginnings are what is known of how agents began on their nodes.
type beginnings struct {
	// nowhere is set if no agent of any revision has had a container on any node.
	nowhere bool
	// image is one that agents run, and so one that nodes have; empty if none runs.
	image string
}

// began looks at the agents' pods, while there are any. The runtime makes an agent's folder
// with its container, so that an image that never came left nothing on the nodes.
func (o *uninstall) began(ctx context.Context, typed kubernetes.Interface, agent *appsv1.DaemonSet) (b beginnings, err error) {
	if agent.UID == "" { // it is gone, and its pods with it
		return b, nil
	}
	pods, err := typed.CoreV1().Pods(o.namespace()).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(agent.Spec.Selector)})
	if err != nil {
		return b, err
	}
	images, none := map[string]int{}, true
	for i := range pods.Items {
		none = none && hasNoImage(&pods.Items[i])
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			if c.State.Running != nil && len(pods.Items[i].Spec.Containers) > 0 {
				images[pods.Items[i].Spec.Containers[0].Image]++
			}
		}
	}
	most := 0
	for _, name := range slices.Sorted(maps.Keys(images)) {
		if images[name] > most {
			b.image, most = name, images[name]
		}
	}
	// An earlier revision may have run where this one does not, and kubelet made folders of
	// a certain type before the image came, as agents of earlier releases have.
	b.nowhere = none && len(pods.Items) > 0 && agent.Generation == 1 && len(pods.Items) >= int(agent.Status.DesiredNumberScheduled) && !deploy.FolderComesFirst(agent)
	return b, nil
}

// hasNoImage reports whether kubelet says that an agent's pod never had its image. A pod of which nothing
// is said yet may be starting this instant.
func hasNoImage(pod *v1.Pod) bool {
	if pod.Spec.NodeName == "" {
		return true
	}
	containers := pod.Status.ContainerStatuses
	return len(containers) > 0 && !slices.ContainsFunc(containers, func(c v1.ContainerStatus) bool {
		return c.ContainerID != "" || c.RestartCount > 0 || c.LastTerminationState.Terminated != nil || c.State.Waiting == nil || !slices.Contains(imageReasons, c.State.Waiting.Reason)
	})
}

// gone deletes until there is nothing to delete.
func (o *options) gone(ctx context.Context, what string, remove func(context.Context) error) error {
	over := time.After(o.wait)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if err := remove(ctx); apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("ending the %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return exit.With(exit.Failed, fmt.Errorf("ending the %s: not done after %v; the same command goes on from here", what, o.wait))
		case <-ticker.C:
		}
	}
}

// awayNodes names nodes that are not Ready: what a pod of theirs last said may be old.
func awayNodes(ctx context.Context, typed kubernetes.Interface) ([]string, error) {
	nodes, err := typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var away []string
	for i := range nodes.Items {
		if n := &nodes.Items[i]; !isReady(n) {
			away = append(away, n.Name+": the node is not Ready")
		}
	}
	return away, nil
}

// remove deletes the objects, and waits until the namespace is gone, if it is one of them.
func (o *uninstall) remove(ctx context.Context, there []*unstructured.Unstructured) error {
	_, client, err := o.clients()
	if err != nil {
		return err
	}
	mapper, err := o.config.ToRESTMapper()
	if err != nil {
		return err
	}
	for _, object := range there {
		at, err := resource(client, mapper, object)
		if err != nil {
			return err
		}
		if err := o.gone(ctx, path.Join(object.GetKind(), object.GetName()), func(ctx context.Context) error {
			return at.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
		}); err != nil {
			return err
		}
	}
	return nil
}
