package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/inetaf/tcpproxy"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/controllers/service"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
)

// runLoadBalancers gives Services of type LoadBalancer the node's address, by the
// service controller that clouds use, until ctx ends.
func runLoadBalancers(ctx context.Context, c Config, client kubernetes.Interface) error {
	balancers := &loadBalancers{nodeIP: c.NodeIP, held: map[types.UID]*loadBalancer{}}
	defer balancers.close()
	factory := informers.NewSharedInformerFactory(client, 0)
	run, err := service.New(balancers, client, factory.Core().V1().Services(), factory.Core().V1().Nodes(), c.ContextName, utilfeature.DefaultFeatureGate)
	if err != nil {
		return fmt.Errorf("start the service controller: %w", err)
	}
	factory.Start(ctx.Done())
	run.Run(ctx, 1, controllersmetrics.NewControllerManagerMetrics("service-controller"))
	return nil
}

// loadBalancers holds the ports of all load balancers. kube-proxy takes what comes
// for the node's address from elsewhere before a listener sees it; the listener there
// keeps the port, so that nobody else on this machine can take it, and the one on
// 127.0.0.1 serves this machine itself. It is safe for concurrent use.
//
// It is also the cloud of one machine, of which the service controller asks for nothing else.
type loadBalancers struct {
	cloudprovider.Interface
	nodeIP string

	mu   sync.Mutex
	held map[types.UID]*loadBalancer
}

// loadBalancer is what one Service holds.
type loadBalancer struct {
	name      string // namespace/name
	clusterIP string
	ports     []int32 // TCP
	proxy     *tcpproxy.Proxy
}

// LoadBalancer is itself.
func (l *loadBalancers) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return l, true }

// ProviderName names whose load balancers they are.
func (*loadBalancers) ProviderName() string { return "whylet" }

// GetLoadBalancer says whether the Service holds ports.
func (l *loadBalancers) GetLoadBalancer(_ context.Context, _ string, s *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status(), l.held[s.UID] != nil, nil
}

// GetLoadBalancerName names it as the Service.
func (l *loadBalancers) GetLoadBalancerName(_ context.Context, _ string, s *corev1.Service) string {
	return s.Namespace + "/" + s.Name
}

// EnsureLoadBalancer takes the Service's ports, all or none. The error of a port that
// is taken names who has it; the controller shows it as an event and tries again.
func (l *loadBalancers) EnsureLoadBalancer(_ context.Context, _ string, s *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	wanted := &loadBalancer{name: s.Namespace + "/" + s.Name, clusterIP: s.Spec.ClusterIP}
	for i := range s.Spec.Ports {
		if p := &s.Spec.Ports[i]; p.Protocol == corev1.ProtocolTCP {
			wanted.ports = append(wanted.ports, p.Port)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	have := l.held[s.UID]
	if have != nil && have.clusterIP == wanted.clusterIP && slices.Equal(have.ports, wanted.ports) {
		return l.status(), nil
	}
	l.release(s.UID)
	if err := l.take(wanted); err != nil {
		return nil, err
	}
	l.held[s.UID] = wanted
	return l.status(), nil
}

// UpdateLoadBalancer has nothing to do when nodes come or go.
func (l *loadBalancers) UpdateLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) error {
	return nil
}

// EnsureLoadBalancerDeleted gives the Service's ports back.
func (l *loadBalancers) EnsureLoadBalancerDeleted(_ context.Context, _ string, s *corev1.Service) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(s.UID)
	return nil
}

func (l *loadBalancers) status() *corev1.LoadBalancerStatus {
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: l.nodeIP}}}
}

func (l *loadBalancers) take(b *loadBalancer) error {
	b.proxy = &tcpproxy.Proxy{}
	for _, port := range b.ports {
		to := tcpproxy.To(net.JoinHostPort(b.clusterIP, strconv.Itoa(int(port))))
		for _, ip := range []string{l.nodeIP, "127.0.0.1"} {
			b.proxy.AddRoute(net.JoinHostPort(ip, strconv.Itoa(int(port))), to)
		}
	}
	switch err := b.proxy.Start(); {
	case errors.Is(err, syscall.EADDRINUSE):
		return l.taken(b, err)
	case err != nil:
		return fmt.Errorf("load balancer of Service %s: %w", b.name, err)
	}
	return nil
}

// taken says who has a port that Service b wants.
func (l *loadBalancers) taken(b *loadBalancer, err error) error {
	for _, other := range l.held {
		for _, port := range b.ports {
			if slices.Contains(other.ports, port) {
				return fmt.Errorf("port %d of Service %s is taken by Service %s; choose another port for one of them", port, b.name, other.name)
			}
		}
	}
	taken := portTaken(err, b.name)
	_, port, _ := net.SplitHostPort(taken.Address)
	return fmt.Errorf("port %s of Service %s is taken by %s on this machine; stop it, or choose another port", port, b.name, taken.Owner())
}

func (l *loadBalancers) release(uid types.UID) {
	if b := l.held[uid]; b != nil {
		_ = b.proxy.Close()
		delete(l.held, uid)
	}
}

func (l *loadBalancers) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid := range l.held {
		l.release(uid)
	}
}
