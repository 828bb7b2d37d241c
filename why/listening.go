package why

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// listening is what the pod's containers listen on, by the newest look into one
// that still runs: its containers share a network namespace, so one look sees all.
// Ports that were probed well since then count too.
func (h *History) listening() *answer.Listening {
	var newest *fact.Fact
	for _, name := range h.Containers() {
		run := h.Last(name)
		if run == nil || run.Exit != nil {
			continue
		}
		for _, f := range run.Looks {
			if of[fact.Looked](f).Error == "" && (newest == nil || f.Seen.After(newest.Seen)) {
				newest = f
			}
		}
	}
	if newest == nil {
		return nil
	}
	l := listeningIn(newest.Seen, of[fact.Looked](newest))
	for i := range h.Facts {
		b, ok := h.Facts[i].Body.(fact.Probed)
		if ok && b.Verdict == fact.Success && b.Evidence != nil && b.Evidence.Handler != "exec" && !h.Facts[i].Seen.Before(newest.Seen) {
			p := probing{last: b}
			l.Add(strconv.Itoa(p.port()))
		}
	}
	slices.Sort(l.Ports)
	return l
}

func listeningIn(at time.Time, look fact.Looked) *answer.Listening {
	l := &answer.Listening{At: at, Ports: []int32{}}
	for _, s := range look.Listeners {
		if host, port, ok := splitAddress(s.Address); ok && !loopback(host) {
			l.Add(port)
		}
	}
	return l
}

// LookedAt takes a look into one of the pod's containers that was made for the answer.
func LookedAt(a *answer.Answer, at time.Time, look fact.Looked) {
	if look.Error == "" {
		a.Listening = listeningIn(at, look)
		slices.Sort(a.Listening.Ports)
	}
}

// deaf are the pods that are well otherwise and do not listen on a port of a Service,
// among those that were looked into.
type deaf struct {
	names, others []string // the pods, and what they listen on
	looked        int
	at            time.Time // of the last look
}

// notListening says which target port of a Service pods do not listen on that are well
// otherwise; all is set where that is so of each of them. Pods into which nobody looked
// speak neither for nor against it.
func notListening(service *v1.Service, pods []v1.Pod, answers []answer.Answer) (f finding, all, ok bool) {
	for _, port := range service.Spec.Ports {
		if port.Protocol != "" && port.Protocol != v1.ProtocolTCP {
			continue
		}
		d := deafTo(port, pods, answers)
		if len(d.names) == 0 {
			continue
		}
		f, all = finding{cause: answer.ServicePortMismatch, rule: "nobody-listens", weight: strong}, len(d.names) == d.looked
		who := "on which none of them listens"
		if !all {
			who = fmt.Sprintf("on which %d of %d do not listen (%s), so what is sent there is refused", len(d.names), d.looked, prose.Brief(strings.Join(d.names, ", "), 100))
		}
		f.text = fmt.Sprintf("Port %d of the Service goes to port %s of its pods, %s (%s looked into, last at %s)", port.Port, targetWord(port), who, prose.Plural(d.looked, "pod"), d.at.Format(time.TimeOnly))
		if len(d.others) > 0 {
			f.text += "; they listen on " + strings.Join(d.others, ", ")
		}
		f.text += "."
		f.fixes = []answer.Fix{
			{Text: "see what the pods listen on", Command: fmt.Sprintf("kubectl -n %s why svc/%s -o json", service.Namespace, service.Name), Risk: answer.Inspect},
			{Text: "correct targetPort", Command: fmt.Sprintf("kubectl -n %s edit service %s", service.Namespace, service.Name), Risk: answer.Safe},
		}
		if !all {
			f.fixes[1] = answer.Fix{Text: "have the selector take only pods that listen there, or give them a readiness probe of that port", Command: f.fixes[1].Command, Risk: answer.Safe}
		}
		return f, all, true
	}
	return finding{}, false, false
}

func deafTo(port v1.ServicePort, pods []v1.Pod, answers []answer.Answer) deaf {
	var d deaf
	for _, a := range answers {
		i := slices.IndexFunc(pods, func(p v1.Pod) bool { return p.UID == a.Subject.UID })
		if i < 0 || a.Listening == nil || len(a.Symptoms) == 0 || a.Symptoms[0].Kind != answer.Healthy {
			continue
		}
		number, ok := targetOf(port, &pods[i])
		if !ok {
			continue
		}
		d.looked, d.at = d.looked+1, a.Listening.At
		if slices.Contains(a.Listening.Ports, number) {
			continue
		}
		d.names = append(d.names, a.Subject.Name)
		for _, n := range a.Listening.Ports {
			if w := fmt.Sprint(n); !slices.Contains(d.others, w) {
				d.others = append(d.others, w)
			}
		}
	}
	return d
}

// targetOf is the port of a pod that a Service's port leads to.
func targetOf(port v1.ServicePort, pod *v1.Pod) (int32, bool) {
	if port.TargetPort.Type == intstr.Int {
		if port.TargetPort.IntVal == 0 {
			return port.Port, true
		}
		return port.TargetPort.IntVal, true
	}
	for _, c := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		for _, p := range c.Ports {
			if p.Name == port.TargetPort.StrVal {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

func targetWord(port v1.ServicePort) string {
	if port.TargetPort == (intstr.IntOrString{}) {
		return fmt.Sprint(port.Port)
	}
	return port.TargetPort.String()
}
