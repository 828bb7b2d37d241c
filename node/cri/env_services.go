package cri

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/kubelet/envvars"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"
)

// ErrServicesUnread says that the services of the cluster are not known yet. A
// pod started now would lack KUBERNETES_SERVICE_HOST, so it has to wait.
var ErrServicesUnread = errors.New("services have not yet been read at least once, cannot construct envvars")

// apiService is the service that every pod gets variables for, whatever its
// namespace and its enableServiceLinks.
const apiService = "kubernetes"

// serviceEnv makes the variables of the services that the pod should see: the API
// server's, and with enableServiceLinks those of its own namespace.
func serviceEnv(in EnvInput) (map[string]string, error) {
	env := map[string]string{}
	if in.Pod.Spec.EnableServiceLinks == nil {
		return nil, errors.New("nil pod.spec.enableServiceLinks encountered, cannot construct envvars")
	}
	if in.Services == nil {
		return env, nil
	}
	all, err := in.Services()
	switch {
	case errors.Is(err, ErrServicesUnread) && kubelettypes.IsStaticPod(in.Pod):
		return env, nil // a static pod may be what brings the API server up
	case errors.Is(err, ErrServicesUnread):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("failed to list services when setting up env vars: %w", err)
	}
	for _, v := range envvars.FromServices(visibleServices(in.Pod, all)) {
		env[v.Name] = v.Value
	}
	return env, nil
}

func visibleServices(pod *v1.Pod, all []*v1.Service) []*v1.Service {
	byName := map[string]*v1.Service{}
	for _, s := range all {
		switch {
		case !v1helper.IsServiceIPSet(s):
		case s.Namespace == metav1.NamespaceDefault && s.Name == apiService:
			// The pod's own namespace may have a service of that name; it wins.
			if byName[s.Name] == nil {
				byName[s.Name] = s
			}
		case s.Namespace == pod.Namespace && *pod.Spec.EnableServiceLinks:
			byName[s.Name] = s
		}
	}
	var visible []*v1.Service
	for _, s := range byName {
		visible = append(visible, s)
	}
	slices.SortFunc(visible, func(a, b *v1.Service) int { return strings.Compare(a.Name, b.Name) })
	return visible
}
