package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/prose"
)

// Target is what is asked about.
type Target struct {
	// Kind is the singular in small letters, such as "pod".
	Kind string
	Name string
	// Namespace is where it is; empty: where the options say.
	Namespace string
}

func (t Target) String() string { return t.Kind + "/" + t.Name }

// kinds are the names that kubectl knows them by: beside these, each in the singular and in the plural.
var kinds = map[string]string{"po": "pod", "deploy": "deployment", "rs": "replicaset", "sts": "statefulset", "ds": "daemonset", "cj": "cronjob", "svc": "service", "no": "node"}

func init() {
	for _, kind := range Kinds {
		kinds[kind], kinds[kind+"s"] = kind, kind
	}
}

// instead says about what to ask where a kind has no answer of its own.
var instead = map[string]string{
	"namespace":               "ask about everything in it: kubectl why --all -n NAME",
	"ingress":                 "ask about the Services that it names (kubectl describe ingress NAME lists them): kubectl why service/NAME",
	"horizontalpodautoscaler": "ask about what it scales (kubectl get hpa NAME shows it): kubectl why deployment/NAME",
	"persistentvolumeclaim":   "ask about the pod that uses it (kubectl describe pvc NAME, at Used By): kubectl why pod/NAME",
	"persistentvolume":        "ask about the pod that uses its claim (kubectl describe pvc CLAIM, at Used By): kubectl why pod/NAME",
	"configmap":               "ask about a pod that reads it: kubectl why pod/NAME",
	"secret":                  "ask about a pod that reads it: kubectl why pod/NAME",
	"endpoints":               "ask about the Service: kubectl why service/NAME",
	"endpointslice":           "ask about the Service: kubectl why service/NAME",
	"networkpolicy":           "ask about a pod that it selects: kubectl why pod/NAME",
	"serviceaccount":          "ask about a pod of it: kubectl why pod/NAME",
	"resourcequota":           "ask about the workload that it keeps from pods: kubectl why deployment/NAME",
	"event":                   "ask about what it is about: kubectl why pod/NAME",
}

// others are the names that kubectl knows such kinds by.
var others = map[string]string{"ing": "ingress", "ingresses": "ingress", "hpa": "horizontalpodautoscaler", "pvc": "persistentvolumeclaim", "pv": "persistentvolume", "cm": "configmap", "ep": "endpoints", "netpol": "networkpolicy", "networkpolicies": "networkpolicy", "sa": "serviceaccount", "quota": "resourcequota", "ev": "event", "ns": "namespace"}

// Kinds are what can be asked about, in the order in which people are told of them.
var Kinds = []string{"pod", "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob", "service", "node"}

// Kind is the kind that a user named; ok is false for one that cannot be asked about.
// What follows a dot, as in deployments.apps, says nothing more.
func Kind(name string) (kind string, ok bool) {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	kind, ok = kinds[name]
	return kind, ok
}

// Namespace returns the namespace that is all that a command line names: ns/NAME, or ns NAME.
func Namespace(args []string) (name string, ok bool) {
	if len(args) == 1 {
		kind, name, _ := strings.Cut(args[0], "/")
		args = []string{kind, name}
	}
	if len(args) != 2 || args[1] == "" || strings.Contains(args[1], "/") || !slices.Contains([]string{"ns", "namespace", "namespaces"}, strings.ToLower(args[0])) {
		return "", false
	}
	return args[1], true
}

// ParseTargets reads NAME…, KIND/NAME… or KIND NAME…, as kubectl does. A lone KIND is
// a target without a name where kindAlone says that something else chooses which.
func ParseTargets(args []string, kindAlone bool) ([]Target, error) {
	if len(args) > 0 && !strings.Contains(args[0], "/") && (len(args) > 1 || kindAlone) {
		if kind, ok := Kind(args[0]); ok {
			return named(kind, args[1:])
		}
		if kindAlone {
			return nil, unknownKind(args[0])
		}
	}
	var all []Target
	for _, arg := range args {
		kind, name, found := strings.Cut(arg, "/")
		if !found {
			kind, name = "pod", arg
		}
		known, ok := Kind(kind)
		if !ok {
			return nil, unknownKind(kind)
		}
		if name == "" {
			return nil, fmt.Errorf("a name is missing after %s", arg)
		}
		all = append(all, Target{Kind: known, Name: name})
	}
	return all, nil
}

func named(kind string, names []string) ([]Target, error) {
	if len(names) == 0 {
		return []Target{{Kind: kind}}, nil
	}
	var all []Target
	for _, name := range names {
		if name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%q is not a name; say KIND NAME… or KIND/NAME…, and not both", name)
		}
		all = append(all, Target{Kind: kind, Name: name})
	}
	return all, nil
}

func unknownKind(kind string) error {
	name, _, _ := strings.Cut(strings.ToLower(kind), ".")
	long := cmp.Or(others[name], name)
	if way := cmp.Or(instead[long], instead[strings.TrimSuffix(long, "s")]); way != "" {
		return fmt.Errorf("%s has no answer of its own; %s", name, way)
	}
	text := fmt.Sprintf("%q is not a kind that why knows: %s", kind, strings.Join(Kinds, ", "))
	if near := prose.Nearest(name, slices.Collect(maps.Keys(kinds))); near != "" {
		text += "; did you mean " + kinds[near] + "?"
	}
	return errors.New(text)
}

// Select lists all of a kind whose labels fit.
func (c *Cluster) Select(ctx context.Context, kind, selector string) ([]Target, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Whole)
	defer cancel()
	k, ok := kindNamed(kind)
	if !ok {
		return nil, unknownKind(kind)
	}
	list, err := c.list(ctx, k, c.options.Namespace, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("listing every %s with %s: %w", kind, selector, err)
	}
	var all []Target
	for _, o := range objects(list) {
		all = append(all, Target{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return all, nil
}
