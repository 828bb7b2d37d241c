package demo

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed scenes.yaml
var scenesYAML []byte

// scene is one trouble: a pod, and what there is to see in it.
type scene struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Story string `json:"story"`
	finding
	Learn string         `json:"learn"`
	Spec  corev1.PodSpec `json:"spec"`
}

// finding is what kubectl why is to say of a scene's pod, in its own words.
type finding struct {
	Symptom string `json:"symptom"`
	Cause   string `json:"cause"`
}

// scenes are those of the file; of them only the one of that name, where one is given.
func scenes(only string) ([]scene, error) {
	var all []scene
	if err := yaml.UnmarshalStrict(scenesYAML, &all); err != nil {
		return nil, fmt.Errorf("read the scenes: %w", err)
	}
	if only == "" {
		return all, nil
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(s scene) bool { return s.Name != only })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w %q; there are %s", ErrNoScene, only, strings.Join(Names(), ", "))
	}
	return chosen, nil
}

// Names are those of all scenes, in their order.
func Names() []string {
	all, _ := scenes("") // the file is part of the program, and a test reads it
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// pod is the scene's pod, for this node, where the image was loaded.
func (s scene) pod(node, image string) *corev1.Pod {
	spec := *s.Spec.DeepCopy()
	grace := int64(2)
	spec.TerminationGracePeriodSeconds = &grace
	spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	for i := range spec.Containers {
		spec.Containers[i].Image = image
		spec.Containers[i].ImagePullPolicy = corev1.PullNever
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: Namespace, Labels: mark}, Spec: spec}
}
