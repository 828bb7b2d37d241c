package webhook

import (
	"net"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"whylet.dev/whylet/mesh"
)

// members lists the addresses behind which there are only pods of the mesh: those
// of its pods, and of services whose endpoints all are.
func members(pods []*v1.Pod, services []*v1.Service, endpointSlices []*discovery.EndpointSlice) []string {
	in := map[string]bool{}
	for _, p := range pods {
		if mesh.HasRedirect(p) && p.Status.Phase == v1.PodRunning {
			for _, ip := range p.Status.PodIPs {
				in[ip.IP] = true
			}
		}
	}
	type name struct{ namespace, service string }
	endpoints := map[name][]string{}
	for _, s := range endpointSlices {
		n := name{s.Namespace, s.Labels[discovery.LabelServiceName]}
		for _, e := range s.Endpoints {
			endpoints[n] = append(endpoints[n], e.Addresses...)
		}
	}
	for _, s := range services {
		backends := endpoints[name{s.Namespace, s.Name}]
		if len(backends) == 0 || slices.ContainsFunc(backends, func(a string) bool { return !in[a] }) {
			continue
		}
		for _, ip := range s.Spec.ClusterIPs {
			if net.ParseIP(ip) != nil { // "None" is no address
				in[ip] = true
			}
		}
	}
	list := make([]string, 0, len(in))
	for address := range in {
		list = append(list, address)
	}
	slices.Sort(list)
	return list
}

// memberList is the latest list. Safe for concurrent use.
type memberList struct{ latest atomic.Pointer[[]string] }

func (m *memberList) get() []string {
	if list := m.latest.Load(); list != nil {
		return *list
	}
	return nil
}
