package level0

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// probeMet explains a probe by what kubelet says it met: what another protocol or a command
// that is not there left no doubt of, and what the application itself said. Silence and
// refusals have many causes.
func (c *podCase) probeMet(name, kind, begins string, e *v1.Event) answer.Verdict {
	_, met, _ := strings.Cut(e.Message, ": ")
	if met = strings.TrimSuffix(strings.TrimSpace(met), "."); met != "" {
		begins += ": " + met
	}
	lower := strings.ToLower(e.Message)
	says := strings.Contains(lower, "statuscode: 5") && !strings.Contains(lower, "statuscode: 502") && !strings.Contains(lower, "statuscode: 504") || strings.Contains(e.Message, `responded with "NOT_SERVING"`)
	says = says && c.asksItself(name, kind) || c.commandSaysNo(name, kind, e, met)
	v, sure := c.asksWrongly(name, kind, begins, e.Message)
	changed, _ := c.changedThenNo(name, kind, begins)
	switch {
	case sure:
	case (says || clientError.MatchString(e.Message)) && changed.Cause != "":
		v = changed
	case says && c.configured(name):
		v = unknown(name, begins+". The application answered, and said itself that it is not well. Whether its configuration was changed before is not known: it reads some from outside.", "when its ConfigMaps and Secrets were changed", c.logsBefore(name))
		v.Possible = []answer.Cause{answer.AppUnhealthy, answer.ConfigChanged}
	case says:
		v = because(answer.AppUnhealthy, "api-probe-said-no", name, begins+". The application answered, and said itself that it is not well.", c.logs(name))
	case c.ownFault(name, kind, e) != "":
		v = because(answer.AppUnhealthy, "api-probe-own-fault", name, begins+". "+c.ownFault(name, kind, e), c.logs(name), c.describe())
	case c.neverHadPath(name, kind, lower):
		v = because(answer.ProbeWrongPath, "api-probe-path", name, begins+". It has not been ready since it was started, and its log complains of nothing: the application does not have that path.",
			answer.Fix{Text: "give the probe a path that the application serves", Risk: answer.Restarts}, c.describe())
	case strings.Contains(lower, "connection refused") && c.heardElsewhere(name, kind) != "":
		v = because(answer.AppListensElse, "api-says-where", name, begins+". "+c.heardElsewhere(name, kind),
			answer.Fix{Text: "have it listen on 0.0.0.0 (or [::]) and on the port that the probe asks at, or correct the probe's port", Risk: answer.Restarts}, c.logs(name))
	case strings.Contains(lower, "connection refused") && c.asksItself(name, kind) && listensNever(c.container(name)) != "":
		v = because(answer.AppNotListening, "api-listens-never", name, fmt.Sprintf("%s. Its main process is %s by its command, which listens on nothing.", begins, listensNever(c.container(name))),
			answer.Fix{Text: "give it the command of the server, or take the probe away", Risk: answer.Restarts}, c.describe())
	case strings.Contains(lower, "connection refused"):
		v = unknown(name, begins+". Nothing listened there: the application had not come so far, listens elsewhere, or is gone.", "what the pod listened on at that moment, and whether it ever listened there", c.describe())
	case strings.Contains(lower, "timed out after") && c.sleepsTooLong(name, kind):
		v = because(answer.ProbeCommandFailed, "api-probe-sleeps", name, begins+". The probe's own command sleeps for longer than its timeout.", answer.Fix{Text: "have it sleep less, or give it a longer timeoutSeconds", Risk: answer.Restarts}, c.describe())
	case timedOut(lower) && c.outOfFiles(name) != "":
		v = because(answer.AppHang, "api-files-limit", name, fmt.Sprintf("%s. No answer came in time, and it says itself that it may open no more files (its limit is RLIMIT_NOFILE), of which each connection is one: %s.", begins, c.outOfFiles(name)), c.logs(name), c.logsBefore(name))
	case timedOut(lower):
		v = unknown(name, begins+". No answer came in time.", "whether it was throttled, hung, was swapped or answered late, and by how much", c.describe())
	default:
		v = unknown(name, begins+".", "each attempt, and who answered it", c.describe())
	}
	v.Chain = []answer.Link{link(last(*e), fromEvent, e.Message)}
	if kind == "Readiness" || kind == "Startup" {
		v.LastWords = lastOf(c.Saying[name], shownLines)
	}
	return v
}

func timedOut(lower string) bool {
	return strings.Contains(lower, "deadline exceeded") || strings.Contains(lower, "timeout") || strings.Contains(lower, "timed out")
}

// listensNever is the program that is a container's main process by its command, where that
// only waits; empty where it may be a server, or a shell's script.
func listensNever(k *v1.Container) string {
	if k == nil || len(k.Command) == 0 {
		return ""
	}
	if program := path.Base(k.Command[0]); slices.Contains([]string{"sleep", "tail", "cat", "pause"}, program) {
		return program
	}
	return ""
}

// sleepsTooLong says whether the first that a probe's command does is to sleep for longer
// than it may take.
func (c *podCase) sleepsTooLong(name, kind string) bool {
	p := c.probe(name, kind)
	if p == nil || p.Exec == nil {
		return false
	}
	command := p.Exec.Command
	if len(command) == 3 && slices.Contains(shells, path.Base(command[0])) && command[1] == "-c" {
		command = strings.Fields(command[2])
	}
	if len(command) < 2 || path.Base(command[0]) != "sleep" || len(command) > 2 && command[2] == "&" {
		return false
	}
	n, err := strconv.ParseFloat(strings.TrimRight(command[1], "s;"), 64)
	return err == nil && n >= float64(max(p.TimeoutSeconds, 1))
}

// outOfFiles is the last line of a container's log where that says that it may open no more
// files; empty where it says something else.
func (c *podCase) outOfFiles(name string) string {
	for _, lines := range [][]string{c.Saying[name], c.Words[name]} {
		if n := len(lines); n > 0 && knowledge.OpenFiles.In(lines[n-1]) && !knowledge.Inotify.In(lines[n-1]) {
			return strings.TrimSuffix(short(lines[n-1]), ".")
		}
	}
	return ""
}

// shownLines is how many lines of a log that goes on are shown with what is not ready.
const shownLines = 3

func lastOf(lines []string, n int) []string {
	return lines[max(len(lines)-n, 0):]
}

// ownFault says what of an answer can be nobody's fault but the application's; empty where
// there is nothing such. What had passed before asks at the right place.
func (c *podCase) ownFault(name, kind string, e *v1.Event) string {
	p := c.probe(name, kind)
	if p == nil || p.HTTPGet == nil || !c.asksItself(name, kind) || c.configured(name) {
		return ""
	}
	switch {
	case knowledge.ManyRedirects.In(e.Message):
		return "The application answers with redirects that never end."
	case words.CutShort(e.Message) && e.Count > 1:
		return "The application takes the connection, answers, and closes it before its answer is whole (shorter than its Content-Length, say)."
	case clientError.MatchString(e.Message) && kind == "Readiness" && c.wasReady(name):
		return "The application answers so itself, and it had been ready before, by the same probe."
	}
	return ""
}

// clientError is kubelet's word for an answer of 4xx that says no, and neither that there
// is too much to do nor that it took too long.
var clientError = regexp.MustCompile(`statuscode: 4(0[0-7]|09|[13]\d|2[0-8])`)

// wasReady says whether a pod that is not ready was so in its containers' first and only
// run: it begins as not ready, and its condition has changed since.
func (c *podCase) wasReady(name string) bool {
	ready := condition(c.Pod, v1.PodReady)
	for _, st := range c.Pod.Status.ContainerStatuses {
		if st.Name == name && st.RestartCount == 0 && st.State.Running != nil && ready != nil {
			return ready.Status == v1.ConditionFalse && ready.LastTransitionTime.After(st.State.Running.StartedAt.Add(slack))
		}
	}
	return false
}

// heardElsewhere says where a container listens by its own log, or by its command, where that
// is not where its probe asks, and it has never been ready; empty where neither says so.
// That it listens on another port, too, is left out: the probe's may come later.
func (c *podCase) heardElsewhere(name, kind string) string {
	p, k := c.probe(name, kind), c.container(name)
	if p == nil || k == nil || kind != "Readiness" || !c.asksItself(name, kind) || !c.neverReady(name) {
		return ""
	}
	asked := portOf(k, p)
	for _, line := range slices.Backward(c.Saying[name]) {
		if words.ListensOnLoopback(line, asked) {
			return fmt.Sprintf("By its log it listens on loopback only, where nobody outside of the pod gets to: %s.", strings.TrimSuffix(short(line), "."))
		}
	}
	for _, arg := range slices.Concat(k.Command, k.Args) {
		if arg == fmt.Sprintf("127.0.0.1:%d", asked) || arg == fmt.Sprintf("localhost:%d", asked) {
			return fmt.Sprintf("Its command has it listen on loopback only (%s), where nobody outside of the pod gets to.", arg)
		}
	}
	return ""
}

// portOf is the number of the port that a probe of a container asks at; 0 where it is none.
func portOf(k *v1.Container, p *v1.Probe) int32 {
	var port intstr.IntOrString
	switch {
	case p.HTTPGet != nil:
		port = p.HTTPGet.Port
	case p.TCPSocket != nil:
		port = p.TCPSocket.Port
	case p.GRPC != nil:
		return p.GRPC.Port
	}
	for _, has := range k.Ports {
		if port.StrVal != "" && has.Name == port.StrVal {
			return has.ContainerPort
		}
	}
	return int32(port.IntValue())
}

// asksItself says that only the container itself can have answered a probe: no other one,
// no proxy and nobody elsewhere. (502 and 504 are what proxies say in front of another.)
func (c *podCase) asksItself(name, kind string) bool {
	p := c.probe(name, kind)
	return len(c.Pod.Spec.Containers) == 1 && len(c.Pod.Spec.InitContainers) == 0 && !c.Pod.Spec.HostNetwork && (p == nil || p.HTTPGet == nil || p.HTTPGet.Host == "")
}

// asksWrongly is about a probe that asks in another way than can be answered: kubelet's
// words leave no doubt of that, whatever else is amiss.
func (c *podCase) asksWrongly(name, kind, begins, said string) (answer.Verdict, bool) {
	p := c.probe(name, kind)
	if p == nil {
		return answer.Verdict{}, false
	}
	cause, why, mend := answer.CauseUnknown, "", ""
	switch get := p.HTTPGet; {
	case c.portUnknown(name, p) != "":
		cause, why, mend = answer.ProbePortNameUnknown, fmt.Sprintf("The probe names port %q, which the container does not declare, so it has never been asked.", c.portUnknown(name, p)), "declare the port under that name, or give the probe its number"
	case p.Exec != nil && strings.Contains(said, `exec: "`) && knowledge.NoProgram.In(said), p.Exec != nil && shellFoundNone(said):
		cause, why, mend = answer.ProbeCommandFailed, "The probe's command is not in the container, or cannot be run there.", "correct the probe's command, or use an image that has the program"
	case get != nil && get.Scheme == v1.URISchemeHTTPS && knowledge.NotTLS.In(said):
		cause, why, mend = answer.ProbeWrongScheme, "The probe uses HTTPS, and plain HTTP is spoken there.", "set the probe's scheme to HTTP"
	case get != nil && get.Scheme != v1.URISchemeHTTPS && knowledge.TLSAlert.In(said):
		cause, why, mend = answer.ProbeWrongScheme, "The probe uses plain HTTP, and TLS is spoken there: the answer is an alert.", "set the probe's scheme to HTTPS"
	case get != nil && get.Scheme != v1.URISchemeHTTPS && strings.Contains(said, `Get "https://`) && kind == "Readiness" && c.neverReady(name):
		cause, why, mend = answer.ProbeWrongScheme, "The application answers the probe with a redirect to HTTPS on its own host, which kubelet follows, and there it fails.", "have the probe ask by HTTPS, on the port where the application speaks it, or for a path that is not redirected"
	case get != nil && strings.Contains(said, "malformed HTTP"), p.GRPC != nil && (knowledge.NoHealthService.In(said) || strings.Contains(said, "error reading server preface: http2")):
		cause, why, mend = answer.ProbeProtocol, "What answers there does not speak the probe's protocol.", "have the probe speak what the port speaks, or use tcpSocket"
	case p.GRPC != nil && knowledge.ServiceNotKnown.In(said):
		cause, why, mend = answer.ProbeWrongPath, "The health service answers, and does not know the name that the probe asks for.", "give the probe's grpc.service a name that the application registers, or leave it out"
	default:
		return answer.Verdict{}, false
	}
	return because(cause, "api-probe-asks", name, begins+". "+why, answer.Fix{Text: mend, Risk: answer.Restarts}, c.describe()), true
}

// portUnknown is the name of the port that a probe asks at, where its container declares none
// of that name; empty otherwise.
func (c *podCase) portUnknown(container string, p *v1.Probe) string {
	port := ""
	switch {
	case p.HTTPGet != nil:
		port = p.HTTPGet.Port.StrVal
	case p.TCPSocket != nil:
		port = p.TCPSocket.Port.StrVal
	}
	if _, err := strconv.Atoi(port); err == nil || slices.ContainsFunc(c.container(container).Ports, func(has v1.ContainerPort) bool { return has.Name == port }) {
		return ""
	}
	return port
}

// shellFoundNone says whether all that a probe's command said is that its shell found no
// such program: "sh: curl: not found", "bash: line 1: curl: command not found".
func shellFoundNone(said string) bool {
	_, output, _ := strings.Cut(said, " probe failed: ")
	output = strings.TrimSpace(output)
	shell, _, _ := strings.Cut(output, ": ")
	one := !strings.Contains(output, "\n") && slices.Contains(shells, path.Base(shell))
	return one && (strings.HasSuffix(output, ": not found") || strings.HasSuffix(output, ": command not found"))
}

// shells are the programs that say so of others.
var shells = []string{"sh", "bash", "dash", "ash"}

// farCommands are programs of probes that ask others than the container, unless they are
// told that it is meant.
var farCommands = []string{"curl", "wget", "nc", "psql", "pg_isready", "mysql", "mysqladmin", "mariadb", "redis-cli", "mongo", "mongosh", "nslookup", "dig", "ping", "grpc_health_probe", "://"}

// limited says whether the kernel may end what runs in a container for memory, its probe's
// command among it.
func (c *podCase) limited(name string) bool {
	_, own := c.container(name).Resources.Limits[v1.ResourceMemory]
	return own || c.Pod.Spec.Resources != nil
}

// noOOM says whether kubelet ended the run in which a probe failed, and the runtime saw no
// OOM kill in it: it calls a run so for any of its processes, and for its probe's, too.
func (c *podCase) noOOM(name string, e *v1.Event) bool {
	for _, st := range c.Pod.Status.ContainerStatuses {
		for _, t := range []*v1.ContainerStateTerminated{st.State.Terminated, st.LastTerminationState.Terminated} {
			if st.Name == name && t != nil && !last(*e).Before(t.StartedAt.Time) && !first(*e).After(t.FinishedAt.Time) && c.ordered(name, t.FinishedAt.Time) != nil {
				return t.Reason == "Error" || t.Reason == "Completed"
			}
		}
	}
	return false
}

// commandSaysNo says whether a probe's command ran and said no: what it said shows that it
// did, or nothing can have ended it, and it asks nobody else.
func (c *podCase) commandSaysNo(name, kind string, e *v1.Event, said string) bool {
	p := c.probe(name, kind)
	said = strings.TrimSpace(said)
	if p == nil || p.Exec == nil || !strings.Contains(e.Message, " probe failed: ") || said == "" && c.limited(name) && !c.noOOM(name, e) || strings.Contains(said, "timed out") || strings.HasSuffix(said, "Killed") {
		return false
	}
	if _, _, ok := words.Unreached(said); ok {
		return false
	}
	command := strings.Join(p.Exec.Command, " ")
	if strings.Contains(command, "localhost") || strings.Contains(command, "127.0.0.1") {
		return false // another program of the container is asked, and it may be that one's silence
	}
	return !slices.ContainsFunc(farCommands, func(one string) bool { return strings.Contains(command, one) })
}

// settledIn is how long a container runs at least before it is said that it does not have a path.
const settledIn = 10 * time.Second

// neverHadPath says whether the application answers that it has no such path, since it was
// started first, and does not complain of anything.
func (c *podCase) neverHadPath(name, kind, lower string) bool {
	if kind != "Readiness" || !strings.Contains(lower, "statuscode: 404") || !c.asksItself(name, kind) || c.configured(name) {
		return false
	}
	lines, read := c.Saying[name]
	return read && !slices.ContainsFunc(lines, words.Complains) && c.neverReady(name)
}

// neverReady says whether a container has not been ready since it was started first, and
// has had the time for it.
func (c *podCase) neverReady(name string) bool {
	ready := condition(c.Pod, v1.PodReady)
	for _, st := range c.Pod.Status.ContainerStatuses {
		if st.Name == name && st.RestartCount == 0 && st.State.Running != nil && ready != nil {
			since := st.State.Running.StartedAt.Time
			return ready.Status == v1.ConditionFalse && !ready.LastTransitionTime.After(since.Add(slack)) && c.Now.Sub(since) >= settledIn
		}
	}
	return false
}
