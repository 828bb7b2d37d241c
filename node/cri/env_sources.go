package cri

import (
	"fmt"
	"maps"
	"slices"

	securejoin "github.com/cyphar/filepath-securejoin"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	envfile "k8s.io/kubernetes/pkg/kubelet/util/env"
)

// sources reads what values come from, each ConfigMap and Secret at most once,
// so that all variables of a container stem from the same version.
type sources struct {
	in   EnvInput
	read map[source]map[string]string
}

// source is a ConfigMap or a Secret, by kubelet's word for the kind.
type source struct{ kind, name string }

const configMap, secret = "configmap", "secret"

func newSources(in EnvInput) *sources { return &sources{in, map[source]map[string]string{}} }

// contents gives nil when it does not exist and need not.
func (s *sources) contents(from source, optional *bool) (map[string]string, error) {
	if data, ok := s.read[from]; ok {
		return data, nil
	}
	data := map[string]string{}
	var err error
	if from.kind == secret {
		var o *v1.Secret
		if o, err = s.in.Secrets.GetSecret(s.in.Pod.Namespace, from.name); err == nil {
			for key, value := range o.Data {
				data[key] = string(value)
			}
		}
	} else {
		var o *v1.ConfigMap
		if o, err = s.in.ConfigMaps.GetConfigMap(s.in.Pod.Namespace, from.name); err == nil {
			maps.Copy(data, o.Data)
		}
	}
	switch {
	case apierrors.IsNotFound(err) && isTrue(optional):
		return nil, nil
	case apierrors.IsNotFound(err):
		// Whoever read it may say "configmaps"; users look for kubelet's words.
		return nil, apierrors.NewNotFound(v1.Resource(from.kind), from.name)
	case err != nil:
		return nil, err
	}
	s.read[from] = data
	return data, nil
}

// addAll takes every key of an envFrom source.
func (s *sources) addAll(env *environment, from *v1.EnvFromSource) error {
	var of source
	var optional *bool
	switch {
	case from.ConfigMapRef != nil:
		of, optional = source{configMap, from.ConfigMapRef.Name}, from.ConfigMapRef.Optional
	case from.SecretRef != nil:
		of, optional = source{secret, from.SecretRef.Name}, from.SecretRef.Optional
	default:
		return nil
	}
	data, err := s.contents(of, optional)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		env.set(from.Prefix+key, data[key])
	}
	return err
}

// value resolves a valueFrom. It is not ok when an optional source or key is
// missing: the variable is then left out.
func (s *sources) value(from *v1.EnvVarSource) (value string, ok bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = fieldValue(s.in, from.FieldRef)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err = resourceValue(s.in, from.ResourceFieldRef)
		return value, err == nil, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return s.key("ConfigMap", source{configMap, ref.Name}, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return s.key("Secret", source{secret, ref.Name}, ref.Key, ref.Optional)
	case from.FileKeyRef != nil:
		return s.fileKey(from.FileKeyRef)
	}
	return "", true, nil
}

func (s *sources) key(kind string, from source, key string, optional *bool) (string, bool, error) {
	data, err := s.contents(from, optional)
	if err != nil || data == nil {
		return "", false, err
	}
	value, ok := data[key]
	if !ok && !isTrue(optional) {
		return "", false, fmt.Errorf("couldn't find key %v in %s %v/%v", key, kind, s.in.Pod.Namespace, from.name)
	}
	return value, ok, nil
}

// fileKey reads a variable from an env file that an init container left in a
// volume (KEP-3721). The path may not lead out of the volume.
func (s *sources) fileKey(ref *v1.FileKeySelector) (string, bool, error) {
	if s.in.VolumePath == nil {
		return "", false, fmt.Errorf("cannot find the volume %q referenced by FileKeyRef", ref.VolumeName)
	}
	root, err := s.in.VolumePath(ref.VolumeName)
	if err != nil {
		return "", false, fmt.Errorf("cannot find the volume %q referenced by FileKeyRef: %w", ref.VolumeName, err)
	}
	path, err := securejoin.SecureJoin(root, ref.Path)
	if err != nil {
		return "", false, err
	}
	value, err := envfile.ParseEnv(path, ref.Key)
	if err != nil {
		// What the file holds may be secret, so it is not repeated.
		return "", false, fmt.Errorf("couldn't parse env file")
	}
	if value == "" && !isTrue(ref.Optional) {
		return "", false, fmt.Errorf("environment variable key %q not found in file %q", ref.Key, path)
	}
	return value, value != "", nil
}
