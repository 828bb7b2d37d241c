package cluster

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
)

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

// theirPort is the change of a Service that leads to a port on which a pod does not listen, where
// it listens on one other.
func theirPort(service *v1.Service, port int32, pod *v1.Pod, l *answer.Listening, target int32) []answer.Fix {
	switch {
	case slices.Contains(l.Loopback, target):
		return []answer.Fix{kubectl.EditTemplate(pod.Namespace, pod, fmt.Sprintf("have it listen on all addresses (0.0.0.0 or ::) on port %d, and not on loopback alone", target))}
	case len(l.Ports) == 1:
		return []answer.Fix{edit(service, fmt.Sprintf("give port %d of Service %s targetPort %d, if that is what is to answer there, or have the pod listen on %d", port, service.Name, l.Ports[0], target))}
	}
	return nil
}
