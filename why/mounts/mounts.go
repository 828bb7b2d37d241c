// Package mounts reads from a pod's spec where the files and variables of a container come from.
package mounts

import (
	"path"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// version is the folder in which a kubelet keeps the files of one state of a volume.
var version = regexp.MustCompile(`\.\.\d{4}_[\d_]+\.\d+/`)

// Clean is a path as a mount has it, of one that a program names.
func Clean(file string) string { return path.Clean(version.ReplaceAllString(file, "")) }

// Volume is the volume of a container that a file is in, and how it is mounted; nil where it
// is in none. pod and c may be nil.
func Volume(pod *v1.Pod, c *v1.Container, file string) (mount v1.VolumeMount, volume *v1.Volume) {
	if c == nil || pod == nil {
		return mount, nil
	}
	for _, m := range c.VolumeMounts {
		at := path.Clean(m.MountPath)
		if len(at) > len(mount.MountPath) && (file == at || strings.HasPrefix(file, strings.TrimSuffix(at, "/")+"/")) {
			mount = m
			mount.MountPath = at
		}
	}
	for i, v := range pod.Spec.Volumes {
		if v.Name == mount.Name && mount.MountPath != "" {
			volume = &pod.Spec.Volumes[i]
		}
	}
	return mount, volume
}

// Key is the ConfigMap or Secret that a file of a volume is of, and its key there; kind is empty
// where it is of neither.
func Key(file string, mount v1.VolumeMount, volume *v1.Volume) (kind, name, key string) {
	kind, name, items := Source(volume)
	if kind == "" {
		return "", "", ""
	}
	key = strings.TrimPrefix(path.Join(mount.SubPath, strings.TrimPrefix(file, mount.MountPath)), "/")
	for _, i := range items {
		if i.Path == key {
			key = i.Key
		}
	}
	if key == "" {
		return "", "", "" // the folder itself
	}
	return kind, name, key
}

// Source is the ConfigMap or Secret that a volume is of; kind is empty where it is of neither.
func Source(volume *v1.Volume) (kind, name string, items []v1.KeyToPath) {
	switch {
	case volume.ConfigMap != nil:
		return "ConfigMap", volume.ConfigMap.Name, volume.ConfigMap.Items
	case volume.Secret != nil:
		return "Secret", volume.Secret.SecretName, volume.Secret.Items
	}
	return "", "", nil
}

// Taken is what a container is given of a ConfigMap or a Secret.
type Taken struct {
	Kind, Name string
	// Keys are those that are given; none: all.
	Keys []string
	// Variable is as what the only key is given; empty where it is none.
	Variable string
	Optional bool
}

func taken(kind, name string, optional *bool, keys ...string) Taken {
	return Taken{Kind: kind, Name: name, Keys: keys, Optional: optional != nil && *optional}
}

// Variables are what the variables of a container are taken from.
func Variables(c *v1.Container) (all []Taken) {
	for _, from := range c.EnvFrom {
		if r := from.ConfigMapRef; r != nil {
			all = append(all, taken("ConfigMap", r.Name, r.Optional))
		} else if r := from.SecretRef; r != nil {
			all = append(all, taken("Secret", r.Name, r.Optional))
		}
	}
	for _, e := range c.Env {
		var t Taken
		switch from := e.ValueFrom; {
		case from != nil && from.ConfigMapKeyRef != nil:
			t = taken("ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional, from.ConfigMapKeyRef.Key)
		case from != nil && from.SecretKeyRef != nil:
			t = taken("Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Optional, from.SecretKeyRef.Key)
		default:
			continue
		}
		t.Variable = e.Name
		all = append(all, t)
	}
	return all
}

// Files are what the files of a volume are taken from: of a projected one, each of its sources.
func Files(v *v1.Volume) (all []Taken) {
	add := func(kind, name string, optional *bool, items []v1.KeyToPath) {
		t := taken(kind, name, optional)
		for _, i := range items {
			t.Keys = append(t.Keys, i.Key)
		}
		all = append(all, t)
	}
	if c := v.ConfigMap; c != nil {
		add("ConfigMap", c.Name, c.Optional, c.Items)
	}
	if s := v.Secret; s != nil {
		add("Secret", s.SecretName, s.Optional, s.Items)
	}
	if v.Projected == nil {
		return all
	}
	for _, of := range v.Projected.Sources {
		if c := of.ConfigMap; c != nil {
			add("ConfigMap", c.Name, c.Optional, c.Items)
		}
		if s := of.Secret; s != nil {
			add("Secret", s.Name, s.Optional, s.Items)
		}
	}
	return all
}
