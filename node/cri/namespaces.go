package cri

import (
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kuberuntimeutil "k8s.io/kubernetes/pkg/kubelet/kuberuntime/util"
)

// hostUsers is the user namespace of a pod that has none of its own.
func hostUsers() *runtimeapi.UserNamespace {
	return &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE}
}

func namespaces(pod *v1.Pod, users *runtimeapi.UserNamespace) *runtimeapi.NamespaceOption {
	if users == nil {
		users = hostUsers()
	}
	return &runtimeapi.NamespaceOption{
		Ipc:           kuberuntimeutil.IpcNamespaceForPod(pod),
		Network:       kuberuntimeutil.NetworkNamespaceForPod(pod),
		Pid:           kuberuntimeutil.PidNamespaceForPod(pod),
		UsernsOptions: users,
	}
}
