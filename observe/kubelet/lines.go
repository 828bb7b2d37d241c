package kubelet

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
)

// Word is what one record of kubelet's log says of a pod.
type Word struct {
	At        time.Time
	Namespace string
	Name      string
	UID       types.UID // empty where the record does not say it
	Container string
	// ContainerID is the runtime's, with its scheme; empty where it is not said.
	ContainerID string
	// Probe is set with an attempt, of which Output and Errored say the rest.
	Probe   fact.ProbeKind
	Success bool
	Output  string
	Errored bool
	// Hook is set where a lifecycle hook failed; Said has kubelet's words.
	Hook fact.HookKind
	// Said is set where it is a word about anything else.
	Said *fact.Said
	// Reclaims is set where the node ran short of something for which pods have to go, and
	// Ranked are those that may, in the order in which they do: two records.
	Reclaims string
	Ranked   []types.NamespacedName
}

// What the log of kubelet says at which verbosity is no API. 1.34 to 1.38 log the same messages with
// the same keys; testdata has a record of each by version (pkg/kubelet/prober/prober.go,
// kuberuntime_container.go, kuberuntime_manager.go and eviction_manager.go).
const (
	lineProbeFailed  = "Probe failed"                          // -v=1
	lineProbeErrored = "Probe errored"                         // -v=1
	lineProbeGood    = "Probe succeeded"                       // -v=3
	lineProbeWarning = "Probe succeeded with a warning"        // -v=3
	lineKilling      = "Killing container with a grace period" // -v=2
	lineMessage      = "Message for Container of pod"          // -v=2
	linePostStart    = "Failed to execute PostStartHook"       // always
	linePreStop      = "PreStop hook failed"                   // always
	lineEvicted      = "Eviction manager: pod is evicted successfully"
	lineReclaim      = "Eviction manager: must evict pod(s) to reclaim"
	lineRanked       = "Eviction manager: pods ranked for eviction"
)

// Messages lists the messages of which Read returns more than the pod. Tests expect each of them from
// every version of kubelet that the agent supports.
var Messages = []string{
	lineProbeFailed, lineProbeErrored, lineProbeGood, lineProbeWarning, lineKilling, lineMessage, linePostStart, linePreStop, lineReclaim, lineRanked, lineEvicted,
}

// hookLines maps the messages about failed lifecycle hooks to the hooks.
var hookLines = map[string]fact.HookKind{linePostStart: fact.PostStart, linePreStop: fact.PreStop}

// otherLines name pods and say nothing that another source does not say better.
var otherLines = []string{
	"SyncLoop", "Error syncing pod", "Generic (PLEG)", "ContainerStart failed", "Unhandled Error", "operationExecutor", "MountVolume", "UnmountVolume", "Volume ",
	"Pod startup duration", "Observed pod startup duration", "Updating PodCIDR", "Cleaned up", "Patch status for pod", "Status for pod", "Failed to create sandbox", "CreatePodSandbox for pod failed",
	"No status manager", "Failed to update status", "StopPodSandbox", "PodSandbox", "No sandbox for pod", "No ready sandbox", "Pod is terminated", "Ensuring sandbox", "RemoveContainer", "\"Failed to", "Container readiness", "Container startup",
	"Receiving a new pod", "Container is terminated", "Need to restart pod", "computePodActions", "Creating container in pod", "Removing container", "Missing actuated", "Exec lifecycle hook", "HTTP lifecycle hook", "Sleep lifecycle hook", "Getting status", "Pod termination", "Pod worker", "Container exited normally",
	"Back-off restarting", "Creating PodSandbox", "Pod sandbox", "Will create hash", "Trying to get", "Mirror", "Creating a mirror", "Deleting a mirror", "Unable to attach or mount",
}

// Read understands a record. about is false for one that is not about a pod;
// understood is false for one that is, and of which nobody knows what it says.
func Read(l Line) (w Word, about, understood bool) {
	switch l.Message {
	case lineReclaim:
		return Word{At: l.At, Reclaims: l.Values["resourceName"]}, true, l.Values["resourceName"] != ""
	case lineRanked:
		all := ranked(l.Values["pods"])
		return Word{At: l.At, Ranked: all}, true, len(all) > 0
	}
	pod := l.Values["pod"]
	if pod == "" {
		return Word{}, false, true
	}
	w = Word{At: l.At, UID: types.UID(l.Values["podUID"]), Container: l.Values["containerName"]}
	var ok bool
	if w.Namespace, w.Name, ok = strings.Cut(pod, "/"); !ok {
		w.Namespace, w.Name = "", pod
	}
	if _, bare, found := strings.Cut(l.Values["containerID"], "://"); found && bare != "" {
		w.ContainerID = l.Values["containerID"]
	}
	switch {
	case l.Message == lineProbeFailed || l.Message == lineProbeErrored:
		w.Probe, w.Errored = reported.Probes[l.Values["probeType"]], l.Message == lineProbeErrored
		w.Output = l.Values["output"]
		if w.Errored {
			w.Output = l.Values["err"]
		}
		return w, true, w.Probe != "" && w.Container != ""
	case l.Message == lineProbeGood || l.Message == lineProbeWarning:
		w.Probe, w.Success = reported.Probes[l.Values["probeType"]], true
		return w, true, w.Probe != "" && w.Container != ""
	case l.Message == lineKilling, l.Message == lineMessage, l.Message == lineEvicted, hookLines[l.Message] != "":
		w.Said, w.Hook = said(l), hookLines[l.Message]
		return w, true, w.Hook == "" || w.Container != ""
	}
	return w, true, slices.ContainsFunc(otherLines, func(begin string) bool { return strings.HasPrefix(l.Message, begin) })
}

// ranked reads a list of pods: ["shop/web-1","shop/db-0"].
func ranked(list string) []types.NamespacedName {
	var all []types.NamespacedName
	for one := range strings.FieldsFuncSeq(strings.Trim(list, "[]"), func(r rune) bool { return r == ',' || r == ' ' }) {
		namespace, name, ok := strings.Cut(strings.Trim(one, `"`), "/")
		if ok && namespace != "" && name != "" {
			all = append(all, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return all
}

// said is a record as a fact keeps it.
func said(l Line) *fact.Said {
	s := &fact.Said{Component: "kubelet", Source: "log", Reason: l.Message}
	for _, key := range []string{"containerMessage", "message", "err"} {
		if v := l.Values[key]; v != "" && s.Message == "" {
			s.Message = reported.Bounded(v)
		}
	}
	if grace := l.Values["gracePeriod"]; grace != "" {
		s.Values = map[string]string{"gracePeriod": grace}
	}
	return s
}

// Attempt is the probe attempt that a word tells of.
func (w Word) Attempt(spec *v1.Probe) fact.Probed {
	if !w.Success {
		return reported.Attempt(w.Probe, spec, w.Output, w.Errored)
	}
	return fact.Probed{Probe: w.Probe, Verdict: fact.Success, By: fact.BySay}
}
