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
	in         EnvInput
	configMaps map[string]*v1.ConfigMap
	secrets    map[string]*v1.Secret
}

func newSources(in EnvInput) *sources {
	return &sources{in: in, configMaps: map[string]*v1.ConfigMap{}, secrets: map[string]*v1.Secret{}}
}

// configMap gives nil when it does not exist and need not.
func (s *sources) configMap(name string, optional *bool) (*v1.ConfigMap, error) {
	if cm, ok := s.configMaps[name]; ok {
		return cm, nil
	}
	cm, err := s.in.ConfigMaps.GetConfigMap(s.in.Pod.Namespace, name)
	if apierrors.IsNotFound(err) {
		if isTrue(optional) {
			return nil, nil
		}
		// Whoever read it may say "configmaps"; users look for kubelet's words.
		return nil, apierrors.NewNotFound(v1.Resource("configmap"), name)
	}
	if err != nil {
		return nil, err
	}
	s.configMaps[name] = cm
	return cm, nil
}

// secret gives nil when it does not exist and need not.
func (s *sources) secret(name string, optional *bool) (*v1.Secret, error) {
	if secret, ok := s.secrets[name]; ok {
		return secret, nil
	}
	secret, err := s.in.Secrets.GetSecret(s.in.Pod.Namespace, name)
	if apierrors.IsNotFound(err) {
		if isTrue(optional) {
			return nil, nil
		}
		return nil, apierrors.NewNotFound(v1.Resource("secret"), name)
	}
	if err != nil {
		return nil, err
	}
	s.secrets[name] = secret
	return secret, nil
}

// addAll takes every key of an envFrom source.
func (s *sources) addAll(env *environment, from *v1.EnvFromSource) error {
	switch {
	case from.ConfigMapRef != nil:
		cm, err := s.configMap(from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		if err != nil || cm == nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
			env.set(from.Prefix+key, cm.Data[key])
		}
	case from.SecretRef != nil:
		secret, err := s.secret(from.SecretRef.Name, from.SecretRef.Optional)
		if err != nil || secret == nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
			env.set(from.Prefix+key, string(secret.Data[key]))
		}
	}
	return nil
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
		return s.configMapKey(from.ConfigMapKeyRef)
	case from.SecretKeyRef != nil:
		return s.secretKey(from.SecretKeyRef)
	case from.FileKeyRef != nil:
		return s.fileKey(from.FileKeyRef)
	}
	return "", true, nil
}

func (s *sources) configMapKey(ref *v1.ConfigMapKeySelector) (string, bool, error) {
	cm, err := s.configMap(ref.Name, ref.Optional)
	if err != nil || cm == nil {
		return "", false, err
	}
	value, ok := cm.Data[ref.Key]
	if !ok && !isTrue(ref.Optional) {
		return "", false, fmt.Errorf("couldn't find key %v in ConfigMap %v/%v", ref.Key, s.in.Pod.Namespace, ref.Name)
	}
	return value, ok, nil
}

func (s *sources) secretKey(ref *v1.SecretKeySelector) (string, bool, error) {
	secret, err := s.secret(ref.Name, ref.Optional)
	if err != nil || secret == nil {
		return "", false, err
	}
	value, ok := secret.Data[ref.Key]
	if !ok && !isTrue(ref.Optional) {
		return "", false, fmt.Errorf("couldn't find key %v in Secret %v/%v", ref.Key, s.in.Pod.Namespace, ref.Name)
	}
	return string(value), ok, nil
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
