package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/proxy"
	"k8s.io/kubernetes/pkg/proxy/apis"
	kubeproxyconfig "k8s.io/kubernetes/pkg/proxy/apis/config"
	"k8s.io/kubernetes/pkg/proxy/config"
	"k8s.io/kubernetes/pkg/proxy/metrics"
	"k8s.io/kubernetes/pkg/proxy/nftables"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
)

// kube-proxy's timing. The least interval between two writes of its rules is
// shorter than kube-proxy's default of a second, which is meant for thousands of
// Services: here it bounds how long a pod that turned unready still gets traffic.
const (
	proxySyncPeriod    = 30 * time.Second
	proxyMinSyncPeriod = 50 * time.Millisecond
	masqueradeBit      = 14 // kube-proxy's default
)

// Node is whose Services are to work.
type Node struct {
	Name, IP string
	// PodCIDR is the range of its pods' addresses.
	PodCIDR string
}

// Run runs kube-proxy's nftables backend until ctx ends.
//
// It is wired here rather than through kube-proxy's command, which exits the
// process when the Node object goes away, sets connection-tracking limits for the
// whole machine, and sweeps iptables for leftovers of other proxies, none of which
// is ours to do. The backend's own loop cannot be stopped; it idles until the
// process ends.
func Run(ctx context.Context, n Node, api *rest.Config) error {
	if _, err := exec.LookPath("nft"); err != nil {
		return errors.New("kube-proxy needs the nft command; install it with: apt-get install nftables")
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("client for kube-proxy: %w", err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("events of kube-proxy: %w", err)
	}
	metrics.RegisterMetrics(kubeproxyconfig.ProxyModeNFTables)
	options := &kubeproxyconfig.KubeProxyConfiguration{
		SyncPeriod:        metav1.Duration{Duration: proxySyncPeriod},
		MinSyncPeriod:     metav1.Duration{Duration: proxyMinSyncPeriod},
		NFTables:          kubeproxyconfig.KubeProxyNFTablesConfiguration{MasqueradeBit: new(int32(masqueradeBit))},
		NodePortAddresses: []string{n.IP + "/32"},
	}
	proxier, err := nftables.NewProxier(ctx, options, corev1.IPv4Protocol,
		proxyutil.NewDetectLocalByCIDR(n.PodCIDR), n.Name, net.ParseIP(n.IP),
		broadcaster.NewRecorder(scheme.Scheme, "kube-proxy"), nil, false)
	if err != nil {
		return fmt.Errorf("start kube-proxy: %w", err)
	}
	feed(ctx, client, n.Name, proxier)
	go proxier.SyncLoop()
	<-ctx.Done()
	return nil
}

// feed connects the proxier to the objects it follows, with the same
// selections as kube-proxy's command makes: Services that another proxy claims
// and headless ones are not its business.
func feed(ctx context.Context, client kubernetes.Interface, node string, proxier proxy.Provider) {
	const noResync = 0
	services := factory(client, "!"+apis.LabelServiceProxyName, fields.OneTermNotEqualSelector("spec.clusterIP", corev1.ClusterIPNone))
	slices := factory(client, "!"+corev1.IsHeadlessService, nil)
	nodes := factory(client, "", fields.OneTermEqualSelector("metadata.name", node))
	ranges := factory(client, "", nil)

	serviceConfig := config.NewServiceConfig(ctx, services.Core().V1().Services(), noResync)
	serviceConfig.RegisterEventHandler(proxier)
	sliceConfig := config.NewEndpointSliceConfig(ctx, slices.Discovery().V1().EndpointSlices(), noResync)
	sliceConfig.RegisterEventHandler(proxier)
	rangeConfig := config.NewServiceCIDRConfig(ctx, ranges.Networking().V1().ServiceCIDRs(), noResync)
	rangeConfig.RegisterEventHandler(proxier)
	topologyConfig := config.NewNodeTopologyConfig(ctx, nodes.Core().V1().Nodes(), noResync)
	topologyConfig.RegisterEventHandler(proxier)

	for _, f := range []informers.SharedInformerFactory{services, slices, nodes, ranges} {
		f.Start(ctx.Done())
	}
	go serviceConfig.Run(ctx.Done())
	go sliceConfig.Run(ctx.Done())
	go rangeConfig.Run(ctx.Done())
}

func factory(client kubernetes.Interface, labels string, selector fields.Selector) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = labels
		if selector != nil {
			o.FieldSelector = selector.String()
		}
	}))
}
