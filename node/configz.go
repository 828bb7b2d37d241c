package node

import (
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"whylet.dev/whylet/health"
	"whylet.dev/whylet/node/images"
	"whylet.dev/whylet/node/shutdown"
)

// configz is the node's configuration in kubelet's form, as /configz of a kubelet
// shows it: what has no meaning here is left out.
func (c Config) configz() map[string]any {
	yes, no := true, false
	high, low := int32(images.DefaultPolicy.High), int32(images.DefaultPolicy.Low)
	parallel := int32(images.DefaultParallel)
	k := kubeletconfig.KubeletConfiguration{
		StaticPodPath: c.StaticPodDir, PodLogsDir: c.PodLogsDir, Address: c.ListenAddress, Port: int32(c.Port),
		TLSCertFile: c.ServingCert, TLSPrivateKeyFile: c.ServingKey,
		Authentication: kubeletconfig.KubeletAuthentication{
			X509:      kubeletconfig.KubeletX509Authentication{ClientCAFile: c.ClientCA},
			Webhook:   kubeletconfig.KubeletWebhookAuthentication{Enabled: &yes},
			Anonymous: kubeletconfig.KubeletAnonymousAuthentication{Enabled: &no},
		},
		Authorization: kubeletconfig.KubeletAuthorization{Mode: kubeletconfig.KubeletAuthorizationModeWebhook},
		ClusterDomain: c.ClusterDomain, ClusterDNS: c.ClusterDNS,
		CgroupRoot: c.CgroupRoot, CgroupDriver: "cgroupfs", CgroupsPerQOS: &yes, EnforceNodeAllocatable: []string{"pods"},
		MaxPods: int32(c.MaxPods), PodPidsLimit: &c.PodPIDs, ContainerRuntimeEndpoint: c.RuntimeEndpoint,
		ImageGCHighThresholdPercent: &high, ImageGCLowThresholdPercent: &low,
		ImageMinimumGCAge:   metav1.Duration{Duration: images.DefaultPolicy.MinAge},
		SerializeImagePulls: &no, MaxParallelImagePulls: &parallel,
		EvictionHard: map[string]string{}, EvictionSoft: map[string]string{}, EvictionSoftGracePeriod: map[string]string{},
		EvictionMinimumReclaim:           map[string]string{},
		EvictionPressureTransitionPeriod: metav1.Duration{Duration: c.PressureTransition},
		EvictionMaxPodGracePeriod:        int32(c.EvictionSoftGraceSeconds),
		ShutdownGracePeriodByPodPriority: shutdownPeriods(c.Shutdown),
		SystemReserved:                   amounts(c.SystemReserved), KubeReserved: amounts(c.KubeReserved),
		CrashLoopBackOff: kubeletconfig.CrashLoopBackOffConfig{MaxContainerRestartPeriod: &metav1.Duration{Duration: health.Defaults().BackOffMax}},
	}
	for _, t := range c.Eviction {
		if t.ReclaimPart > 0 || !t.Reclaim.IsZero() {
			k.EvictionMinimumReclaim[string(t.Signal)] = written(t.Reclaim, t.ReclaimPart)
		}
		if t.Hard() {
			k.EvictionHard[string(t.Signal)] = written(t.Quantity, t.Part)
			continue
		}
		k.EvictionSoft[string(t.Signal)] = written(t.Quantity, t.Part)
		k.EvictionSoftGracePeriod[string(t.Signal)] = t.Grace.String()
	}
	return map[string]any{"kubeletconfig": k}
}

// written is an amount of a threshold as it was written.
func written(quantity resource.Quantity, part float64) string {
	if part > 0 {
		return strconv.FormatFloat(part*100, 'f', -1, 64) + "%"
	}
	return quantity.String()
}

func shutdownPeriods(periods []shutdown.Period) (all []kubeletconfig.ShutdownGracePeriodByPodPriority) {
	for _, p := range periods {
		all = append(all, kubeletconfig.ShutdownGracePeriodByPodPriority{Priority: p.Priority, ShutdownGracePeriodSeconds: int64(p.Grace / time.Second)})
	}
	return all
}

func amounts(list v1.ResourceList) map[string]string {
	all := map[string]string{}
	for name, q := range list {
		all[string(name)] = q.String()
	}
	return all
}
