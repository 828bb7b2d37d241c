package cri

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
)

// hostnameMax is what fits into the kernel's nodename beside its final zero.
const hostnameMax = 63

// Hostname gives a pod's short hostname and its domain (empty without
// spec.subdomain). /etc/hosts and the sandbox are made from the same two.
func Hostname(pod *v1.Pod, clusterDomain string) (hostname, domain string, err error) {
	if h := pod.Spec.HostnameOverride; h != nil {
		if msgs := validation.IsDNS1123Subdomain(*h); len(msgs) > 0 {
			return "", "", fmt.Errorf("pod HostnameOverride %q is not a valid DNS subdomain: %s", *h, strings.Join(msgs, ";"))
		}
		hostname, err = truncateHostname(pod.Name, *h)
		return hostname, "", err
	}

	hostname = pod.Name
	if h := pod.Spec.Hostname; h != "" {
		if msgs := validation.IsDNS1123Label(h); len(msgs) > 0 {
			return "", "", fmt.Errorf("pod Hostname %q is not a valid DNS label: %s", h, strings.Join(msgs, ";"))
		}
		hostname = h
	}
	if hostname, err = truncateHostname(pod.Name, hostname); err != nil {
		return "", "", err
	}
	if s := pod.Spec.Subdomain; s != "" {
		if msgs := validation.IsDNS1123Label(s); len(msgs) > 0 {
			return "", "", fmt.Errorf("pod Subdomain %q is not a valid DNS label: %s", s, strings.Join(msgs, ";"))
		}
		domain = fmt.Sprintf("%s.%s.svc.%s", s, pod.Namespace, clusterDomain)
	}
	return hostname, domain, nil
}

func truncateHostname(podName, hostname string) (string, error) {
	if len(hostname) <= hostnameMax {
		return hostname, nil
	}
	cut := strings.TrimRight(hostname[:hostnameMax], "-.")
	if cut == "" {
		return "", fmt.Errorf("hostname for pod %q was invalid: %q", podName, hostname)
	}
	return cut, nil
}

// kernelHostname is what uname reports in the pod: the short name, or with
// setHostnameAsFQDN the full one.
func kernelHostname(pod *v1.Pod, clusterDomain string) (string, error) {
	hostname, domain, err := Hostname(pod, clusterDomain)
	if err != nil {
		return "", err
	}
	return kubeletutil.GetNodenameForKernel(hostname, domain, pod.Spec.SetHostnameAsFQDN)
}
