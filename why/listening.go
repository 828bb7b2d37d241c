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
)

// listening is what the pod's containers listen on, by the newest look into one
// that still runs: its containers share a network namespace, so one look sees all.
// Ports that were probed well since then count too.
func (h *History) listening() *Listening {
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
	l := &Listening{At: newest.Seen, Ports: []int32{}}
	for _, s := range of[fact.Looked](newest).Listeners {
		if host, port, ok := splitAddress(s.Address); ok && !loopback(host) {
			l.add(port)
		}
	}
	for i := range h.Facts {
		b, ok := h.Facts[i].Body.(fact.Probed)
		if ok && b.Verdict == fact.Success && b.Evidence != nil && b.Evidence.Handler != "exec" && !h.Facts[i].Seen.Before(newest.Seen) {
			p := probing{last: b}
			l.add(strconv.Itoa(p.port()))
		}
	}
	slices.Sort(l.Ports)
	return l
}

func (l *Listening) add(port string) {
	if n, err := strconv.ParseInt(port, 10, 32); err == nil && n > 0 && !slices.Contains(l.Ports, int32(n)) {
		l.Ports = append(l.Ports, int32(n))
	}
}

// nobodyListens says which target port of a Service no pod listens on that is well
// otherwise. Pods into which nobody looked speak neither for nor against it.
func nobodyListens(service *v1.Service, pods []v1.Pod, answers []Answer) (finding, bool) {
	for _, port := range service.Spec.Ports {
		if port.Protocol != "" && port.Protocol != v1.ProtocolTCP {
			continue
		}
		var others []string
		looked := 0
		var at time.Time
		for _, a := range answers {
			i := slices.IndexFunc(pods, func(p v1.Pod) bool { return p.UID == a.Subject.UID })
			if i < 0 || a.Listening == nil || len(a.Symptoms) == 0 || a.Symptoms[0].Kind != Healthy {
				continue
			}
			number, ok := targetOf(port, &pods[i])
			if !ok || slices.Contains(a.Listening.Ports, number) {
				looked = -1
				break
			}
			looked++
			at = a.Listening.At
			for _, n := range a.Listening.Ports {
				if w := fmt.Sprint(n); !slices.Contains(others, w) {
					others = append(others, w)
				}
			}
		}
		if looked <= 0 {
			continue
		}
		f := finding{cause: ServicePortMismatch, rule: "nobody-listens", weight: strong}
		f.text = fmt.Sprintf("Port %d of the Service goes to port %s of its pods, on which none of them listens (%s looked into, last at %s)", port.Port, targetWord(port), plural(looked, "pod"), at.Format(time.TimeOnly))
		if len(others) > 0 {
			f.text += "; they listen on " + strings.Join(others, ", ")
		}
		f.text += "."
		f.fixes = []Fix{
			{Text: "see what the pods listen on", Command: fmt.Sprintf("kubectl -n %s why svc/%s -o json", service.Namespace, service.Name), Risk: Inspect},
			{Text: "correct targetPort", Command: fmt.Sprintf("kubectl -n %s edit service %s", service.Namespace, service.Name), Risk: Safe},
		}
		return f, true
	}
	return finding{}, false
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
