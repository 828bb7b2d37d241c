package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/graph"
	"whylet.dev/whylet/why/netpol"
	"whylet.dev/whylet/why/words"
)

// endOf is a pod as one end of a connection.
func (q *question) endOf(ctx context.Context, pod *v1.Pod) netpol.End {
	end := netpol.End{Pod: pod}
	if q.options.Within && pod.Namespace != q.options.Namespace {
		return end
	}
	if namespace, err := oneOf[v1.Namespace](ctx, q, "", pod.Namespace); err == nil {
		end.NamespaceLabels = map[string]string{v1.LabelMetadataName: pod.Namespace}
		maps.Copy(end.NamespaceLabels, namespace.Labels)
	}
	return end
}

// otherPolicies are the API groups of policies that are not evaluated: what they are called, and their resources.
var otherPolicies = map[string]struct {
	name      string
	resources []string
}{
	"cilium.io":                {"CiliumNetworkPolicies", []string{"ciliumnetworkpolicies", "ciliumclusterwidenetworkpolicies"}},
	"policy.networking.k8s.io": {"AdminNetworkPolicies", []string{"adminnetworkpolicies", "baselineadminnetworkpolicies", "clusternetworkpolicies"}},
	"crd.antrea.io":            {"policies of Antrea", []string{"networkpolicies", "clusternetworkpolicies"}},
	"crd.projectcalico.org":    {"policies of Calico", []string{"networkpolicies", "globalnetworkpolicies"}},
}

// otherPolicy is a kind of policies that a cluster has, or may have if they cannot be read.
type otherPolicy struct {
	name string
	seen bool
}

// readOtherPolicies returns the kinds of policies in a cluster that are not evaluated.
func (c *Cluster) readOtherPolicies(ctx context.Context) (kinds []otherPolicy) {
	api := c.client.CoreV1().RESTClient()
	raw, err := api.Get().AbsPath("/apis").Do(ctx).Raw()
	var groups metav1.APIGroupList
	if err != nil || json.Unmarshal(raw, &groups) != nil {
		return nil
	}
	for _, g := range groups.Groups {
		kind, unread, seen := otherPolicies[g.Name], false, false
		for _, version := range g.Versions {
			for _, resource := range kind.resources {
				raw, err := api.Get().AbsPath("/apis", version.GroupVersion, resource).Param("limit", "1").Do(ctx).Raw()
				var list metav1.PartialObjectMetadataList
				unread = unread || err != nil && !apierrors.IsNotFound(err) || err == nil && json.Unmarshal(raw, &list) != nil
				seen = seen || len(list.Items) > 0
			}
		}
		if unread || seen {
			kinds = append(kinds, otherPolicy{kind.name, seen})
		}
	}
	return kinds
}

// suspicion is what became of a suspected denial by a NetworkPolicy that was not found.
type suspicion struct {
	asked     bool
	unread    bool   // policies of a namespace could not be read
	withheld  string // the namespace whose policies may not be read
	admitting bool   // policies select an end and admit the connection
	undecided bool   // whether policies admit it is not known
	denied    bool   // policies deny a part of the connections, or one that came about
	idle      string // the policy that would block it on a node that enforced policies
}

// cleared reports whether NetworkPolicies are not the reason: no policy blocks what was suspected, or none is enforced.
func (s *suspicion) cleared() bool {
	return s.idle != "" || s.asked && !s.unread && !s.undecided && !s.denied
}

// policies returns the policies of a namespace; ok is false if they could not be read. An asker who may see one
// namespace reads those of no other.
func (f *follower) policies(ctx context.Context, namespace string) (all []networkingv1.NetworkPolicy, ok bool) {
	if f.options.Within && namespace != f.options.Namespace {
		f.suspects.unread = true
		return nil, false
	}
	all, err := allOf[networkingv1.NetworkPolicy](ctx, f.question, namespace)
	if err == nil && !isPartial[networkingv1.NetworkPolicy](f.question, namespace) {
		return all, true
	}
	f.suspects.unread = true
	if err == nil || apierrors.IsForbidden(err) { // for want of a right, or a dump lacks them
		f.suspects.withheld = namespace
	}
	return nil, false
}

// blocked returns the hop to the NetworkPolicy that blocks each of some connections of a pod; to is what it asked for if
// that is no pod.
func (f *follower) blocked(ctx context.Context, all []netpol.Connection, to, by string) (hop *answer.Hop) {
	open := false
	for _, c := range all {
		result := f.evaluate(ctx, c)
		if result.Outcome != netpol.Denied || f.idle(ctx, c, result) {
			open = true
			continue
		}
		f.suspects.denied = true
		if hop == nil {
			hop = cluster.Blocked(c, result, to, by)
		}
	}
	if open {
		return nil
	}
	return hop
}

// idle reports whether the node that would have to block a connection is one of Whylet's own, which enforce no policies.
func (f *follower) idle(ctx context.Context, c netpol.Connection, r netpol.Result) bool {
	end, _ := r.Ends(c)
	node, err := oneOf[v1.Node](ctx, f.question, "", end.Pod.Spec.NodeName)
	if err != nil || !cluster.Own(node) {
		return false
	}
	f.suspects.idle = r.Nearest.Policy.Name
	return true
}

// evaluate returns the direction in which policies deny a connection, else that of the server.
func (f *follower) evaluate(ctx context.Context, c netpol.Connection) netpol.Result {
	f.suspects.asked = true
	out := netpol.Result{Outcome: netpol.Undecided}
	if items, ok := f.policies(ctx, c.Client.Pod.Namespace); ok {
		out = netpol.Egress(items, c)
		f.suspects.undecided = f.suspects.undecided || out.Outcome == netpol.Undecided
	}
	if c.Server.Pod == nil || out.Outcome == netpol.Denied {
		return out
	}
	in := netpol.Result{Outcome: netpol.Undecided}
	if items, ok := f.policies(ctx, c.Server.Pod.Namespace); ok {
		in = netpol.Ingress(items, c)
		f.suspects.undecided = f.suspects.undecided || in.Outcome == netpol.Undecided
	}
	if min(in.Outcome, out.Outcome) == netpol.Allowed && len(out.Policies)+len(in.Policies) > 0 {
		f.suspects.admitting = true
	}
	return in
}

// mayBlock returns the way to the NetworkPolicy that blocks the connections of a pod to a place that did not answer:
// a Service, a pod, or a host if both are nil.
func (f *follower) mayBlock(ctx context.Context, pod *v1.Pod, p place, service *v1.Service, target *v1.Pod) way {
	if pod.Spec.HostNetwork || target != nil && (target.UID == pod.UID || !cluster.LooksWell(target)) {
		return way{}
	}
	var all []netpol.Connection
	to, by := "", byPlace(p, p.Place)
	switch client := f.endOf(ctx, pod); {
	case target != nil:
		by = byPlace(p, "pod "+cluster.Key(target))
		all = []netpol.Connection{{Client: client, Server: f.endOf(ctx, target), Port: p.port}}
	case service != nil:
		by = byPlace(p, "Service "+cluster.Key(service))
		all = f.behindService(ctx, client, service, p.port)
		if len(service.Spec.Selector) == 0 {
			to = "Service " + cluster.Key(service)
		}
	default:
		server, ok := host(p.host)
		if !ok {
			return way{}
		}
		to, all = p.host, []netpol.Connection{{Client: client, Server: server, Port: p.port}}
	}
	hop := f.blocked(ctx, all, to, by)
	for _, c := range all {
		if hop == nil || c.Server.Pod == nil {
			continue
		}
		if a, err := f.about(ctx, c.Server.Pod); err == nil && p.met(service, c.Server.Pod, &a) {
			return way{} // they were connected: nothing enforces the policy, or it is new
		}
	}
	if hop != nil && service != nil {
		hop.Service = cluster.Key(service)
	}
	w := f.end(hop, false)
	w.blocked = w.cause != ""
	return w
}

// behindService returns the connections to the Ready pods behind a Service that is asked for a port, or to its
// addresses if it selects no pods.
func (f *follower) behindService(ctx context.Context, client netpol.End, service *v1.Service, port int32) (all []netpol.Connection) {
	if len(service.Spec.Selector) == 0 {
		for _, p := range service.Spec.Ports {
			if port == 0 || p.Port == port {
				all = append(all, netpol.Connection{Client: client, Server: netpol.End{Services: service.Spec.ClusterIPs, Unknown: service.Namespace != metav1.NamespaceDefault || service.Name != "kubernetes"}, Port: cmp.Or(p.TargetPort.IntVal, p.Port), Protocol: p.Protocol})
			}
		}
		return all
	}
	for _, pod := range cluster.Selected(service, readable[v1.Pod](ctx, f.question, service.Namespace)) {
		if !cluster.Serves(&pod) {
			continue
		}
		server := f.endOf(ctx, &pod)
		server.Services = service.Spec.ClusterIPs
		for _, p := range cluster.TargetPorts(service, port, &pod) {
			all = append(all, netpol.Connection{Client: client, Server: server, Port: p.Port, Protocol: p.Protocol})
		}
	}
	return all
}

// host is what no Service and no pod is called: ok is false if it may be one that is gone.
func host(name string) (netpol.End, bool) {
	if ip, err := netip.ParseAddr(name); err == nil {
		ip = ip.Unmap()
		if ip.IsLoopback() || ip.IsUnspecified() {
			return netpol.End{}, false
		}
		return netpol.End{Addresses: []string{ip.String()}, Unknown: ip.IsPrivate()}, true
	}
	return netpol.End{}, strings.Contains(strings.TrimSuffix(name, "."), ".") && !cluster.MayBeService(name)
}

// noDNS is the hop to the NetworkPolicy that blocks the requests of a pod for names, which gets no answer about them.
func (f *follower) noDNS(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) *answer.Hop {
	if pod.Spec.HostNetwork {
		return nil
	}
	own := cluster.Words(a, a.Verdicts[i])
	at := slices.IndexFunc(own, func(said string) bool { return cluster.MayLackDNS(said, f.existsBy(ctx, pod, said)) })
	if at < 0 {
		return nil
	}
	said := own[at]
	all, service := f.nameServers(ctx, pod, cluster.NameServerIn(said))
	hop := f.blocked(ctx, all, cluster.NameServers(service), cluster.AsksNames(a.Verdicts[i].Container, said))
	if hop != nil && service != nil {
		hop.Service = cluster.Key(service)
	}
	return hop
}

// resolvers leads on from a pod whose names no server resolves to the servers of its cluster, where these are not well.
func (n *visit) resolvers(ctx context.Context) {
	at := slices.IndexFunc(n.said, knowledge.NoDNS.In)
	if at < 0 || n.pod.Spec.HostNetwork {
		return
	}
	_, service := n.nameServers(ctx, n.pod, cluster.NameServerIn(n.said[at]))
	if service == nil {
		return
	}
	servers, err := allOf[v1.Pod](ctx, n.question, service.Namespace)
	if err != nil || !cluster.Closed(service, cluster.Selected(service, servers)) {
		return // a server that is Ready answers, whatever the others do
	}
	by := answer.Reach{Place: service.Name, How: answer.ReachSaid, Text: n.said[at], Said: n.said[at]}
	w := n.behind(ctx, place{Reach: by, host: service.Name, service: service, asker: n.asker}, service)
	w.ledBy(cluster.AsksNames(n.v.Container, n.said[at]))
	n.leads(w, graph.Needs, graph.Strong)
}

// existsBy reports whether the name that words are about is a Service's.
func (f *follower) existsBy(ctx context.Context, pod *v1.Pod, said string) bool {
	name, _ := split(words.Place(said))
	if name == "" || !cluster.NoSuchHost(said) {
		return false
	}
	service, target := f.resolve(ctx, pod.Namespace, name)
	return service != nil && !f.foreign(service, target)
}

// clusterDNS is the Service by which pods resolve names, under the names that it has in most clusters.
var clusterDNS = [][2]string{{metav1.NamespaceSystem, "kube-dns"}, {metav1.NamespaceSystem, "coredns"}, {metav1.NamespaceSystem, "rke2-coredns-rke2-coredns"}, {"openshift-dns", "dns-default"}}

// nameServers returns the connections by which a pod resolves names, and the Service that it asks; nil if it asks none,
// or that is not known. The address is that of the DNS server in its words; empty if they name none.
func (f *follower) nameServers(ctx context.Context, pod *v1.Pod, address string) (all []netpol.Connection, service *v1.Service) {
	client := f.endOf(ctx, pod)
	ask := func(server netpol.End) netpol.Connection {
		return netpol.Connection{Client: client, Server: server, Port: 53, Protocol: v1.ProtocolUDP}
	}
	switch pod.Spec.DNSPolicy {
	case v1.DNSNone:
		if c := pod.Spec.DNSConfig; c != nil {
			for _, address := range c.Nameservers {
				if server, ok := host(address); ok {
					all = append(all, ask(server))
				}
			}
		}
		return all, nil
	case v1.DNSDefault:
		return []netpol.Connection{ask(netpol.End{})}, nil
	}
	for _, name := range clusterDNS {
		s, err := oneOf[v1.Service](ctx, f.question, name[0], name[1])
		if err != nil || f.foreign(s, nil) || address != "" && s.Spec.ClusterIP != address {
			continue // a cache on the node, perhaps
		}
		for _, c := range f.behindService(ctx, client, s, 53) {
			if c.Protocol == v1.ProtocolUDP {
				all = append(all, c)
			}
		}
		if len(all) > 0 && all[0].Server.Pod != nil {
			return all, s
		}
		all = nil
		service = s
		break
	}
	return []netpol.Connection{ask(netpol.End{Unknown: true})}, service
}

// unsure says of a verdict on a connection that nobody answered what is not known of policies, or that they are not the
// reason.
func (f *follower) unsure(ctx context.Context, v *answer.Verdict) {
	s := f.suspects
	blocked := len(v.Hops) > 0 && v.Hops[len(v.Hops)-1].Policy != ""
	if !s.asked || len(v.Hops) > 0 && !blocked {
		return
	}
	switch {
	case blocked:
	case s.idle != "":
		cluster.NoPolicy(v, s.idle)
		return
	case s.withheld != "":
		cluster.PoliciesUnread(v, s.withheld, f.options.Now != nil)
	case !s.unread && s.admitting && !s.denied:
		cluster.NoPolicy(v, "")
	}
	kinds, _ := once(f.read, "kinds of policies", func() ([]otherPolicy, error) { return f.readOtherPolicies(ctx), nil })
	for _, kind := range kinds {
		if kind.seen || !blocked {
			cluster.OtherPolicies(v, kind.name, kind.seen, blocked)
		}
	}
}
