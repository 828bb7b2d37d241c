package cluster

import (
	"fmt"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
)

// AsksTheNode says whether a pod asks the node's name server and not the cluster's, and by which setting
// (k8s.io/api, DNSPolicy; kubelet, pkg/kubelet/network/dns, getPodDNSType).
func AsksTheNode(pod *v1.Pod) (setting string, ok bool) {
	switch policy := pod.Spec.DNSPolicy; {
	case policy == v1.DNSDefault:
		return "its dnsPolicy is Default", true
	case pod.Spec.HostNetwork && policy != v1.DNSClusterFirstWithHostNet && policy != v1.DNSNone:
		return "it uses the node's network (hostNetwork), and its dnsPolicy is not ClusterFirstWithHostNet", true
	}
	return "", false
}

// NotThere says whether a verdict is that of one which did not come to whom it asks, as it is of one that
// does not find it by its name, or not in time; sure is set where its words say that DNS has no such name.
func NotThere(a *answer.Answer, v answer.Verdict) (sure, ok bool) {
	said := Words(a, v)
	sure = slices.ContainsFunc(said, NoSuchHost)
	return sure, sure || slices.ContainsFunc(said, late.MatchString) || slices.ContainsFunc(v.Chain, func(l answer.Link) bool { return l.TimedOut })
}

// late fits what tells of no answer in time.
var late = regexp.MustCompile(`(?i)\btime(?:d|s)?[ -]?outs?\b|\bno (?:answer|response|reply) within\b|\bdeadline exceeded\b`)

// UnknownThere gives the reason to a verdict of a pod that asks for a Service by its name a name server that
// knows none of the cluster's: where has the name, setting is why it asks there.
func UnknownThere(v *answer.Verdict, pod *v1.Pod, service, where, setting string, sure bool) {
	is := "The reason is most likely its name server"
	if sure {
		is = "The reason is its name server"
	}
	p := answer.Parts{Subject: v.Parts.Subject, Then: []string{v.Parts.String()}}
	p.What = fmt.Sprintf("%s: it asks for Service %s by its name (%s), and %s, so that it asks the node's name server, which knows no Service of the cluster.", is, service, where, setting)
	policy := "ClusterFirst"
	if pod.Spec.HostNetwork {
		policy = "ClusterFirstWithHostNet"
	}
	v.Cause, v.Certainty, v.Rule = answer.DependencyDown, answer.Inferred, "node-name-server"
	v.AddFirst(kubectl.EditTemplate(pod.Namespace, pod, "set its dnsPolicy to "+policy))
	v.Say(p)
}
