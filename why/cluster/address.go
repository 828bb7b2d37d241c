package cluster

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

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
		if !takes || !LooksWell(p) || p.Status.Phase == v1.PodSucceeded || !near(p.Status.PodIP) {
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
	var now []string
	for i := range pods {
		now = append(now, fmt.Sprintf("%s (%s)", pods[i].Name, pods[i].Status.PodIP))
	}
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
