package deploy

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed manifests.yaml
var manifests string

// Options say what the manifests are made for.
type Options struct {
	Namespace string
	// Registry has the images observe and front with this Tag; empty: [Registry], and
	// Version.
	Registry, Tag string
	Version       string
	// Digests are sha256:… by image, of those that are pinned.
	Digests map[string]string
	// RuntimeEndpoint is the runtime's socket on the nodes; empty: agents look for it.
	RuntimeEndpoint string
}

// Images are what the manifests run.
var Images = []string{"observe", "front"}

// Defaults of the chart.
const (
	Namespace = "whylet"
	Registry  = "whylet.dev"
	// Agent is the DaemonSet's name, DataDir its folder on each node.
	Agent   = "whylet-agent"
	DataDir = "/var/lib/whylet-observe"
	// ManagedBy marks what kubectl why install made.
	ManagedBy = "kubectl-why"
)

// What stands in the manifests in place of the options.
const (
	markNamespace = "$(NAMESPACE)"
	markRegistry  = "$(REGISTRY)"
	markVersion   = "$(VERSION)"
)

var (
	registryForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._:/-]*$`)
	tagForm      = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`) // a label's value, too
	digestForm   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	endpointForm = regexp.MustCompile(`^(?:none|unix:///[A-Za-z0-9._/-]+)$`)
)

// Text is the manifests with their comments, in the order in which they are applied.
func (o Options) Text() (string, error) {
	if problems := content.IsDNS1123Label(o.Namespace); len(problems) > 0 {
		return "", fmt.Errorf("namespace %q: %s", o.Namespace, strings.Join(problems, "; "))
	}
	registry, tag := cmp.Or(o.Registry, Registry), cmp.Or(o.Tag, o.Version)
	if !registryForm.MatchString(registry) || !tagForm.MatchString(tag) || !tagForm.MatchString(o.Version) {
		return "", fmt.Errorf("%q is no registry, or %q no tag of an image", registry, tag)
	}
	for image, digest := range o.Digests {
		if !slices.Contains(Images, image) || !digestForm.MatchString(digest) {
			return "", fmt.Errorf("%s=%s is no digest of an image: the images are %s, and a digest is sha256: with 64 digits", image, digest, strings.Join(Images, " and "))
		}
	}
	text := manifests
	for _, image := range Images {
		name := registry + "/" + image + ":" + tag
		if digest := o.Digests[image]; digest != "" {
			name += "@" + digest
		}
		text = strings.ReplaceAll(text, markRegistry+"/"+image+":"+markVersion, name)
	}
	if o.RuntimeEndpoint != "" {
		if !endpointForm.MatchString(o.RuntimeEndpoint) {
			return "", fmt.Errorf("%q is neither a runtime's socket, such as unix:///run/containerd/containerd.sock, nor none", o.RuntimeEndpoint)
		}
		text = strings.Replace(text, "            - agent\n", "            - agent\n            - --runtime-endpoint="+o.RuntimeEndpoint+"\n", 1)
	}
	return strings.NewReplacer(markVersion, o.Version, markNamespace, o.Namespace).Replace(text), nil
}

// Objects are the same as objects.
func (o Options) Objects() ([]*unstructured.Unstructured, error) {
	text, err := o.Text()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("the manifests: %w", err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
