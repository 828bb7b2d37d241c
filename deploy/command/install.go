package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/deploy"
	"whylet.dev/whylet/exit"
)

type install struct {
	options
	output, dryRun string
	deletions      bool
	renew          bool
}

func newInstall(env Env) *cobra.Command {
	o := &install{options: options{Env: env}}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Put an agent on each node of a cluster, and a front that is asked",
		Long: `Put an agent on each node of a cluster, beside the kubelets that are there, and a front,
which kubectl why asks. They watch, and change nothing but answers; who may view a
namespace may ask about it.
It says what it will make, and asks once. Said again it brings what is there up to date.

It needs the rights of a cluster administrator. What else can be set is in the Helm
chart, of whose templates these manifests are made.`,
		Example: `  kubectl why install
  kubectl why install --dry-run -o yaml > whylet.yaml    # for kubectl apply -f, or to read
  kubectl why install --deletions                        # answers then say who deleted a pod
  kubectl why install --registry registry.example/whylet --yes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.registerChange(cmd)
	f := cmd.Flags()
	f.StringVar(&o.dryRun, "dry-run", "none", "none, client (print what would be made) or server (have the API server check it)")
	f.Lookup("dry-run").NoOptDefVal = "client"
	f.BoolVar(&o.deletions, "deletions", false, "also make a webhook that is told who asks for the end of pods; it refuses nobody")
	f.BoolVar(&o.renew, "renew", false, "make the front's authority anew, as an installation does by itself in the last of its five years")
	f.StringToStringVar(&o.digests, "digest", nil, "run exactly these images: observe=sha256:…,front=sha256:… (a release's notes name them)")
	f.StringVar(&o.runtime, "runtime-endpoint", "", "the container runtime's socket on the nodes, unix://…, or none (default: agents take what kubelet is configured with, else look at the usual places)")
	f.StringVarP(&o.output, "output", "o", "name", "of --dry-run: name or yaml")
	return cmd
}

// fieldManager is who the API server is told changes things.
const fieldManager = "kubectl-why"

func (o *install) run(ctx context.Context) error {
	settings := o.settings()
	objects, err := settings.Objects()
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	certificate, err := deploy.Certificate(o.namespace(), time.Now(), "")
	if err != nil {
		return err
	}
	made := certificate
	if o.deletions {
		made = slices.Concat(certificate, deploy.WebhookFor(o.namespace(), authorityIn(certificate), ""))
	}
	switch {
	case o.dryRun != "none" && o.dryRun != "client" && o.dryRun != "server", o.output != "name" && o.output != "yaml":
		return exit.UsageError("--dry-run is none, client or server; -o is name or yaml")
	case o.dryRun == "client" && o.output == "yaml":
		return o.print(settings, made)
	case o.dryRun == "client":
		return names(o.Out, slices.Concat(objects, made))
	case o.dryRun == "none":
		if err := o.announce(slices.Concat(objects, made)); err != nil {
			return err
		}
	}
	typed, client, err := o.clients()
	if err != nil {
		return err
	}
	mapper, err := o.config.ToRESTMapper()
	if err != nil {
		return err
	}
	if objects, err = o.withSecrets(ctx, typed, objects, made); err != nil {
		return err
	}
	if err := apply(ctx, client, mapper, objects, o.dryRun == "server"); err != nil || o.dryRun == "server" {
		return err
	}
	return o.ready(ctx, typed)
}

// withSecrets adds what has secrets in it: what was made now where the cluster has none.
func (o *install) withSecrets(ctx context.Context, typed kubernetes.Interface, objects, made []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	secrets := typed.CoreV1().Secrets(o.namespace())
	pair, err := secrets.Get(ctx, deploy.Front, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return slices.Insert(objects, 1, made...), nil // behind the namespace
	} else if err != nil {
		return nil, err
	}
	known, err := typed.CoreV1().ConfigMaps(o.namespace()).Get(ctx, deploy.Front, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("the front's authority: %w", err)
	}
	authority := known.Data["ca.crt"]
	if o.renew || deploy.IsDue(pair.Data["tls.crt"], time.Now()) {
		certificate, err := deploy.Certificate(o.namespace(), time.Now(), authority)
		if err != nil {
			return nil, err
		}
		authority = authorityIn(certificate)
		objects = slices.Insert(objects, 1, certificate...)
	}
	key, err := secrets.Get(ctx, deploy.WebhookKey, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if err == nil || o.deletions { // one that is there knows the front by the same authority
		objects = append(objects, deploy.WebhookFor(o.namespace(), authority, string(key.Data["key"]))...)
	}
	return objects, nil
}

// authorityIn is who vouches for a new certificate.
func authorityIn(certificate []*unstructured.Unstructured) string {
	for _, o := range certificate {
		if text, ok, _ := unstructured.NestedString(o.Object, "data", "ca.crt"); ok {
			return text
		}
	}
	return ""
}

// print writes the manifests, and what has secrets of their own.
func (o *install) print(settings deploy.Options, certificate []*unstructured.Unstructured) error {
	text, err := settings.Text()
	if err != nil {
		return err
	}
	for _, object := range certificate {
		b, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		text += "---\n" + string(b)
	}
	_, err = io.WriteString(o.Out, text)
	return err
}

func (o *install) announce(objects []*unstructured.Unstructured) error {
	o.say("In %s this is made, or brought up to date:\n\n", o.cluster())
	if err := names(o.Err, objects); err != nil {
		return err
	}
	o.say("\nOn each node: %s, at most 128 MiB. Nothing else there is changed.\n", deploy.DataDir)
	return o.agreed("Go on?")
}

// names lists objects as kubectl names them.
func names(out io.Writer, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		where := ""
		if ns := object.GetNamespace(); ns != "" {
			where = " in " + ns
		}
		if _, err := fmt.Fprintf(out, "  %s %s%s\n", object.GetKind(), object.GetName(), where); err != nil {
			return err
		}
	}
	return nil
}

// apply makes the objects, or brings them up to date, in their order.
func apply(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, objects []*unstructured.Unstructured, dry bool) error {
	settings := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if dry {
		settings.DryRun = []string{metav1.DryRunAll}
	}
	for _, object := range objects {
		at, err := resource(client, mapper, object)
		if meta.IsNoMatchError(err) && strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") {
			continue // before Kubernetes 1.30 there are none; a front removes what they would have refused
		}
		if err != nil {
			return err
		}
		if _, err := at.Apply(ctx, object.GetName(), object, settings); err != nil {
			return fmt.Errorf("%s: %w", path.Join(object.GetKind(), object.GetName()), err)
		}
	}
	return nil
}

// resource is where an object is at the API server.
func resource(client dynamic.Interface, mapper meta.RESTMapper, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("the API server has no %s: %w", kind.Kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return client.Resource(mapping.Resource), nil
}

// ready waits for the agents and the front.
func (o *install) ready(ctx context.Context, typed kubernetes.Interface) error {
	agents := rollout{client: typed, namespace: o.namespace(), name: deploy.Agent, what: "agents", say: o.say}
	late, err := agents.wait(ctx, o.wait)
	if err != nil {
		return err
	}
	front := rollout{client: typed, namespace: o.namespace(), name: deploy.Front, what: "front", say: o.say, look: rollout.deployment}
	lateFront, err := front.wait(ctx, o.wait)
	if err != nil {
		return err
	}
	if late = append(late, lateFront...); len(late) > 0 {
		return exit.With(exit.Failed, fmt.Errorf("what does not run yet, and may later:\n  %s%s", lines(late), o.advice(late)))
	}
	o.say("\nEach node has its agent, and the front answers.\n\n  kubectl why doctor      what the nodes let be seen\n  kubectl why --all -A    everything unhealthy, worst first\n")
	return nil
}

// advice is the step for images that do not come.
func (o *install) advice(late []string) string {
	for _, l := range late {
		for _, reason := range imageReasons {
			if strings.Contains(l, ": "+reason+" ") {
				return fmt.Sprintf("\nThe nodes cannot get the images from %s. Name a registry that has them: kubectl why install --registry REGISTRY --tag TAG", cmp.Or(o.registry, deploy.Registry))
			}
		}
	}
	return ""
}
