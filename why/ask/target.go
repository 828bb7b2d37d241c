package ask

import (
	"fmt"
	"strings"
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

// kinds are the names that kubectl knows them by.
var kinds = map[string]string{
	"pod": "pod", "pods": "pod", "po": "pod",
	"deployment": "deployment", "deployments": "deployment", "deploy": "deployment",
	"replicaset": "replicaset", "replicasets": "replicaset", "rs": "replicaset",
	"statefulset": "statefulset", "statefulsets": "statefulset", "sts": "statefulset",
	"daemonset": "daemonset", "daemonsets": "daemonset", "ds": "daemonset",
	"job": "job", "jobs": "job",
	"cronjob": "cronjob", "cronjobs": "cronjob", "cj": "cronjob",
	"service": "service", "services": "service", "svc": "service",
	"node": "node", "nodes": "node", "no": "node",
}

// Kinds are what can be asked about, in the order in which people are told of them.
var Kinds = []string{"pod", "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob", "service", "node"}

// Kind is the kind that a user named; ok is false for one that cannot be asked about.
// What follows a dot, as in deployments.apps, says nothing more.
func Kind(name string) (kind string, ok bool) {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	kind, ok = kinds[name]
	return kind, ok
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
	return fmt.Errorf("%q is not a kind that why knows: %s", kind, strings.Join(Kinds, ", "))
}
