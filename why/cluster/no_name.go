package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// NoSuchHost says whether words are that DNS has no such name, or did not answer about it.
func NoSuchHost(said string) bool { return knowledge.NoName.In(said) || knowledge.NoDNS.In(said) }

// MayLackName reports whether DNS may lack the name in a client's error: the error says so, or gives no reason for the
// failed connection.
func MayLackName(said string) bool { return NoSuchHost(said) || words.NotReached(said) }

var serviceName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.svc(\.cluster\.local)?)?)?$`)

// MayBeService says whether a host is called as a Service is in the cluster: name[.namespace[.svc]].
// One with a namespace may be another's name just as well, and counts only with svc.
func MayBeService(host string) bool {
	return host != "localhost" && serviceName.MatchString(host) && strings.Count(host, ".") != 1
}

// NoService adds to a verdict of a pod that asks for a name that there is no Service of that name, the Services that there
// are, and what of the pod's settings has the name. A short name is looked up in the pod's own namespace, so of the Services
// of other namespaces the first one is told.
func NoService(v *answer.Verdict, pod *v1.Pod, missing *v1.Service, said string, port int32, settings []Setting, all, elsewhere []v1.Service) {
	var have, names []string
	for i := range all {
		if !Leads(&all[i], pod) {
			names = append(names, all[i].Name)
		}
		if port != 0 && slices.ContainsFunc(all[i].Spec.Ports, func(p v1.ServicePort) bool { return p.Port == port }) {
			have = append(have, all[i].Name)
		}
	}
	text := fmt.Sprintf("There is no Service %s in namespace %s", missing.Name, missing.Namespace)
	v.SayBecause(text + prose.Whether(NoSuchHost(said), ", so the cluster's DNS has no such name", "") + prose.Whether(len(have) > 0, fmt.Sprintf("; port %d is that of %s", port, prose.Some(have)), "") + ".")
	v.DropSteps(kubectl.Why("", "svc", missing.Namespace, missing.Name).SameAs)
	v.DropSteps(func(f answer.Fix) bool { return f.ID == answer.StepCheckDNS || f.ID == answer.StepReaddress })
	steps := []answer.Fix{correctName(pod, missing, settings, names, elsewhere)}
	if len(names) > mostServices {
		steps = slices.Insert(steps, 0, kubectl.Inspect("see which Services there are", kubectl.Command(missing.Namespace, "get services")))
	}
	v.AddFirst(append(steps, answer.Fix{Text: fmt.Sprintf("or create Service %s, from the manifest or chart that it belongs to", missing.Name), Risk: answer.Safe})...)
	if len(elsewhere) > 0 {
		of := elsewhere[0].Namespace
		v.SayBecause(fmt.Sprintf("Namespace %s has a Service %s; from here its name is %s.%s.", of, missing.Name, missing.Name, of))
	}
}

// FullOfServices adds to the verdict about a missing Service that a ResourceQuota of its namespace is used up.
func FullOfServices(v *answer.Verdict, namespace string, quotas []v1.ResourceQuota) {
	for _, q := range quotas {
		for _, resource := range []v1.ResourceName{v1.ResourceServices, "count/services"} {
			hard, bounded := q.Status.Hard[resource]
			used := q.Status.Used[resource]
			if !bounded || used.Cmp(hard) < 0 {
				continue
			}
			v.SayBecause(fmt.Sprintf("ResourceQuota %s has %s: %s in namespace %s, and %s exist, so no other Service can be created.", q.Name, resource, hard.String(), namespace, used.String()))
			v.AddFirst(answer.Fix{Text: fmt.Sprintf("raise %s of ResourceQuota %s, or delete a Service that is not needed; then create the missing one", resource, q.Name), Command: kubectl.Command(namespace, "edit resourcequota %s", q.Name), Risk: answer.Safe})
			return
		}
	}
}

// mostServices is how many Services of a namespace are named in place of a command that lists them.
const mostServices = 6

// correctName is the step that corrects the name of a Service that is missing where a pod's settings have it.
func correctName(pod *v1.Pod, missing *v1.Service, settings []Setting, names []string, elsewhere []v1.Service) answer.Fix {
	where, _, _ := Named(settings, missing)
	text := fmt.Sprintf("correct the name %s in %s", missing.Name, cmp.Or(where, "what configures the program"))
	meant := meantBy(missing.Name, names)
	switch {
	case len(elsewhere) > 0:
		text += fmt.Sprintf(" to %s.%s, if that Service is meant", missing.Name, elsewhere[0].Namespace)
	case meant != "":
		text += fmt.Sprintf(" to %s, if that Service is meant", meant)
	case len(names) > 0 && len(names) <= mostServices:
		text += " (the namespace has Service " + strings.Join(names, ", ") + ")"
	}
	at := first(settings, func(s Setting) bool { return s.Where == where })
	switch {
	case at == nil:
		return answer.Fix{Text: text, Risk: answer.Restarts}
	case at.ConfigMap != "":
		return kubectl.Edit(text, "ConfigMap", pod.Namespace, at.ConfigMap, pod)
	}
	return kubectl.EditTemplate(pod.Namespace, pod, text)
}

// meantBy returns the only Service that a wrong name may stand for: a letter or two differ, or one name is part of the
// other; empty if several Services fit or none does.
func meantBy(wrong string, names []string) string {
	fit := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return min(len(name), len(wrong)) < leastAlike || !strings.Contains(wrong, name) && !strings.Contains(name, wrong) && prose.Distance(name, wrong) > 2
	})
	if len(fit) != 1 {
		return ""
	}
	return fit[0]
}

// underDomain fits a Service's whole name: its own, its namespace's, and the cluster's domain.
var underDomain = regexp.MustCompile(`^([a-z][-a-z0-9]*)\.([a-z0-9][-a-z0-9]*)\.svc\.([a-z0-9][-a-z0-9.]*[a-z0-9])\.?$`)

// ofDomain is the domain that clusters have where nobody chose another (kubelet's clusterDomain).
const ofDomain = "cluster.local"

// OtherDomain takes a Service's whole name apart that is not of the domain that clusters have mostly.
func OtherDomain(host string) (name, namespace, domain string, ok bool) {
	m := underDomain.FindStringSubmatch(host)
	if m == nil || m[3] == ofDomain {
		return "", "", "", false
	}
	return m[1], m[2], m[3], true
}

// InOtherDomain adds to a verdict of one that asks for a name which DNS does not know that there is such a Service,
// and that the name is of a domain which may not be this cluster's. Where is what names it; empty where that is not known.
func InOtherDomain(v *answer.Verdict, pod *v1.Pod, service *v1.Service, domain, where string) {
	v.SayBecause(fmt.Sprintf("There is a Service %s in namespace %s; the name ends with %s, which DNS knows only if that is this cluster's domain (%s, mostly).", service.Name, service.Namespace, domain, ofDomain))
	text := fmt.Sprintf("name it %s.%s, without the cluster's domain, or correct that domain", service.Name, service.Namespace)
	v.AddFirst(kubectl.EditTemplate(pod.Namespace, pod, text+prose.Whether(where != "", ", in "+where, "")))
}

// NoNameBelow is the hop to a headless Service below which DNS has no name of a pod that is there: it has
// one below the Service that its spec names alone, as a StatefulSet has it for serviceName.
func NoNameBelow(pod *v1.Pod, service *v1.Service, by string) *answer.Hop {
	if pod.Spec.Subdomain == service.Name {
		return nil
	}
	hop := &answer.Hop{Service: Key(service), By: by, Cause: answer.DependencyDown}
	hop.Text = fmt.Sprintf("DNS has no name %s.%s: pod %s has names below the Service that its spec names alone (subdomain; serviceName of a StatefulSet), and that is ", pod.Name, service.Name, pod.Name)
	if pod.Spec.Subdomain == "" {
		hop.Text += "none."
		hop.Fixes = []answer.Fix{kubectl.EditTemplate(pod.Namespace, pod, fmt.Sprintf("give it hostname %s and subdomain %s, or ask the Service by its own name", pod.Name, service.Name))}
		return hop
	}
	hop.Text += pod.Spec.Subdomain + "."
	hop.Fixes = []answer.Fix{{
		Text:    fmt.Sprintf("ask for %s.%s instead, or make the StatefulSet anew with serviceName %s (it cannot be changed), and its pods with it", pod.Name, pod.Spec.Subdomain, service.Name),
		Command: kubectl.Command(pod.Namespace, "get %s -o yaml", kubectl.Workload(pod)), Risk: answer.Inspect,
	}}
	return hop
}

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
	is := prose.Whether(sure, "The reason is its name server", "The reason is most likely its name server")
	p := answer.Parts{Subject: v.Parts.Subject, Then: []string{v.Parts.String()}}
	p.What = fmt.Sprintf("%s: it asks for Service %s by its name (%s), and %s, so that it asks the node's name server, which knows no Service of the cluster.", is, service, where, setting)
	policy := prose.Whether(pod.Spec.HostNetwork, "ClusterFirstWithHostNet", "ClusterFirst")
	v.Cause, v.Certainty, v.Rule = answer.DependencyDown, answer.Inferred, "node-name-server"
	v.AddFirst(kubectl.EditTemplate(pod.Namespace, pod, "set its dnsPolicy to "+policy))
	v.Say(p)
}

// Replaced says whether an address that no pod has is likely one that a pod behind a Service had:
// the Service gives out its pods' addresses, for it has none of its own, those that it leads to are
// well and take requests at that port, and theirs are near the address.
func Replaced(port int32, service *v1.Service, pods []v1.Pod, near func(ip string) bool) bool {
	if service.Spec.ClusterIP != v1.ClusterIPNone || len(pods) == 0 {
		return false
	}
	for i := range pods {
		p := &pods[i]
		takes := slices.ContainsFunc(service.Spec.Ports, func(s v1.ServicePort) bool {
			target, ok := targetOf(s, p)
			return s.Port == port || ok && target == port
		})
		if !takes || !Serves(p) || !near(p.Status.PodIP) {
			return false
		}
	}
	return true
}

// OldAddress gives a verdict of one that reaches nobody at an address the cause that nobody has
// that any more: where is what of its configuration names the Service that leads elsewhere now.
func OldAddress(v *answer.Verdict, asker *v1.Pod, place, where string, service *v1.Service, pods []v1.Pod) {
	v.Turn(answer.AppUnhealthy, "old-address", prose.Upper(Who(v.Container))+" "+asksOld(place, where, service, pods))
	v.Fixes = lookUpAgain(asker, service)
}

// AsksOldAddress completes the hop to a pod that looks well and reaches nobody at an address that a Service's pod
// had before.
func AsksOldAddress(own *answer.Hop, asker *v1.Pod, a *answer.Answer, place, where string, service *v1.Service, pods []v1.Pod) {
	own.Cause, own.Fixes = answer.AppUnhealthy, lookUpAgain(asker, service)
	text := "It looks well, and " + asksOld(place, where, service, pods)
	if i := slices.IndexFunc(a.Complaints, now); i >= 0 {
		text += " " + a.Complaints[i].Says()
	}
	own.Say(text)
}

// asksOld words that one asks at an address that nobody has any more.
func asksOld(place, where string, service *v1.Service, pods []v1.Pod) string {
	now := prose.Each(pods, func(p v1.Pod) string { return fmt.Sprintf("%s (%s)", p.Name, p.Status.PodIP) })
	return fmt.Sprintf("asks %s, an address that no pod and no Service has any more. Service %s/%s, which %s names, has none of its own (it is headless) and leads to %s, which is well: it goes on with an address that it looked up before.",
		place, service.Namespace, service.Name, where, prose.Brief(strings.Join(now, ", "), kept))
}

// lookUpAgain is what to do about one that goes on with an old address.
func lookUpAgain(asker *v1.Pod, service *v1.Service) []answer.Fix {
	return []answer.Fix{
		kubectl.Inspect("see the addresses that the name has now", kubectl.Command(service.Namespace, "get endpointslices -l kubernetes.io/service-name=%s", service.Name)),
		{Text: "start it again, so that it looks the name up", Risk: answer.Restarts, Command: kubectl.Restart(asker.Namespace, asker)},
		{Text: fmt.Sprintf("have it look names up as it asks (HAProxy: resolvers, nginx: resolver), or make Service %s anew with an address of its own (without clusterIP: None)", service.Name), Risk: answer.Restarts},
	}
}

// anew has a pod made anew: by what makes it, or as it is where nothing does. Empty for a Job's,
// which may count that as a failure.
func anew(pod *v1.Pod) string {
	switch of := kubectl.Workload(pod); {
	case of == "":
		return kubectl.Command(pod.Namespace, "get pod %s -o yaml | kubectl replace --force -f -", pod.Name)
	case strings.HasPrefix(of, "job/"), strings.HasPrefix(of, "cronjob/"):
		return ""
	}
	return kubectl.Command(pod.Namespace, "delete pod %s", pod.Name)
}
