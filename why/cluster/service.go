package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// ServiceAnswer says why a Service has no endpoints, or why some of its pods are
// not among them. candidates are the pods of its namespace, others the Services there, answers those about
// the pods that it selects.
func ServiceAnswer(service *v1.Service, candidates []v1.Pod, others []v1.Service, answers []answer.Answer, now time.Time) answer.Answer {
	subject, selected := SubjectOf("Service", service), Selected(service, candidates)
	b := Behind{Service: service, Pods: selected, All: candidates, Answers: answers}
	switch {
	case len(service.Spec.Selector) == 0:
		return single(subject, now, answer.Healthy, "it has no selector", inferred(answer.None, "no-selector", "The Service has no selector: somebody else makes its endpoints."))
	case len(selected) == 0:
		return single(subject, now, answer.NotServing, "it has no endpoints", selectorFinding(service, candidates, others))
	}
	if f, ok := b.portFinding(others); ok {
		return single(subject, now, answer.NotServing, "its port leads nowhere", f)
	}
	f, all, ok := b.notListening()
	if all {
		return single(subject, now, answer.NotServing, "its port leads nowhere", f)
	}
	a := Group(subject, answers, now)
	if !ok {
		if a.Verdicts[0].Cause == answer.None {
			a.Verdicts[0].SayThen(serves(service, selected))
		}
		return a
	}
	own := single(subject, now, answer.NotServing, "its port leads nowhere in a part of its pods", f)
	if a.Symptoms[0].Kind != answer.Healthy || a.Verdicts[0].Cause != answer.None {
		own.Join(&a)
	}
	return own
}

// serves says how many of the pods of a Service are Ready, and at which ports it leads to them.
func serves(service *v1.Service, selected []v1.Pod) string {
	ready := 0
	for i := range selected {
		if c := conditionOf(&selected[i], v1.PodReady); c != nil && c.Status == v1.ConditionTrue {
			ready++
		}
	}
	var ports []string
	for _, p := range service.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%d to %s", p.Port, p.TargetPort.String()))
	}
	text := fmt.Sprintf("Ready pods behind it: %d of %d", ready, len(selected))
	return text + prose.Whether(len(ports) > 0, fmt.Sprintf("; it leads from port %s", prose.Some(ports)), "") + "."
}

// Selected are the pods that a Service selects.
func Selected(service *v1.Service, pods []v1.Pod) []v1.Pod {
	if len(service.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	return slices.DeleteFunc(slices.Clone(pods), func(p v1.Pod) bool { return !selector.Matches(labels.Set(p.Labels)) })
}

// selectorFinding says which part of the selector no pod has, or that no pod is meant for the Service.
func selectorFinding(service *v1.Service, pods []v1.Pod, others []v1.Service) answer.Verdict {
	f := inferred(answer.SelectorMismatch, "selector", fmt.Sprintf("The Service selects %s, and no pod of namespace %s has these labels.", labels.Set(service.Spec.Selector), service.Namespace))
	all := kubectl.Command(service.Namespace, "get pods,statefulsets,deployments --show-labels")
	for k, want := range service.Spec.Selector {
		if like := otherMember(pods, k, want); like != "" {
			f.Cause = answer.DependencyDown
			f.Text += fmt.Sprintf(" It is for one pod of several that are numbered (there is %s=%s): that one is not there, and nobody has made it, or it is gone.", k, like)
			f.Fixes = []answer.Fix{kubectl.Inspect("see which pods and workloads there are, and make the one that is missing", all)}
			return f
		}
	}
	if !slices.ContainsFunc(pods, func(p v1.Pod) bool { return mayBeMeant(service, &p, others) }) {
		f.Cause = answer.DependencyDown
		f.Text += " No other pod there looks like the one that is meant, by its labels, its name or its ports: it was never created, or has been deleted."
		f.Fixes = []answer.Fix{
			kubectl.Inspect("see which workloads there are", all),
			edit(service, fmt.Sprintf("if the one that is meant is there under other labels: set the selector of Service %s to those", service.Name)),
			{Text: fmt.Sprintf("if it is not there: create it from the manifest or chart that it belongs to; its pods need the labels %s", labels.Set(service.Spec.Selector)), Risk: answer.Safe},
		}
		return f
	}
	f.Text += nearestPod(service, pods)
	f.Fixes = []answer.Fix{
		edit(service, fmt.Sprintf("correct the selector of Service %s, or the labels of the pods' template", service.Name)),
		kubectl.Inspect("see the labels of all pods of the namespace", kubectl.Command(service.Namespace, "get pods --show-labels")),
	}
	return f
}

// nearestPod words which labels the pod lacks that has most of those that a Service selects.
func nearestPod(service *v1.Service, pods []v1.Pod) string {
	var nearest *v1.Pod
	most := 0
	for i := range pods {
		n := 0
		for k, want := range service.Spec.Selector {
			if v, ok := pods[i].Labels[k]; ok && v == want {
				n += 2
			} else if ok {
				n++
			}
		}
		if n > most {
			most, nearest = n, &pods[i]
		}
	}
	if nearest == nil {
		return ""
	}
	var differs []string
	for _, k := range slices.Sorted(maps.Keys(service.Spec.Selector)) {
		switch v, ok := nearest.Labels[k]; {
		case !ok:
			differs = append(differs, "no label "+k)
		case v != service.Spec.Selector[k]:
			differs = append(differs, fmt.Sprintf("%s=%s in place of %s", k, v, service.Spec.Selector[k]))
		}
	}
	return fmt.Sprintf(" Pod %s comes nearest: it has %s.", nearest.Name, strings.Join(differs, " and "))
}

// ofAll fits the labels that all pods of a release share.
var ofAll = regexp.MustCompile(`(?:^|/)(?:instance|release|managed-by|part-of|version|chart|heritage|environment|env)$`)

// mayBeMeant says whether a pod may be one that a Service is to lead to, which selects none: a label of its is like
// the one that is wanted, its name or a label is like the Service's, or it has the port, and is no other Service's.
func mayBeMeant(service *v1.Service, p *v1.Pod, others []v1.Service) bool {
	for k, want := range service.Spec.Selector {
		if !ofAll.MatchString(k) && alike(p.Labels[k], want) {
			return true
		}
	}
	if alike(p.Name, service.Name) {
		return true
	}
	for k, v := range p.Labels {
		if !ofAll.MatchString(k) && alike(v, service.Name) {
			return true
		}
	}
	if slices.ContainsFunc(others, func(o v1.Service) bool { return o.UID != service.UID && Leads(&o, p) }) {
		return false
	}
	return slices.ContainsFunc(service.Spec.Ports, func(s v1.ServicePort) bool {
		_, served := portsOf([]v1.Pod{*p}, targetPort(s))
		return served
	})
}

// leastAlike is how long a part of a name has to be that two have in common.
const leastAlike = 4

// alike says whether two names are likely of one thing: but for a letter or two, one within the other, or with a part
// of some length in common.
func alike(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	near := min(len(a), len(b)) >= leastAlike || len(a) == len(b) && len(a) > 2
	if strings.Contains(a, b) || strings.Contains(b, a) || near && prose.Distance(a, b) <= 2 {
		return true
	}
	parts := func(name string) []string {
		return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-._/", r) })
	}
	return slices.ContainsFunc(parts(a), func(part string) bool { return len(part) >= leastAlike && slices.Contains(parts(b), part) })
}

// ordinal fits a name with a number at its end.
var ordinal = regexp.MustCompile(`^(.*?\D)(\d+)$`)

// otherMember is the value that a pod has of a label where another with the same name and another number is wanted;
// empty where none has such a one.
func otherMember(pods []v1.Pod, key, want string) string {
	m := ordinal.FindStringSubmatch(want)
	if m == nil || ofAll.MatchString(key) {
		return ""
	}
	for _, p := range pods {
		if o := ordinal.FindStringSubmatch(p.Labels[key]); o != nil && o[1] == m[1] && o[2] != m[2] {
			return p.Labels[key]
		}
	}
	return ""
}

// portFinding says which target port no selected pod serves: a name that none of
// them has, or a number where they all declare others and none is known to listen on it:
// to declare a port is of no effect.
func (b Behind) portFinding(others []v1.Service) (answer.Verdict, bool) {
	for _, port := range b.Service.Spec.Ports {
		target := targetPort(port)
		declared, served := portsOf(b.Pods, target)
		if f, ok := b.declaredOtherwise(port, others); ok {
			return f, true
		}
		if served || target.Type == intstr.Int && (len(declared) == 0 || b.listen(target.IntVal)) {
			continue
		}
		text := fmt.Sprintf("Port %d of the Service goes to port %s of its pods, which none of them declares", port.Port, target.String())
		text += prose.Whether(len(declared) > 0, "; they declare "+strings.Join(declared, ", "), "") + "."
		f := inferred(answer.ServicePortMismatch, "target-port", text, edit(b.Service, fmt.Sprintf("correct targetPort of the Service's port %d", port.Port)))
		for i := range b.Pods {
			a := b.looked(&b.Pods[i])
			if a == nil {
				continue
			}
			if hop := b.misled(port, look{Answer: a, pod: &b.Pods[i]}); hop != nil {
				f.Cause, f.Text, f.Fixes = hop.Cause, hop.Text, hop.Fixes
				break
			}
		}
		return f, true
	}
	return answer.Verdict{}, false
}

// declaredOtherwise is about a port of a Service whose pods declare its target for another protocol only. A Service that
// has the target for both may lead to a program that takes both.
func (b Behind) declaredOtherwise(port v1.ServicePort, others []v1.Service) (answer.Verdict, bool) {
	target := targetPort(port)
	both := func(o v1.Service) bool { // it may take both, whatever its pods declare
		return slices.ContainsFunc(o.Spec.Ports, func(p v1.ServicePort) bool {
			return protocol(p.Protocol) != protocol(port.Protocol) && targetPort(p) == target
		})
	}
	if both(*b.Service) || slices.ContainsFunc(others, both) || b.listen(target.IntVal) {
		return answer.Verdict{}, false
	}
	declared := v1.Protocol("")
	for _, p := range b.Pods {
		for _, c := range p.Spec.Containers {
			for _, d := range c.Ports {
				if d.ContainerPort != target.IntVal && (d.Name == "" || d.Name != target.StrVal) {
					continue
				}
				if protocol(d.Protocol) == protocol(port.Protocol) {
					return answer.Verdict{}, false
				}
				declared = protocol(d.Protocol)
			}
		}
	}
	return inferred(answer.ServicePortMismatch, "target-port",
		fmt.Sprintf("Port %d of the Service is %s and goes to port %s of its pods, which declare that one as %s: what listens there hears nothing of the other protocol.",
			port.Port, protocol(port.Protocol), target.String(), declared),
		edit(b.Service, fmt.Sprintf("set the protocol of the Service's port to %s, if that is what its pods take", declared))), declared != ""
}

// protocol is one with its default.
func protocol(p v1.Protocol) v1.Protocol { return cmp.Or(p, v1.ProtocolTCP) }

func portsOf(pods []v1.Pod, target intstr.IntOrString) (declared []string, served bool) {
	for _, p := range pods {
		for _, c := range append(slices.Clone(p.Spec.InitContainers), p.Spec.Containers...) {
			for _, port := range c.Ports {
				if target.Type == intstr.String && port.Name == target.StrVal || target.Type == intstr.Int && port.ContainerPort == target.IntVal {
					return nil, true
				}
				word := fmt.Sprint(port.ContainerPort)
				if port.Name != "" {
					word += " (" + port.Name + ")"
				}
				if !slices.Contains(declared, word) {
					declared = append(declared, word)
				}
			}
		}
	}
	return declared, false
}

// ServiceWithoutPods answers about a Service whose selector is right and selects
// nothing, because the workloads that make its pods have made none. behind are the
// answers about them.
func ServiceWithoutPods(service *v1.Service, behind []answer.Answer, now time.Time) answer.Answer {
	a := answer.New(SubjectOf("Service", service), now, answer.Coverage{Complete: true})
	for _, w := range behind {
		name := fmt.Sprintf("%s %s", w.Subject.Kind, w.Subject.Name)
		for i, s := range w.Symptoms {
			v := w.Verdicts[i]
			if s.Kind == answer.Healthy {
				v.Cause, v.Rule = answer.ScaledDown, "scaled-to-zero"
			}
			s.Kind, s.Text = answer.NotServing, "it has no endpoints"
			v.Text = fmt.Sprintf("The Service selects the pods of %s, and there are none. %s", name, v.Text)
			a.Put(s, v)
		}
	}
	return a
}

// StandsFor is the Service of this cluster that another is a second name for; ok is false where
// it is none, or one for a host elsewhere.
func StandsFor(service *v1.Service) (space, name string, ok bool) {
	if service.Spec.Type != v1.ServiceTypeExternalName {
		return "", "", false
	}
	parts := strings.Split(strings.TrimSuffix(service.Spec.ExternalName, "."), ".")
	if len(parts) < 3 || parts[2] != "svc" {
		return "", "", false
	}
	return parts[1], parts[0], true
}

// NameForNothing answers about a Service that is a second name for one which does not exist;
// empty says that not even its namespace does.
func NameForNothing(service *v1.Service, empty bool, now time.Time) answer.Answer {
	space, name, _ := StandsFor(service)
	lacks := prose.Whether(empty, "there is no namespace "+space, fmt.Sprintf("namespace %s has no Service %s", space, name))
	f := inferred(answer.DependencyDown, "name-for-nothing", fmt.Sprintf("The Service is another name for %s, and %s: so DNS knows no address for it.", service.Spec.ExternalName, lacks),
		kubectl.Inspect("see where that Service is now", kubectl.Command("", "get services -A --field-selector metadata.name=%s", name)),
		edit(service, "correct externalName"))
	return single(SubjectOf("Service", service), now, answer.NotServing, "its name leads nowhere", f)
}

// WantsAddress says whether a Service waits for an address outside of the cluster.
func WantsAddress(service *v1.Service) bool {
	return service.Spec.Type == v1.ServiceTypeLoadBalancer && len(service.Status.LoadBalancer.Ingress) == 0
}

// taken fits what a controller of load balancers says of a port that another Service has.
var taken = regexp.MustCompile(`(?i)\bport\b.*\b(?:taken|in use|allocated)\b`)

// WithoutAddress adds to the answer about a Service that it has no address outside of the
// cluster. words are those of the controller that could not give it one, first heard then.
func WithoutAddress(service *v1.Service, behind answer.Answer, words string, since, now time.Time) answer.Answer {
	// service/controller.go and its provider wrap what was wrong in what they did.
	for _, wrapped := range []string{"Error syncing load balancer: ", "failed to ensure load balancer: "} {
		words = strings.TrimPrefix(words, wrapped)
	}
	f := inferred(answer.LoadBalancerFailed, "load-balancer-refused",
		"The Service gets no address outside of the cluster. The controller of load balancers says: "+prose.Upper(strings.TrimSuffix(words, "."))+".")
	if taken.MatchString(words) {
		f.Fixes = append(f.Fixes, kubectl.Inspect("see which Services of type LoadBalancer there are, and their ports", "kubectl get services -A"), answer.Fix{Text: "choose another port for one of the two Services", Command: kubectl.Command(service.Namespace, "edit service %s", service.Name), Risk: answer.Limits})
	} else {
		f.Fixes = []answer.Fix{
			kubectl.Inspect("see all that its controller says", kubectl.Command(service.Namespace, "describe service %s", service.Name)),
			{Text: "correct what it names: annotations or spec of the Service, or a quota or a right of the cloud account", Command: kubectl.Command(service.Namespace, "edit service %s", service.Name), Risk: answer.Limits},
		}
	}
	a := single(behind.Subject, now, answer.NotServing, "it has no address outside of the cluster", f)
	a.Symptoms[0].First = since
	a.Join(&behind)
	a.Well = behind.Well
	return a
}
