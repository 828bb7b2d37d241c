package cluster

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// HopOf completes the hop to an object about which an answer was given; nil where nothing is wrong there.
func HopOf(there answer.Hop, a *answer.Answer) *answer.Hop {
	i := Root(a)
	if i < 0 || a.Verdicts[i].Cause == answer.CauseUnknown {
		return nil
	}
	return new(there.As(a.Verdicts[i]))
}

// Leaves says of the hop to a pod that looks well, and fails who asks it, that it is being deleted,
// where it is: what it does until it is gone follows from that.
func Leaves(own *answer.Hop, a *answer.Answer) {
	i := slices.IndexFunc(a.Symptoms, func(s answer.Symptom) bool { return s.Kind == answer.Terminating })
	if i < 0 || a.Verdicts[i].Cause == answer.CauseUnknown {
		return
	}
	v := a.Verdicts[i]
	own.Cause, own.Text, own.Chain, own.Fixes = v.Cause, strings.TrimSuffix(v.Text, ".")+", and it has not ended yet. "+own.Text, v.Chain, v.Fixes
	own.Quotes = slices.Concat(v.Quotes, own.Quotes)
}

// Suffers is a pod that fails because of another one, to which the hop of its verdict leads.
func Suffers(pod *v1.Pod, a *answer.Answer, i int, there answer.Hop) answer.Hop {
	s, v := a.Symptoms[i], a.Verdicts[i]
	own := answer.Hop{Pod: Key(pod), By: there.By, Cause: v.Cause, Text: prose.Upper(cmp.Or(s.Text, string(s.Kind))) + "."}
	if n := len(v.Contributing); n > 0 {
		own.Cause = v.Contributing[n-1].Cause // its own, which led there
	}
	return own
}

// mostFixes is how much of what to do about another pod is shown.
const mostFixes = 3

// Lead gives a verdict the cause of the last of the hops, and what to do there, and tells of the way
// there; likely is why, where that is no more than likely.
func Lead(a *answer.Answer, i int, hops []answer.Hop, likely string) {
	v := &a.Verdicts[i]
	last := hops[len(hops)-1]
	kind, space, name := last.Place()
	own := v.Fixes
	v.Fixes = slices.Clone(last.Fixes[:min(len(last.Fixes), mostFixes)])
	if !slices.ContainsFunc(v.Fixes, changes) && last.Cause == answer.AppUnhealthy {
		if at := slices.IndexFunc(own, changes); at >= 0 && own[at].Command == "" {
			v.Fixes = slices.Insert(v.Fixes, 0, own[at]) // who is refused says more of why than who refuses it
		}
	}
	if len(v.Fixes) == 0 {
		v.Fixes = []answer.Fix{kubectl.Why("see all that is known of it", kind, space, name)}
	}
	if v.LeadTo(hops, likely); last.Policy != "" {
		v.Rule = "network-policy"
	}
}

// changes says whether a step changes something.
func changes(f answer.Fix) bool { return f.Risk != answer.Inspect }

// Share gives the reason of a container's trouble, which leads to another pod, to a verdict that
// its own pod is out of service because of that container.
func Share(a *answer.Answer, i int, hops []answer.Hop, likely string) {
	for j, v := range a.Verdicts {
		if of := a.Symptoms[i].Container; of != "" && v.Cause == answer.SiblingNotReady && v.Container == of {
			Lead(a, j, hops, likely)
		}
	}
}

// Mention adds to a verdict that something else is not well, of which nothing shows that it
// is the reason.
func Mention(v *answer.Verdict, hops []answer.Hop) {
	first := hops[0]
	space, name, _ := strings.Cut(cmp.Or(first.Service, first.Pod), "/")
	kind := prose.Whether(first.Service == "", "pod", "svc")
	text := fmt.Sprintf("see about %s too, which is not well either (%s): nothing shows that this is why", cmp.Or(first.Service, first.Pod), first.By)
	v.Fixes = append(v.Fixes, kubectl.Why(text, kind, space, name))
}

// Name adds to a verdict whose an address is that it speaks of.
func Name(v *answer.Verdict, place, kind, space, name string) {
	what := map[string]string{"svc": "Service", "pod": "pod"}[kind]
	v.SayBecause(fmt.Sprintf("%s is %s %s/%s.", place, what, space, name))
	v.DropSteps(func(f answer.Fix) bool { return f.ID == answer.StepWhose })
	v.AddFirst(kubectl.Why(fmt.Sprintf("see how %s %s does, and do what that says", what, name), kind, space, name))
}

// Answers says whether a fact of a verdict's chain is an answer with an HTTP status.
func Answers(v answer.Verdict, id fact.ID) bool {
	return slices.ContainsFunc(v.Chain, func(l answer.Link) bool { return l.Fact == id && l.Status != 0 })
}

// Asked adds to a verdict of one that answers with a failure whom it asks; well is set where the pods there are ready.
// Where names that one's configuration, it hands on the answer, and one that says that nobody is there does not see them.
func Asked(v *answer.Verdict, where, space, name string, well bool) {
	text := fmt.Sprintf("It asks Service %s/%s%s.", space, name, prose.Whether(well, ", whose pods are ready", ""))
	fix := kubectl.Why("see what is known of whom it asks", "svc", space, name)
	if where != "" {
		text = fmt.Sprintf("Behind it is Service %s/%s (%s)%s.", space, name, where, prose.Whether(well, ", and its pods are ready", ""))
		if well && status(*v) == 503 {
			fix.Text = "compare what its own health check asks there, and the addresses that it knows, with what is there"
		}
	}
	v.SayBecause(text)
	v.Fixes = append(slices.Clip(v.Fixes), fix)
}

// Blames is the member of the health check's answer, which a verdict quotes, that fails and is
// called by the name of a Service; empty where none is.
func Blames(v answer.Verdict, service string) string {
	if v.Cause != answer.AppUnhealthy || len(service) == 0 {
		return ""
	}
	m := regexp.MustCompile(`(?:^|[ ("])((?:\w+\.)*` + regexp.QuoteMeta(service) + `)(?:\.\w+)*: `).FindStringSubmatch(v.Words())
	if m == nil {
		return ""
	}
	return m[1]
}

// Steps are what to do about a pod that looks well and is to blame for what others suffer: where
// its log says why, what stands around that; else how to see what it does. Own is the hop to it, since when who asks it
// fails.
func Steps(pod *v1.Pod, a *answer.Answer, own answer.Hop, since time.Time) []answer.Fix {
	if fixes := moreRoom(pod, a); len(fixes) > 0 {
		return fixes
	}
	container := listener(pod, a)
	logs := func(container string) answer.Fix {
		return kubectl.Inspect("read what it said around that", kubectl.Command(pod.Namespace, "logs %s -c %s --tail=100", pod.Name, container))
	}
	exec := func(text string, command shell.Line) answer.Fix {
		return kubectl.Exec(text, pod.Namespace, pod.Name, container.Name, command)
	}
	said, told, cause := ownError(a, false), own.Words(), own.Cause
	switch change := changeBefore(a, since); {
	case cause == answer.ConfigChanged && change != nil && change.Name != "":
		object := shell.Words(strings.ToLower(change.Object), change.Name)
		return []answer.Fix{
			{Text: fmt.Sprintf("put back what %s %s had before, if the change was not meant", change.Object, change.Name), Command: kubectl.Command(pod.Namespace, "edit %s", object), Risk: answer.Restarts},
			kubectl.Inspect("see what it has now, and who changed it when", kubectl.Command(pod.Namespace, "get %s -o yaml --show-managed-fields", object)),
		}
	case cause == answer.CPUThrottled:
		more := kubectl.EditTemplate(pod.Namespace, pod, "raise the CPU limit of container "+container.Name+", or have it do less")
		more.Risk = answer.Limits
		return []answer.Fix{more, exec("see what uses it up", "top -b -n 1")}
	case cause == answer.AppOverloaded:
		return []answer.Fix{exec("see what it is busy with", "top -b -n 1")}
	case cause == answer.AppHang && isJVM(container):
		threads := exec("have it write what its threads wait for into its log (the JVM does on SIGQUIT), and read that", "sh -c 'kill -3 1'")
		threads.Command += " && " + kubectl.Command(pod.Namespace, "logs %s -c %s --tail=300", pod.Name, container.Name)
		return append([]answer.Fix{threads}, afresh(pod)...)
	case cause == answer.AppHang:
		return append([]answer.Fix{exec("see what each of its threads waits for", kubectl.Threads)}, afresh(pod)...)
	case knowledge.OwnCheck.In(told):
		return []answer.Fix{
			{Text: "have its health check ask as those behind it want to be asked: the path, the port, TLS (HAProxy: option httpchk, check-ssl or check-sni, http-check expect), and a login where they want one", Risk: answer.Restarts},
			logs(container.Name),
		}
	case knowledge.Any(told, knowledge.IsDown, knowledge.NoUpstream):
		return []answer.Fix{
			{Text: "see whether the addresses that it knows are those of the pods behind it now: many proxies look a name up once, when they start (start it again; HAProxy: resolvers, nginx: resolver), and whether its own health check asks what they answer", Risk: answer.Inspect, Command: kubectl.Command(pod.Namespace, "get endpointslices")},
			logs(container.Name),
		}
	case said >= 0 && knowledge.Credentials.In(a.Complaints[said].Text):
		return []answer.Fix{
			kubectl.Inspect("compare the user and password that who asks it is given (a Secret's value, and its line end) with those that it has", kubectl.Command(pod.Namespace, "get secrets")),
			logs(a.Complaints[said].Container),
		}
	case said >= 0:
		return append(slices.Clone(a.Complaints[said].Fixes), logs(a.Complaints[said].Container))
	}
	return nil
}

// afresh has a pod made anew that does not answer.
func afresh(pod *v1.Pod) []answer.Fix {
	command := anew(pod)
	if command == "" {
		return nil
	}
	return []answer.Fix{{Text: "once that is known, or cannot wait: make it anew, which loses what shows why", Risk: answer.Restarts, Command: command}}
}

// listener is the container of a pod that takes its connections, by the ports that they declare;
// the first where none tells.
func listener(pod *v1.Pod, a *answer.Answer) v1.Container {
	for _, c := range pod.Spec.Containers {
		if a.Listening != nil && slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool { return slices.Contains(a.Listening.Ports, p.ContainerPort) }) {
			return c
		}
	}
	if len(pod.Spec.Containers) == 0 {
		return v1.Container{}
	}
	return pod.Spec.Containers[0]
}

// isJVM says whether the main process of a container is a JVM, by the command that its spec has.
func isJVM(c v1.Container) bool {
	words := append(slices.Clone(c.Command), c.Args...)
	return len(words) > 0 && path.Base(words[0]) == "java"
}

// Asks are what to do about a pod that keeps an answer to itself: what waits in it only itself can
// tell.
func Asks(pod *v1.Pod, a *answer.Answer) []answer.Fix {
	return []answer.Fix{kubectl.Inspect(
		"ask it who waits there, and for whom (PostgreSQL: pg_stat_activity and pg_locks, and pg_stat_replication; MariaDB, MySQL: show full processlist; Redis: client list); end what holds it up, and not who waits",
		kubectl.Command(pod.Namespace, "exec -it %s -c %s -- sh", pod.Name, listener(pod, a).Name),
	)}
}
