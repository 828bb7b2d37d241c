package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// leads are the causes that may be the effect of another pod's trouble.
var leads = []answer.Cause{
	answer.DependencyDown, answer.AppUnhealthy, answer.AppHang, answer.AppOverloaded, answer.ProbeTimeoutTooShort, answer.ProbeCommandFailed,
	answer.AppNotListening, answer.AppExitError, answer.AppExitSuccess, answer.InitWaiting, answer.InitFailed, answer.CauseUnknown,
}

// MayLead says whether a verdict may be the effect of another pod's trouble.
func MayLead(v answer.Verdict) bool {
	return slices.Contains(leads, v.Cause) && v.Pod == "" && (v.Cause != answer.AppUnhealthy || status(v) == 0 || status(v) >= 500)
}

// MayWait says whether it may be that of one who waits for an answer.
func MayWait(v answer.Verdict) bool {
	return slices.Contains([]answer.Cause{answer.AppHang, answer.AppOverloaded, answer.ProbeTimeoutTooShort, answer.ProbeCommandFailed, answer.DependencyDown, answer.CauseUnknown}, v.Cause) ||
		v.Cause == answer.AppUnhealthy
}

// MayBeConfigured says whether the Services that a pod's configuration names are worth a
// look: it may be that it waits for one.
func MayBeConfigured(v answer.Verdict) bool {
	return MayWait(v) || v.Cause == answer.AppNotListening
}

// HandsOn says whether a verdict is about an answer that only a gateway gives, of whom it
// hands requests on to (RFC 9110, 15.6), or about one that says itself that it reaches
// something, and not what. A plain 500 or 503 is the application's own.
func HandsOn(v answer.Verdict) bool {
	switch v.Cause {
	case answer.DependencyDown:
		return true
	case answer.AppUnhealthy:
		code, said := status(v), v.Text
		return code == 502 || code == 504 || code == 503 && words.NoUpstream.In(said)
	}
	return false
}

// silences are the causes for which somebody answers nothing on a connection that is open.
var silences = []answer.Cause{answer.AppHang, answer.ProcessStopped, answer.AppOverloaded, answer.CPUThrottled, answer.NodeCPUSaturated, answer.NetworkBlocked}

// Explains says whether a cause at a place explains a verdict, by how the place is known: an
// application that answers 5xx itself, and has a connection open to another one, suffers
// from it only where that one keeps silent.
func Explains(v answer.Verdict, how answer.Reached, there answer.Cause) bool {
	plain := v.Cause == answer.AppUnhealthy && status(v) != 0 && !HandsOn(v)
	return how != answer.ReachOpen || !plain || slices.Contains(silences, there)
}

// status is the newest HTTP status in a verdict's chain; 0 where there is none.
func status(v answer.Verdict) int {
	for _, l := range slices.Backward(v.Chain) {
		switch n := l.Evidence["status"].(type) {
		case float64:
			return int(n)
		case int:
			return n
		}
	}
	return 0
}

// Leads says whether a Service leads to a pod.
func Leads(service *v1.Service, pod *v1.Pod) bool {
	return service.Namespace == pod.Namespace && len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// recently is how long ago an end may be that others still suffer from.
const recently = 5 * time.Minute

// Root is the verdict of an answer about a pod that others suffer from; -1 where there is
// none: what is over, and what is well, explains nothing.
func Root(a *answer.Answer) int {
	for i, s := range a.Symptoms {
		v := a.Verdicts[i]
		switch {
		case answer.WellOrDone(s, v), v.Cause == answer.None, s.Kind == answer.Terminating:
		case s.Kind == answer.Restarted && a.AsOf.Sub(s.Last) > recently:
		case s.Kind == answer.NotReady && !s.Last.IsZero() && a.AsOf.Sub(s.Last) > recently/10:
		default:
			return i
		}
	}
	return -1
}

// HopOf is the one hop to a Service or pod about which an answer was given; none where
// nothing is wrong there.
func HopOf(service, pod, by string, a *answer.Answer) []answer.Hop {
	i := Root(a)
	if i < 0 || a.Verdicts[i].Cause == answer.CauseUnknown {
		return nil
	}
	v := a.Verdicts[i]
	return []answer.Hop{{Service: service, Pod: pod, By: by, Cause: v.Cause, Text: v.Text, Chain: v.Chain}}
}

// LooksWell says whether the API shows nothing amiss of a pod: it is ready, or done.
func LooksWell(pod *v1.Pod) bool {
	if pod.Status.Phase == v1.PodSucceeded {
		return true
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

// Suffers is a pod that fails because of another one, to which the hop of its verdict leads.
func Suffers(pod *v1.Pod, a *answer.Answer, i int, there answer.Hop) answer.Hop {
	s, v := a.Symptoms[i], a.Verdicts[i]
	own := answer.Hop{Pod: pod.Namespace + "/" + pod.Name, By: there.By, Cause: v.Cause, Text: prose.Upper(cmp.Or(s.Text, string(s.Kind))) + "."}
	if n := len(v.Contributing); n > 0 {
		own.Cause = v.Contributing[n-1].Cause // its own, which led there
	}
	return own
}

// NoSuchPort is the hop to a Service that does not have the port that it is asked at.
func NoSuchPort(service *v1.Service, port int32, by string) (answer.Hop, bool) {
	if port == 0 || len(service.Spec.Ports) == 0 || service.Spec.ClusterIP == v1.ClusterIPNone {
		return answer.Hop{}, false
	}
	var have []string
	for _, p := range service.Spec.Ports {
		if p.Port == port {
			return answer.Hop{}, false
		}
		have = append(have, fmt.Sprint(p.Port))
	}
	name := service.Namespace + "/" + service.Name
	return answer.Hop{
		Service: name, By: by, Cause: answer.ServicePortMismatch,
		Text: fmt.Sprintf("Service %s has no port %d; it has %s.", name, port, strings.Join(have, ", ")),
	}, true
}

// Deaf is the hop to a Service whose pods look well and do not listen on the port that it
// leads to; none where one does, or nobody looked.
func Deaf(service *v1.Service, port int32, pods []v1.Pod, answers []answer.Answer, by string) []answer.Hop {
	name := service.Namespace + "/" + service.Name
	for _, p := range service.Spec.Ports {
		if port != 0 && p.Port != port || p.Protocol != "" && p.Protocol != v1.ProtocolTCP {
			continue
		}
		for i := range pods {
			j := slices.IndexFunc(answers, func(a answer.Answer) bool { return a.Subject.UID == pods[i].UID })
			target, ok := targetOf(p, &pods[i])
			if j < 0 || answers[j].Listening == nil || !ok || slices.Contains(answers[j].Listening.Ports, target) {
				continue
			}
			if !slices.Contains(answers[j].Listening.Loopback, target) && youngest(&pods[i], answers[j].AsOf) < comesUp {
				continue // it may be about to
			}
			pod := pods[i].Namespace + "/" + pods[i].Name
			hop := answer.Hop{Service: name, Pod: pod, By: by, Cause: answer.ServicePortMismatch}
			hop.Text = fmt.Sprintf("Port %d of Service %s leads to port %d of pod %s, on which it does not listen", p.Port, name, target, pod)
			switch l := answers[j].Listening; {
			case slices.Contains(l.Loopback, target):
				hop.Cause = answer.AppListensElse
				hop.Text = fmt.Sprintf("Pod %s listens on port %d of its loopback alone (127.0.0.1:%d), where nobody else reaches it", pod, target, target)
			case len(l.Ports) > 0:
				hop.Text += fmt.Sprintf("; it listens on %s", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(l.Ports)), ", "), "[]"))
			}
			hop.Text += "."
			return []answer.Hop{hop}
		}
	}
	return nil
}

// comesUp is how long a server may take until it listens.
const comesUp = time.Minute

// youngest is how long ago the container of a pod was started that was started last.
func youngest(pod *v1.Pod, now time.Time) time.Duration {
	age := now.Sub(pod.CreationTimestamp.Time)
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			age = min(age, now.Sub(c.State.Running.StartedAt.Time))
		} else {
			age = 0
		}
	}
	return age
}

// Lead gives a verdict the cause of the last of the hops, and tells of the way there.
func Lead(a *answer.Answer, i int, hops []answer.Hop) {
	v := &a.Verdicts[i]
	last := hops[len(hops)-1]
	was := answer.Note{Cause: v.Cause, Text: v.Text}
	for _, l := range v.Chain {
		was.Facts = append(was.Facts, l.Fact)
	}
	where := "Service " + last.Service
	if last.Pod != "" {
		where = "pod " + last.Pod
	}
	parts := answer.Parts{Subject: v.Parts.Subject, What: fmt.Sprintf("The reason is %s: %s", where, last.Text)}
	for _, h := range hops {
		parts.Because = append(parts.Because, prose.Upper(h.By)+".")
	}
	parts.Then = append([]string{prose.Upper(strings.TrimSuffix(v.Parts.String(), ".")) + "."}, parts.Then...)
	if v.Cause == answer.CauseUnknown {
		parts.Then = nil
	}
	space, name, _ := strings.Cut(cmp.Or(last.Pod, last.Service), "/")
	kind := "pod"
	if last.Pod == "" {
		kind = "svc"
	}
	fix := kubectl.Inspect("see all that is known of it, and what to do", kubectl.Command(space, "why %s/%s", kind, name))
	v.Fixes = []answer.Fix{fix}
	v.Cause, v.Certainty, v.Rule, v.Container, v.Pod, v.Hops = last.Cause, answer.Inferred, "another-pod", "", last.Pod, hops
	v.Missing, v.Possible, v.SteadySince = "", nil, time.Time{}
	if was.Cause != answer.CauseUnknown && was.Cause != last.Cause {
		v.Contributing = append(v.Contributing, was)
	}
	v.Say(parts)
}

// Mention adds to a verdict that something else is not well, of which nothing shows that it
// is the reason.
func Mention(v *answer.Verdict, hops []answer.Hop) {
	first := hops[0]
	space, name, _ := strings.Cut(cmp.Or(first.Service, first.Pod), "/")
	kind := "svc"
	if first.Service == "" {
		kind = "pod"
	}
	text := fmt.Sprintf("see about %s too, which is not well either (%s): nothing shows that this is why", cmp.Or(first.Service, first.Pod), first.By)
	v.Fixes = append(v.Fixes, kubectl.Inspect(text, kubectl.Command(space, "why %s/%s", kind, name)))
}

// Setting is a text that configures a pod, and where it stands.
type Setting struct{ Where, Text string }

// Settings are the commands and the environment of a pod's containers.
func Settings(pod *v1.Pod) []Setting {
	var all []Setting
	for _, c := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		for _, e := range c.Env {
			all = append(all, Setting{"variable " + e.Name, e.Value})
		}
		all = append(all, Setting{"command", strings.Join(append(slices.Clone(c.Command), c.Args...), " ")})
	}
	return all
}

// ConfigMaps are the names of those that a pod takes its configuration from.
func ConfigMaps(pod *v1.Pod) []string {
	var all []string
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap != nil {
			all = append(all, v.ConfigMap.Name)
		}
	}
	for _, c := range pod.Spec.Containers {
		for _, e := range c.EnvFrom {
			if e.ConfigMapRef != nil {
				all = append(all, e.ConfigMapRef.Name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
