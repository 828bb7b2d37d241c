package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// deaf are the pods that are well otherwise and do not listen on a port of a Service,
// among those that were looked into.
type deaf struct {
	pods          []*v1.Pod
	names, others []string // the pods', and what they listen on
	looked        int
	at            time.Time // of the last look
}

// notListening says which target port of a Service pods do not listen on that are well
// otherwise; all is set where that is so of each of them. Pods into which nobody looked
// speak neither for nor against it.
func notListening(service *v1.Service, pods, candidates []v1.Pod, answers []answer.Answer) (f answer.Verdict, all, ok bool) {
	for _, port := range service.Spec.Ports {
		if port.Protocol != "" && port.Protocol != v1.ProtocolTCP {
			continue
		}
		d := deafTo(port, pods, answers)
		if len(d.names) == 0 {
			continue
		}
		f, all = answer.Verdict{Cause: answer.ServicePortMismatch, Rule: "target-port", Certainty: answer.Inferred}, len(d.names) == d.looked
		who := fmt.Sprintf("on which %d of %d do not listen (%s), so what is sent there is refused", len(d.names), d.looked, prose.Brief(strings.Join(d.names, ", "), 100))
		if all {
			who = "on which none of them listens"
		}
		f.Text = fmt.Sprintf("Port %d of the Service goes to port %s of its pods, %s (%s looked into, last at %s)", port.Port, targetWord(port), who, prose.Plural(d.looked, "pod"), d.at.Format(time.TimeOnly))
		f.Text += prose.Whether(len(d.others) > 0, "; they listen on "+strings.Join(d.others, ", "), "") + "."
		f.Fixes = []answer.Fix{edit(service, fmt.Sprintf("correct targetPort of the Service's port %d", port.Port))}
		if hop := d.strayed(service, port, pods, candidates, answers); hop != nil {
			f.Cause, f.Text, f.Fixes[0] = hop.Cause, hop.Text, hop.Fixes[0]
		} else if !all {
			f.Fixes[0].Text = "have the selector take only pods that listen there, or give them a readiness probe of that port"
		}
		return f, all, true
	}
	return answer.Verdict{}, false, false
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
		d.names, d.pods = append(d.names, a.Subject.Name), append(d.pods, &pods[i])
		for _, n := range a.Listening.Ports {
			if w := fmt.Sprint(n); !slices.Contains(d.others, w) {
				d.others = append(d.others, w)
			}
		}
	}
	return d
}

// strayed is the first of them that is not what the Service is made for, or selects in place of it, as a hop to that.
func (d deaf) strayed(service *v1.Service, port v1.ServicePort, pods, candidates []v1.Pod, answers []answer.Answer) *answer.Hop {
	for _, pod := range d.pods {
		if hop := cmp.Or(strayed(service, port, pod, pods, answers), misled(service, port, pod, candidates, listeningOf(pod, answers).Ports)); hop != nil {
			return hop
		}
	}
	return nil
}

// targetOf is the port of a pod that a Service's port leads to.
func targetOf(port v1.ServicePort, pod *v1.Pod) (int32, bool) {
	if target := targetPort(port); target.Type == intstr.Int {
		return target.IntVal, true
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, p := range c.Ports {
			if p.Name == port.TargetPort.StrVal {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

func targetWord(port v1.ServicePort) string {
	target := targetPort(port)
	return target.String()
}
