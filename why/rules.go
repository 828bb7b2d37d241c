package why

import (
	"slices"

	"whylet.dev/whylet/why/answer"
)

// Rule describes one conclusion: which causes it may find, what it needs to see
// for that, and what speaks against it.
type Rule struct {
	// Name stands behind an inferred verdict. Where the node decided something
	// itself and kept why, there is no rule, and the name is empty.
	Name           string
	Causes         []answer.Cause
	Needs, Against string
	// Yields are the rules that see the reason of what this one sees.
	Yields []string
}

// The rules, by what they are about: why a run ended that the node did not end, why a
// probe fails, why a container cannot be started, why there is no image for it, and who
// wanted a pod gone.
var (
	exitRules    = rulebook[ending]{limit: unlessOrdered}
	probeRules   = rulebook[*probing]{limit: unlessHalfSeen}
	startRules   rulebook[notStarted]
	imageRules   rulebook[notStarted]
	deletedRules rulebook[*inquiry]
)

// Rules lists every way to a cause. docs/rules.md shows it, and a test holds the
// page to it.
func Rules() []Rule {
	all := slices.Concat(exitRules.list(), probeRules.list(), startRules.list())
	for _, r := range append(imageRules.list(), deletedRules.list()...) {
		if !slices.ContainsFunc(all, func(known Rule) bool { return known.Name == r.Name }) {
			all = append(all, r)
		}
	}
	all = append(append(all, asBeforeRule()), actRules()...)
	return append(append(all, plainRules...), decided...)
}

func (b *rulebook[C]) list() []Rule {
	var all []Rule
	for _, r := range b.rules {
		all = append(all, Rule{r.name, r.causes, r.needs, r.against, r.yields})
	}
	return all
}

// plainRules are those that compete with no other: what they look at has one meaning.
var plainRules = []Rule{
	{"silent-child-oom", oomCauses, "OOM kills in a container that lives on and looks well", "a limit that nobody hit", nil},
	{"oom-hook", oomCauses, "a postStart hook that failed, and the kernel's record of an OOM kill of a process that is not the main one while it ran", "", nil},
	{"cache-at-limit", []answer.Cause{answer.MemoryLimit}, "memory use at the limit that is mostly page cache, and no OOM kill: this rule only rules out", "", nil},
	{"stopped-unseen", []answer.Cause{answer.ProcessStopped}, "a look of the last minute that finds the main process, or the one that holds a port, stopped or traced in a container that looks well", "", nil},
	{"hang-unseen", []answer.Cause{answer.AppHang}, "two looks of the last minute that find connections which wait to be accepted, and an idle main process, in a container that looks well and has run for a minute", "CPU use", nil},
	{"full-unseen", []answer.Cause{answer.AppOverloaded}, "two looks of the last minute that find connections which wait to be accepted, in a container that looks well, has run for a minute and has taken its listener out of its event loop", "", nil},
	{"listener-ended-unseen", []answer.Cause{answer.ChildProcessEnded}, "in a container that looks well, the kernel's word that a process ended which was seen to listen, and a look that finds nobody there since", "a listener on that port", nil},
	{"node-name-server", []answer.Cause{answer.DependencyDown}, "words that a name is not in DNS, or that no answer came in time, of a pod with dnsPolicy Default, or on the node's network without ClusterFirstWithHostNet, whose configuration names a Service; most likely, where the words are only of time", "another pod's trouble that explains it", nil},
	{"another-pod", []answer.Cause{answer.ProcessStopped, answer.AppHang, answer.AppExitError, answer.MemoryLimit, answer.AppListensElse, answer.ServicePortMismatch, answer.SelectorMismatch, answer.NetworkBlocked}, "a failure that may be another's (an answer of 5xx, silence, a refused connection, a start that waits), a Service, pod or Job that the container asks or waits for: by its words, which name it as a place or say that it was let down, by its connections, or, alone not well of those that its configuration names, of a gateway, of one that waits or answers 503 without a reason of its own, or of one whose health check has a failing member of that name, or, by its name alone, a workload that its error names and that was not well before, or one that asks the same Service and is configured for the queue that its error names, or went for a reason of its own right before the failure began; where an init container waits, first the Job that it says it waits for; a pod behind a Service whose work is done; from one that looks well and is said to lack replicas, or idles over an answer that is waited for, to a pod of the same image whose configuration names its Service, and which was not well or went as that began, or else to the one Job that failed right before and asks it, too, as most likely; and trouble there: its cause is taken over, whatever it is; network-blocked where a log and a socket show that nobody answers, and all pods there listen and have room", "nothing wrong there; for a plain 5xx, a place that only the configuration names, or a connection to one that takes requests, and a reason that the container says of itself, unless that names the place", nil},
	{"probe-own-service", []answer.Cause{answer.ProbeCommandFailed}, "a command of a probe that is let down, never went well, and asks by a Service which leads to the pod itself and to no other that is ready", "a pod that is ready; a Service with publishNotReadyAddresses", nil},
	{"old-address", []answer.Cause{answer.AppUnhealthy}, "words or a connection that nobody answers at an address which no pod and no Service has, and one Service without an address of its own that the configuration names, all whose pods are well, are of the same network and take requests at that port", "trouble at whom it asks", nil},
	{"sidecar-report", []answer.Cause{answer.MeshSidecarAnswered}, "the sidecar's mark on the answer, which says that it could not reach the application, and nothing that says why", "a rule about the application that knows why", nil},
	{"reboot", []answer.Cause{answer.NodeRestarted}, "a sandbox that was gone when an agent came back, and the kernel's boot id was another", "", nil},
	{"no-symptom", []answer.Cause{answer.None}, "all containers run and are ready, or the pod is not ready yet, and nothing has failed, was killed or evicted", "a probe that could never be asked", nil},
	{"no-selector", []answer.Cause{answer.None}, "a Service without a selector", "", nil},
	{"not-asked-yet", []answer.Cause{answer.None}, "a container that is not ready, and a probe without any attempt in this run", "", nil},
	{"done", []answer.Cause{answer.RestartPolicy}, "exit code 0 of its own in a pod that Succeeded", "a kill by the node", nil},
	{"init-ended", []answer.Cause{answer.InitFailed}, "an init container that ended with an error, for a reason that is not known", "", nil},
	{"init-still-runs", []answer.Cause{answer.InitWaiting}, "an init container that was started and has not ended", "", nil},
	{"hook-still-runs", []answer.Cause{answer.HookFailed}, "a container that has run for 30 s, and whose postStart hook has not ended", "", nil},
	{"sidecar-still-starts", []answer.Cause{answer.InitWaiting}, "a restartable init container that runs, and whose startup probe has neither failed nor succeeded yet", "", nil},
	{"job-failed", []answer.Cause{answer.ActiveDeadline, answer.RestartPolicy}, "the job's own condition Failed, and its reason", "", nil},
	{"scheduler-message", []answer.Cause{answer.SchedulingGate, answer.VolumeUnbound, answer.InsufficientResources, answer.NoMatchingNode}, "the scheduler's own words in the condition PodScheduled; what the claims of its volumes wait for is read with them", "words that are not known here", nil},
	{"refused-at-creation", []answer.Cause{answer.InsufficientResources, answer.SecurityRefused, answer.ConfigMissing, answer.Deleted}, "a workload with fewer pods than it wants, and the API server's words to its controller that it may not create one: the condition ReplicaFailure, or the last event FailedCreate", "words that are not known here", nil},
	{"foreign-scheduler", []answer.Cause{answer.SchedulerMissing}, "a pod that asks for another scheduler than Kubernetes' own, and no word of one for ten seconds", "", nil},
	{"node-never-was", []answer.Cause{answer.NoMatchingNode}, "a pod that names a node itself which does not exist, and that no node ever took", "", nil},
	{"no-node-fits", []answer.Cause{answer.NoMatchingNode}, "a DaemonSet whose controller wants it on no node", "", nil},
	{"suspended", []answer.Cause{answer.Suspended}, "a paused Deployment or a suspended Job without pods", "", nil},
	{"scaled-to-zero", []answer.Cause{answer.ScaledDown}, "a Service whose selector fits the pods of a workload that is scaled to 0", "", nil},
	{"name-for-nothing", []answer.Cause{answer.DependencyDown}, "a Service of type ExternalName with the name of a Service of the same cluster, which the API server does not have", "a name of a host elsewhere", nil},
	{"node-not-ready", []answer.Cause{answer.NodeLost}, "a node object that is not Ready, or that is gone", "a node that is Ready", nil},
	{"selector", []answer.Cause{answer.SelectorMismatch, answer.DependencyDown}, "a Service whose selector fits no pod of its namespace; dependency-down, where it wants one pod of several that are numbered, of which another is there", "no pod that may be meant: by its labels, its name, or a port of it where it is no other Service's", nil},
	{"nobody-behind", []answer.Cause{answer.DependencyDown}, "a Service whose selector fits no pod of its namespace, and no pod there that may be meant", "", nil},
	{"nobody-listens", []answer.Cause{answer.ServicePortMismatch, answer.SelectorMismatch}, "pods that are well, into which somebody looked, and which do not listen on the Service's target port; selector-mismatch, where the selector takes in others that are not what it is made for, or where one that is called like the Service declares that port and is not selected", "a probe of that port that succeeded since the look", nil},
	{"load-balancer-refused", []answer.Cause{answer.LoadBalancerFailed}, "a Service of type LoadBalancer without an address, and its controller's last event SyncLoadBalancerFailed", "an address", nil},
	{"target-port", []answer.Cause{answer.ServicePortMismatch, answer.SelectorMismatch}, "a target port that none of the selected pods declares, while they declare others; selector-mismatch as with nobody-listens", "for a number: a pod that listens there", nil},
}

// decided are the causes that the node itself knows, because it decided what
// follows from them and kept why.
var decided = []Rule{
	{"", []answer.Cause{answer.HookFailed}, "the hook's failure, on which the kill rests", "", nil},
	{"", []answer.Cause{answer.SandboxFailed}, "the sandbox's loss, on which the kill rests, or its set-up that failed", "a reboot", nil},
	{"", []answer.Cause{answer.VolumeFailed, answer.ConfigMissing, answer.RuntimeFailed, answer.DiskFull, answer.MemoryLimit}, "the set-up of the pod that failed, and its stage", "", nil},
	{"", []answer.Cause{answer.SiblingNotReady, answer.MeshSidecarNotReady}, "the pod's condition Ready, and containers that are ready while another, or the mesh's sidecar, is not", "", nil},
	{"", []answer.Cause{answer.ReadinessGate}, "the pod's condition Ready with all containers ready", "", nil},
	{"", []answer.Cause{answer.RestartPolicy}, "a kill that a restart rule of the pod asked for", "", nil},
	{"", []answer.Cause{answer.ActiveDeadline}, "the kill for activeDeadlineSeconds", "", nil},
	{"", []answer.Cause{answer.EvictedMemory, answer.EvictedDisk, answer.EvictedPIDs}, "the eviction, its signal and the ranking that chose the pod", "", nil},
	{"", []answer.Cause{answer.NodeRestarted}, "a kill because the machine was about to shut down", "", nil},
	{"", []answer.Cause{answer.InsufficientResources, answer.NoMatchingNode, answer.SecurityRefused, answer.NodeRestarted, answer.EvictedMemory, answer.EvictedDisk, answer.EvictedPIDs}, "the node's refusal to take the pod in, and its reason", "", nil},
	{"", []answer.Cause{answer.InsufficientResources, answer.RuntimeFailed}, "new resources for a running pod that the node did not grant, or could not set", "", nil},
	{"", []answer.Cause{answer.SpecChanged}, "a kill because the pod's own spec changed", "", nil},
	{"", []answer.Cause{answer.Deleted, answer.Preempted}, "a kill because the pod has to go", "", nil},
	{"", []answer.Cause{answer.None}, "a kill because the pod's main containers had ended", "", nil},
	{"", []answer.Cause{answer.AppIgnoredSIGTERM, answer.HookFailed}, "a kill by the node, exit code 137, and the whole grace period in between, by the container or by its preStop hook: it contributes", "an OOM kill of the main process", nil},
}

// oomCauses are those that an OOM kill can have: whose limit it was.
var oomCauses = []answer.Cause{answer.MemoryLimit, answer.MemoryLimitChild, answer.PodMemoryLimit, answer.MemoryBackedVolume, answer.NodeOutOfMemory, answer.NodeOvercommitted}
