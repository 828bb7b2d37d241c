package cluster

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// ByCommand is the newest attempt of a verdict's chain, where it is one of a probe's command that has never
// gone well since: what it asks it asks each time. ok is false where the verdict is about anything else.
func ByCommand(v answer.Verdict) (attempt answer.Link, ok bool) {
	if v.Cause != answer.DependencyDown && !FailsCommand(v) || v.Pod != "" || !LastWell(v).IsZero() {
		return answer.Link{}, false
	}
	for _, l := range slices.Backward(v.Chain) {
		if l.Kind == (fact.Probed{}).Kind() {
			return l, fmt.Sprint(l.Evidence["handler"]) == string(fact.Exec)
		}
	}
	return answer.Link{}, false
}

// AskedBy says whether it is the command of a probe that asks at a place, and not the container by itself: its
// attempt told of that place, or the command or what it put out has the name.
func AskedBy(attempt answer.Link, r answer.Reach, host string) bool {
	if r.How != answer.ReachSaid {
		return false
	}
	return r.Fact == attempt.Fact || slices.ContainsFunc([]string{"target", "output"}, func(key string) bool {
		text, _ := attempt.Evidence[key].(string)
		return words.Has(text, host)
	})
}

// AwaitsItself says whether a probe that asks by a Service of its own pod waits for what it keeps from coming: the
// Service leads to no other pod, and to this one only when it is ready. A liveness probe keeps no pod from
// being ready, but it may be asked before that where another probe decides on it.
func AwaitsItself(service *v1.Service, pod *v1.Pod, all []v1.Pod, attempt answer.Link) bool {
	if service.Spec.PublishNotReadyAddresses || !Leads(service, pod) || LooksWell(pod) {
		return false
	}
	if strings.EqualFold(fmt.Sprint(attempt.Evidence["probe"]), string(fact.Liveness)) && !slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.ReadinessProbe != nil || c.StartupProbe != nil }) {
		return false
	}
	return !slices.ContainsFunc(Selected(service, all), func(other v1.Pod) bool {
		return other.UID != pod.UID && Serves(&other)
	})
}

// OwnPort is the port of a pod to which a Service leads that is asked at a port: 0 where that is not known. ok is
// false where the Service has no such port, which is another trouble.
func OwnPort(service *v1.Service, port int32, pod *v1.Pod) (target int32, ok bool) {
	if port == 0 && len(service.Spec.Ports) != 1 {
		return 0, true
	}
	for _, p := range TargetPorts(service, port, pod) {
		return p.Port, true
	}
	return 0, false
}

// OwnService gives a verdict of a probe whose command asks by a Service of its own pod the cause that this leads
// to the pod only when it is ready: host is what the command calls it, port the one of the pod to ask
// in its place, 0 where that is not known.
func OwnService(v *answer.Verdict, pod *v1.Pod, service *v1.Service, attempt answer.Link, host string, port int32) {
	probe := strings.ToLower(fmt.Sprint(attempt.Evidence["probe"])) + " probe"
	never := prose.Whether(probe != strings.ToLower(string(fact.Liveness))+" probe", "the pod waits for itself", "the probe can never succeed before")
	who := ""
	if v.Container != "" {
		who = " of container " + v.Container
	}
	is := fmt.Sprintf("%s, which is Service %s/%s of the pod itself", host, service.Namespace, service.Name)
	if host == service.Name {
		is = host + ", which is the Service of the pod itself"
	}
	v.Turn(answer.ProbeCommandFailed, "probe-own-service", fmt.Sprintf("The command of the %s%s asks %s. That leads to the pod only when it is ready: %s.", probe, who, is, never))
	v.DropSteps(kubectl.Why("", "svc", service.Namespace, service.Name).SameAs) // it leads back here
	itself := prose.Whether(port != 0, fmt.Sprintf("127.0.0.1:%d", port), "127.0.0.1")
	v.AddFirst(
		kubectl.EditTemplate(pod.Namespace, pod, fmt.Sprintf("have the command of the %s%s ask %s in place of %s", probe, who, itself, host)),
		edit(service, "or let the Service lead to pods that are not ready yet (publishNotReadyAddresses: true), where nobody else who asks it minds"),
	)
}
