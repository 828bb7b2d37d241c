package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of a volume that a claim could take it is said why it does not fit.
func TestNothingFits(t *testing.T) {
	manual := "manual"
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}}
	claim.Spec.StorageClassName = &manual
	claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}
	claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("10Gi")}
	volume := func(change func(v *v1.PersistentVolume)) v1.PersistentVolume {
		v := v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-1"}}
		v.Spec.StorageClassName, v.Spec.AccessModes = manual, []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}
		v.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("10Gi")}
		v.Status.Phase = v1.VolumeAvailable
		if change != nil {
			change(&v)
		}
		return v
	}
	for want, c := range map[string]func(v *v1.PersistentVolume){
		"has 5Gi, and the claim asks for 10Gi": func(v *v1.PersistentVolume) { v.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("5Gi") },
		"[ReadWriteOnce]": func(v *v1.PersistentVolume) {
			v.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		},
		"is of claim shop/other": func(v *v1.PersistentVolume) {
			v.Spec.ClaimRef = &v1.ObjectReference{Namespace: "shop", Name: "other"}
		},
		"before its claimRef is removed": func(v *v1.PersistentVolume) {
			v.Status.Phase, v.Spec.ClaimRef = v1.VolumeReleased, &v1.ObjectReference{Namespace: "shop", Name: "data"}
		},
		"volumeMode Block": func(v *v1.PersistentVolume) {
			block := v1.PersistentVolumeBlock
			v.Spec.VolumeMode = &block
		},
		"is of its class": func(v *v1.PersistentVolume) { v.Spec.StorageClassName = "other" },
	} {
		s := Storage{Volumes: []v1.PersistentVolume{volume(c)}}
		if said := s.nothingFits(claim); !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
	if said := (Storage{Volumes: []v1.PersistentVolume{volume(nil)}}).misfit(claim); said != "" {
		t.Errorf("a volume that fits: %s", said)
	}
}

// Of labels that no node has it is said which nodes have in their place.
func TestLabelled(t *testing.T) {
	node := func(name string, labels map[string]string) v1.Node {
		return v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	around := Around{Nodes: []v1.Node{node("a", map[string]string{"disktype": "ssd", "zone": "eu-1a"}), node("b", map[string]string{"disktype": "nvme", "zone": "eu-1b"})}}
	for want, selector := range map[string]map[string]string{
		"no node has disktype=sdd: nodes have disktype=nvme, ssd; did you mean ssd?": {"disktype": "sdd"},
		"no node has the label disk-type; did you mean disktype?":                    {"disk-type": "ssd"},
		"": {"disktype": "ssd", "zone": "eu-1b"},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{NodeSelector: selector}}
		if _, none := around.labelled(pod); none != want {
			t.Errorf("%v: %q", selector, none)
		}
	}
	affine := &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
		{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"eu-1c", "eu-1d"}}}},
	}}}}}}
	if asks, none := around.labelled(affine); asks != " (zone In (eu-1c, eu-1d))" || !strings.Contains(none, "nodes have zone=eu-1a, eu-1b") {
		t.Errorf("%q %q", asks, none)
	}
}
