package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

// The scheduler says only that a claim is not bound; what it waits for is said too,
// where somebody may read it.
func TestClaims(t *testing.T) {
	claim := func(class *string, phase v1.PersistentVolumeClaimPhase) []v1.PersistentVolumeClaim {
		c := v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
		c.Spec.StorageClassName, c.Status.Phase = class, phase
		return []v1.PersistentVolumeClaim{c}
	}
	classes := func(names ...string) []storagev1.StorageClass {
		l := []storagev1.StorageClass{}
		for _, n := range names {
			l = append(l, storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: n}, Provisioner: "example.com/" + n})
		}
		return l
	}
	byHand := classes("local")
	byHand[0].Provisioner = noProvisioner
	fast, none := "fast", ""
	local := "local"
	for name, c := range map[string]struct {
		known     Storage
		want, not string
	}{
		"nobody looked":      {Storage{}, "unbound immediate", "The scheduler says"},
		"no claim":           {Storage{Claims: []v1.PersistentVolumeClaim{}, Classes: classes()}, `there is no claim "data"`, "StorageClass"},
		"no such class":      {Storage{Claims: claim(&fast, v1.ClaimPending), Classes: classes("slow")}, `asks for the StorageClass "fast", which does not exist`, ""},
		"no default class":   {Storage{Claims: claim(nil, v1.ClaimPending), Classes: classes("slow")}, "the cluster has no default one", ""},
		"classes not read":   {Storage{Claims: claim(&fast, v1.ClaimPending), Classes: nil}, `claim "data" is not bound`, "does not exist"},
		"without a class":    {Storage{Claims: claim(&none, v1.ClaimPending), Classes: classes()}, "no PersistentVolume that is there fits", "does not exist"},
		"made by hand":       {Storage{Claims: claim(&local, v1.ClaimPending), Classes: byHand}, "made by hand", ""},
		"a slow provisioner": {Storage{Claims: claim(&fast, v1.ClaimPending), Classes: classes("fast")}, "waits for example.com/fast", ""},
		"bound meanwhile":    {Storage{Claims: claim(&fast, v1.ClaimBound), Classes: classes("fast")}, "unbound immediate", "The scheduler says"},
		"its volume is gone": {Storage{Claims: claim(&fast, v1.ClaimLost), Classes: classes("fast")}, "has lost its volume", ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1"}}
			pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."}}
			a := Unscheduled(pod, Around{Storage: c.known}, dawn)
			check(t, a)
			text := a.Verdicts[0].Text
			if a.Verdicts[0].Cause != answer.VolumeUnbound || !strings.Contains(text, c.want) || c.not != "" && strings.Contains(text, c.not) {
				t.Error(text)
			}
		})
	}
}
