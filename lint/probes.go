package lint

import (
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// named is a probe of a container under its name in the spec.
type named struct {
	name string
	*v1.Probe
}

func probesOf(c *v1.Container) []named {
	var all []named
	for _, p := range []named{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe}} {
		if p.Probe != nil {
			all = append(all, p)
		}
	}
	return all
}

// Defaults of Kubernetes (pkg/apis/core/v1/defaults.go), in seconds and attempts.
const (
	defaultPeriod   = 10
	defaultTimeout  = 1
	defaultFailures = 3
)

func orDefault(n, otherwise int32) int32 {
	if n == 0 {
		return otherwise
	}
	return n
}

// probes checks the probes of one workload.
func probes(w Workload, node Node) []Finding {
	var found []Finding
	for _, c := range w.longLived() {
		for _, p := range probesOf(c) {
			found = append(found, w.port(c, p)...)
			found = append(found, w.timing(c, p)...)
		}
		found = append(found, w.liveness(c, node.Recorded)...)
	}
	return found
}

// port checks that there is something to ask.
func (w Workload) port(c *v1.Container, p named) []Finding {
	var port intstr.IntOrString
	host := ""
	switch {
	case p.HTTPGet != nil:
		port, host = p.HTTPGet.Port, p.HTTPGet.Host
	case p.TCPSocket != nil:
		port, host = p.TCPSocket.Port, p.TCPSocket.Host
	case p.GRPC != nil:
		port = intstr.FromInt32(p.GRPC.Port)
	default:
		return nil
	}
	if port.Type == intstr.String {
		if slices.ContainsFunc(c.Ports, func(declared v1.ContainerPort) bool { return declared.Name == port.StrVal }) {
			return nil
		}
		return []Finding{w.about(c.Name, p.name, Finding{
			Rule: "probe-port-unknown", Severity: Error,
			Text:   fmt.Sprintf("%s asks port %q, and the container has no port of that name", p.name, port.StrVal),
			Reason: "the probe can never succeed: the pod never becomes ready, or is restarted again and again",
			Fix:    "name the port in the container's ports, or give the probe a number",
		})}
	}
	if host != "" {
		return nil // who answers there is not said here
	}
	// The containers of a pod share their ports, and a probe is sent to the pod.
	any := false
	for _, other := range w.longLived() {
		for _, declared := range other.Ports {
			if any = true; declared.ContainerPort == port.IntVal {
				return nil
			}
		}
	}
	f := Finding{
		Rule: "probe-port-undeclared", Severity: Warning,
		Text:   fmt.Sprintf("%s asks port %d, which no container of the pod declares", p.name, port.IntVal),
		Reason: "it may be the wrong port; a typo here looks like an application that is down",
		Fix:    "correct the number, or declare the port",
	}
	if !any {
		f.Severity = Note // who declares no port at all says nothing about this one
	}
	return []Finding{w.about(c.Name, p.name, f)}
}

// timing checks that an attempt is over before the next is due.
func (w Workload) timing(c *v1.Container, p named) []Finding {
	timeout, period := orDefault(p.TimeoutSeconds, defaultTimeout), orDefault(p.PeriodSeconds, defaultPeriod)
	if timeout <= period {
		return nil
	}
	return []Finding{w.about(c.Name, p.name, Finding{
		Rule: "probe-timeout-above-period", Severity: Warning,
		Text:   fmt.Sprintf("%s has a timeout of %d s and a period of %d s", p.name, timeout, period),
		Reason: "an attempt that waits delays the next one, so a failure is noticed later than the period promises",
		Fix:    "make timeoutSeconds at most periodSeconds",
	})}
}

const (
	// hasty is the time in seconds within which a liveness probe kills that asks the
	// same as the readiness probe.
	hasty = 30
	// slowStart is how long, in seconds, an application may need to start on a busy
	// machine: what Kubernetes' own defaults allow it.
	slowStart = 20
)

// liveness checks who is killed by its probe although it is well.
func (w Workload) liveness(c *v1.Container, h History) []Finding {
	p := c.LivenessProbe
	if p == nil {
		return nil
	}
	var found []Finding
	patience := orDefault(p.PeriodSeconds, defaultPeriod) * orDefault(p.FailureThreshold, defaultFailures)
	if r := c.ReadinessProbe; r != nil && reflect.DeepEqual(p.ProbeHandler, r.ProbeHandler) && patience <= hasty {
		found = append(found, w.about(c.Name, "livenessProbe", Finding{
			Rule: "liveness-equals-readiness", Severity: Warning,
			Text:   fmt.Sprintf("livenessProbe asks the same as readinessProbe, and restarts the container after %d s", patience),
			Reason: "what should only stop traffic for a while (load, a slow database) restarts the container, which makes it worse",
			Fix:    "let livenessProbe ask only whether the process hangs, or raise its failureThreshold well above that of readinessProbe",
		}))
	}
	if c.StartupProbe == nil {
		// The first attempt is made when the delay is over.
		found = append(found, w.start(c, h, p.InitialDelaySeconds+patience-orDefault(p.PeriodSeconds, defaultPeriod))...)
	}
	if w.onFailure(c) {
		found = append(found, w.about(c.Name, "livenessProbe", Finding{
			Rule: "onfailure-with-liveness", Severity: Warning,
			Text:   "livenessProbe with restartPolicy OnFailure",
			Reason: "if the probe fails and the process then exits with 0, kubelet calls the pod Completed once a back-off is due, and never restarts it (Whylet does)",
			Fix:    "use restartPolicy Always for a server, or drop the livenessProbe of a job",
		}))
	}
	return found
}

// onFailure says whether a container is restarted only if it fails. Its own policy
// counts for more than the pod's.
func (w Workload) onFailure(c *v1.Container) bool {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy == v1.ContainerRestartPolicyOnFailure
	}
	return w.Pod.Spec.RestartPolicy == v1.RestartPolicyOnFailure
}

// start checks that the liveness probe, which kills after so many seconds, lets
// the application start. Starts that are remembered count for more than a guess.
func (w Workload) start(c *v1.Container, h History, patience int32) []Finding {
	f := Finding{
		Rule: "startup-not-covered", Severity: Warning,
		Text:   fmt.Sprintf("livenessProbe restarts the container %d s after its start if the application does not answer by then", patience),
		Reason: "on a busy machine a start takes longer, and then it never comes up",
		Fix:    "add a startupProbe that allows for the slowest start; livenessProbe waits for it",
	}
	r, known := h.of(w, c.Name)
	switch slowest := int32(r.Start.Seconds() + 0.5); {
	case !known || r.Start == 0:
		if patience >= slowStart {
			return nil
		}
	case slowest >= patience:
		f.Severity = Error
		f.Reason = fmt.Sprintf("it took up to %d s to become ready: it will be restarted while it starts", slowest)
	case slowest >= patience/2:
		f.Reason = fmt.Sprintf("it took up to %d s to become ready, and takes longer on a busy machine", slowest)
	default:
		return nil
	}
	return []Finding{w.about(c.Name, "livenessProbe", f)}
}
