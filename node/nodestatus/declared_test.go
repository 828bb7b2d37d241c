package nodestatus

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"
	_ "k8s.io/kubernetes/pkg/features"
)

// gates are Kubernetes' at their defaults.
type gates struct{}

func (gates) Enabled(name string) bool {
	return utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name))
}

// What the node declares is what kubelet of the same release does.
func TestDeclares(t *testing.T) {
	framework := nodedeclaredfeatures.New(features.AllFeatures)
	want := framework.DiscoverNodeFeatures(&nodedeclaredfeatures.NodeConfiguration{
		FeatureGates: gates{}, Version: version.MustParse("1.37.2"),
	})
	if got := slices.Sorted(slices.Values(declared)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("declared %q, kubelet declares %q", got, want)
	}
}
