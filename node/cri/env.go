package cri

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// EnvInput is all that a container's environment is made from.
type EnvInput struct {
	Pod       *v1.Pod
	Container *v1.Container
	// PodIPs are the sandbox's addresses, HostIPs the node's, its primary first.
	PodIPs, HostIPs []string
	// Allocatable is the node's: the limit of a container that has none.
	Allocatable v1.ResourceList
	ConfigMaps  ConfigMaps
	Secrets     Secrets
	// Services lists all services of the cluster. It returns [ErrServicesUnread]
	// as long as they were not listed even once. Nil: there are none.
	Services func() ([]*v1.Service, error)
	// VolumePath gives the host folder of one of the pod's volumes, for fileKeyRef.
	VolumePath func(volume string) (string, error)
}

// ConfigMaps and Secrets read from a cache or the API server. Their errors must
// tell "not found" as the API server does. kubelet's managers fit.
type (
	ConfigMaps interface {
		GetConfigMap(namespace, name string) (*v1.ConfigMap, error)
	}
	Secrets interface {
		GetSecret(namespace, name string) (*v1.Secret, error)
	}
)

// Environment gives a container's environment, each name once: what envFrom
// brings in, then env as declared, then the variables of services. Later ones
// replace earlier ones; $(NAME) in a value stands for what is known by then.
//
// An error is worded as kubelet words it in CreateContainerConfigError
// (pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables).
func Environment(in EnvInput) ([]kubecontainer.EnvVar, error) {
	services, err := serviceEnv(in)
	if err != nil {
		return nil, err
	}
	s := newSources(in)
	env := &environment{values: map[string]string{}}
	for i := range in.Container.EnvFrom {
		if err := s.addAll(env, &in.Container.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	expand := expansion.MappingFuncFor(env.values, services)
	for i := range in.Container.Env {
		e := &in.Container.Env[i]
		switch {
		case e.Value != "":
			env.set(e.Name, expansion.Expand(e.Value, expand))
		case e.ValueFrom != nil:
			value, ok, err := s.value(e.ValueFrom)
			if err != nil {
				return nil, err
			}
			if ok {
				env.set(e.Name, value)
			}
		default:
			env.set(e.Name, "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		if _, taken := env.values[name]; !taken {
			env.set(name, services[name])
		}
	}
	return env.list(in.Container.Name)
}

// environment keeps names in the order in which they were first set, so that the
// same input gives the same configuration.
type environment struct {
	names  []string
	values map[string]string
}

func (e *environment) set(name, value string) {
	if _, ok := e.values[name]; !ok {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

// list refuses what no process can be given. The kernel would, too, but only as
// "invalid argument" when the container starts.
func (e *environment) list(container string) ([]kubecontainer.EnvVar, error) {
	out := make([]kubecontainer.EnvVar, 0, len(e.names))
	for _, name := range e.names {
		value := e.values[name]
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("container %s: %q cannot be the name of an environment variable", container, name)
		}
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("container %s: the value of environment variable %s holds a NUL byte; mount it as a file instead", container, name)
		}
		out = append(out, kubecontainer.EnvVar{Name: name, Value: value})
	}
	return out, nil
}
