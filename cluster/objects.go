package cluster

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"text/template"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/cluster/pki"
)

// FrontUser is who a node is while it answers questions that others wrote into the cluster. It may do
// what the role of an installed front allows, and ask nodes, to which it has no streams.
const FrontUser = "whylet:front"

// AsFront returns a configuration that acts with a front's rights, whatever the given one may do.
func AsFront(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: FrontUser}
	return config
}

// fieldManager owns the fields of objects.yaml in the API.
const fieldManager = "whylet"

//go:embed objects.yaml
var objectsYAML string

var objectsTemplate = template.Must(template.New("objects.yaml").Option("missingkey=error").Parse(objectsYAML))

// objects returns the API objects of objects.yaml for c.
func objects(c Config) ([]*unstructured.Unstructured, error) {
	var text bytes.Buffer
	err := objectsTemplate.Execute(&text, map[string]any{
		"DNSAddress": c.serviceIP(dnsIndex).String(), "DNSPort": dnsPort, "HostAddress": c.HostAddress,
		"DNSUser": pki.DNSUser, "KubeletClientUser": pki.KubeletClientUser, "FrontUser": FrontUser,
	})
	if err != nil {
		return nil, fmt.Errorf("render objects: %w", err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(&text, 4096)
	var out []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode objects: %w", err)
		}
		out = append(out, object)
	}
}

// applyObjects writes the objects by server-side apply, all at once: what drifted
// is put right, what others added to them stays. It tries again until ctx ends,
// since namespaces and allocators come up after the API does.
func applyObjects(ctx context.Context, c Config, api *rest.Config) error {
	wanted, err := objects(c)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("client for objects: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, object := range wanted {
		group.Go(func() error { return apply(ctx, client, object) })
	}
	return group.Wait()
}

func apply(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured) error {
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	var last error
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = client.Resource(resource).Namespace(object.GetNamespace()).Apply(ctx, object.GetName(), object, options)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("write %s %s: %w", object.GetKind(), object.GetName(), last)
	}
	return nil
}
