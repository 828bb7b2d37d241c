package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// notListening says which target port of a Service pods do not listen on that are well
// otherwise; all is set where that is so of each of them. Pods into which nobody looked
// speak neither for nor against it.
func (b Behind) notListening() (f answer.Verdict, all, ok bool) {
	for _, port := range b.Service.Spec.Ports {
		if protocol(port.Protocol) != v1.ProtocolTCP {
			continue
		}
		looked := slices.DeleteFunc(b.looks(port), func(l look) bool { return len(l.Symptoms) == 0 || l.Symptoms[0].Kind != answer.Healthy })
		deaf := slices.DeleteFunc(slices.Clone(looked), look.listens)
		if len(deaf) == 0 {
			continue
		}
		all = len(deaf) == len(looked)
		who := "on which none of them listens"
		if !all {
			names := prose.Each(deaf, func(l look) string { return l.pod.Name })
			who = fmt.Sprintf("on which %d of %d do not listen (%s), so what is sent there is refused", len(deaf), len(looked), prose.Brief(strings.Join(names, ", "), 100))
		}
		var others []string
		for _, l := range deaf {
			for _, n := range l.Listening.Ports {
				if w := fmt.Sprint(n); !slices.Contains(others, w) {
					others = append(others, w)
				}
			}
		}
		last := looked[len(looked)-1].Listening.At
		text := fmt.Sprintf("Port %d of the Service goes to port %s of its pods, %s (%s looked into, last at %s)", port.Port, targetWord(port), who, prose.Plural(len(looked), "pod"), last.Format(time.TimeOnly))
		text += prose.Whether(len(others) > 0, "; they listen on "+strings.Join(others, ", "), "") + "."
		step := prose.Whether(all, fmt.Sprintf("correct targetPort of the Service's port %d", port.Port), "have the selector take only pods that listen there, or give them a readiness probe of that port")
		f = inferred(answer.ServicePortMismatch, "target-port", text, edit(b.Service, step))
		for _, l := range deaf {
			if hop := b.astray(port, l); hop != nil {
				f.Cause, f.Text, f.Fixes = hop.Cause, hop.Text, hop.Fixes
				break
			}
		}
		return f, all, true
	}
	return answer.Verdict{}, false, false
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
