package peer

import (
	"context"
	"errors"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServeServices has Services and their names work on a real stack's first node, which nothing
// that is compared needs: by kube-proxy's nftables backend, and
// CoreDNS.
func (s *Stack) ServeServices(ctx context.Context) error {
	r := s.real
	// The node itself finds a Service as it finds anything that is elsewhere.
	route := ip(ctx, []string{"-n", filepath.Base(r.Netns), "route", "add", "default", "dev", "node0"})
	if err := errors.Join(route, r.forward(ctx), r.start("services", r.Kubeconfig, r.Node, r.place.address, r.place.pods)); err != nil {
		return err
	}
	const system, name = "kube-system", "kube-dns"
	ports := []v1.ServicePort{{Name: "dns", Protocol: v1.ProtocolUDP, Port: 53}, {Name: "dns-tcp", Protocol: v1.ProtocolTCP, Port: 53}}
	_, err := s.Client.CoreV1().Services(system).Create(ctx, &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.ServiceSpec{ClusterIP: dnsService, Ports: ports},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{nodeAddress}}},
	}
	for i := range ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &ports[i].Name, Protocol: &ports[i].Protocol, Port: &ports[i].Port})
	}
	_, err = s.Client.DiscoveryV1().EndpointSlices(system).Create(ctx, slice, metav1.CreateOptions{})
	return err
}
