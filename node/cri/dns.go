package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/network/dns"

	"whylet.dev/whylet/sense/containers"
)

// DNS says what pods have in their resolv.conf. kubelet's own rules apply
// (pkg/kubelet/network/dns): dnsPolicy, dnsConfig, and the limits of resolvers.
type DNS struct {
	// Servers and Domain are the cluster's; without servers ClusterFirst falls back
	// to Default.
	Servers []net.IP
	Domain  string
	// ResolvConf is the host's file, from [HostResolvConf]. A machine without one has
	// no name servers of its own.
	ResolvConf string
	NodeIPs    []net.IP
}

// Warning is an event that Kubernetes shows on the pod.
type Warning struct{ Reason, Message string }

// For gives the pod's resolv.conf, and what had to be left out of it.
func (d DNS) For(pod *v1.Pod) (*runtimeapi.DNSConfig, []Warning, error) {
	var w warnings
	ref := &v1.ObjectReference{Kind: "Node"}
	host := d.ResolvConf
	if _, err := os.Stat(host); errors.Is(err, fs.ErrNotExist) {
		host = ""
	}
	c := dns.NewConfigurer(&w, ref, d.NodeIPs, d.Servers, d.Domain, host)
	config, err := c.GetPodDNS(containers.Quiet(context.Background()), pod)
	if err != nil {
		return nil, nil, fmt.Errorf("resolv.conf of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	// Options are merged in a map; their order means nothing, but should not change.
	config.Options = slices.Sorted(slices.Values(config.Options))
	return config, w.pod, nil
}

// HostResolvConf is the host's list of name servers. Where systemd-resolved runs,
// /etc/resolv.conf names only its stub on the loopback, which no pod can reach;
// the real list lies beside it.
func HostResolvConf() string {
	const plain, real = "/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"
	text, err := os.ReadFile(plain)
	if err != nil || !strings.Contains(string(text), "127.0.0.53") {
		return plain
	}
	if _, err := os.Stat(real); err != nil {
		return plain
	}
	return real
}

// warnings collects the events that kubelet's configurer would send. Those about
// the node repeat those about the pod, so they are left out.
type warnings struct{ pod []Warning }

func (w *warnings) Event(object runtime.Object, _, reason, message string) {
	if _, ok := object.(*v1.Pod); ok {
		w.pod = append(w.pod, Warning{Reason: reason, Message: message})
	}
}

func (w *warnings) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	w.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (w *warnings) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	w.Eventf(object, kind, reason, format, args...)
}

func (w *warnings) WithLogger(klog.Logger) record.EventRecorderLogger { return w }
