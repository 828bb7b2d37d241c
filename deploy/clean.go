package deploy

import (
	"cmp"
	"errors"
	"path"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cleaner is the name of the DaemonSet that cleans.
const Cleaner = "whylet-clean"

// hostFolder is where the cleaner sees the folder that the data directory is in.
const hostFolder = "/host"

// Clean makes the DaemonSet that removes what the agents of this one kept on their nodes.
// It is a DaemonSet of its own, and not what agents do as they end: an agent ends at each
// upgrade and drain, too, and cannot tell these from the last time. A pod of it is Ready
// once its node is clean. image is one that nodes have; empty: the agents' own.
func Clean(agent *appsv1.DaemonSet, image string) (*appsv1.DaemonSet, error) {
	pod := agent.Spec.Template.Spec.DeepCopy()
	dataDir, err := dataDirOf(pod)
	if err != nil {
		return nil, err
	}
	// With the parent mounted the folder itself can go.
	pod.Volumes = []v1.Volume{{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path.Dir(dataDir)}}}}
	first := pod.Containers[0]
	first.Name, first.Image = "clean", cmp.Or(image, first.Image)
	first.ImagePullPolicy = v1.PullIfNotPresent // the registry may be gone, or have been the trouble
	first.Env, first.StartupProbe = nil, nil
	first.Args = []string{"clean", "--data-dir=" + path.Join(hostFolder, path.Base(dataDir))}
	first.VolumeMounts = []v1.VolumeMount{{Name: "host", MountPath: hostFolder}}
	stay := *first.DeepCopy()
	stay.Name = "cleaned"
	stay.Args = append(stay.Args, "--stay")
	pod.InitContainers, pod.Containers = []v1.Container{first}, []v1.Container{stay}
	pod.ServiceAccountName, pod.DeprecatedServiceAccount = "", ""
	pod.AutomountServiceAccountToken = new(bool)
	labels := map[string]string{"app.kubernetes.io/name": "whylet", "app.kubernetes.io/component": "clean"}
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: Cleaner, Namespace: agent.Namespace, Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type: appsv1.RollingUpdateDaemonSetStrategyType,
			},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *pod},
		},
	}, nil
}

// FolderComesFirst reports whether kubelet makes the agents' folder before their image has
// come, as it did for those of releases before.
func FolderComesFirst(agent *appsv1.DaemonSet) bool {
	for _, v := range agent.Spec.Template.Spec.Volumes {
		if v.Name == "data" && v.HostPath != nil && v.HostPath.Type != nil && *v.HostPath.Type == v1.HostPathDirectoryOrCreate {
			return true
		}
	}
	return false
}

// DataDirOf is the folder on each node in which agents keep their memory.
func DataDirOf(agent *appsv1.DaemonSet) (string, error) { return dataDirOf(&agent.Spec.Template.Spec) }

func dataDirOf(pod *v1.PodSpec) (string, error) {
	for _, v := range pod.Volumes {
		if v.Name == "data" && v.HostPath != nil {
			return path.Clean(v.HostPath.Path), nil
		}
	}
	return "", errors.New("the agent has no folder on its node")
}
