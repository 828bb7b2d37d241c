package why

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

func afterSpan(d time.Duration) string { return prose.Whether(d == 0, "", " after "+prose.Span(d)) }

// Tell words any fact as a link of a chain.
func Tell(f fact.Fact) answer.Link { return link(&f) }

// link makes a fact a link of a chain, worded from what is in it.
func link(f *fact.Fact) answer.Link {
	text, evidence := describe(f.Body)
	if f.Container != "" && f.Attempt > 0 {
		if evidence == nil {
			evidence = map[string]any{}
		}
		evidence["attempt"] = f.Attempt
	}
	l := answer.Link{Fact: f.ID, At: f.When(), Kind: f.Body.Kind(), Text: text, Evidence: evidence}
	if b, ok := f.Body.(fact.Probed); ok {
		l.Outcome = b.Verdict
		if b.Evidence != nil {
			l.Status, l.TimedOut = b.Evidence.Status, b.Evidence.Timeout
		}
	}
	return l
}

// links are the links of several facts; nil ones are left out.
func links(facts ...*fact.Fact) []answer.Link {
	var all []answer.Link
	for _, f := range facts {
		if f != nil {
			all = append(all, link(f))
		}
	}
	return all
}

// kept bounds words that come from outside, quoted the one line that gives the reason:
// its middle often has what its beginning only introduces.
const kept, quoted = 160, 300

// describe words a body and gives its raw values, without what is empty.
func describe(b fact.Body) (string, map[string]any) {
	switch b := b.(type) {
	case fact.Probed:
		return describeProbe(b)
	case fact.Exited:
		return describeExit(b)
	case fact.OOMKilled:
		return describeOOM(b)
	case fact.Kill:
		return fmt.Sprintf("the node ends it (%s), grace period %d s", killWords[b.Reason], b.GraceSeconds),
			values("reason", b.Reason, "message", b.Message, "graceSeconds", b.GraceSeconds)
	case fact.StartFailed:
		return "it does not start: " + prose.Wrapped(b.Message, kept), values("reason", b.Reason, "message", b.Message, "exitCode", b.ExitCode)
	case fact.ImageFailed:
		return "no image: " + prose.Wrapped(b.Message, kept), values("image", b.Image, "reason", b.Reason, "message", b.Message)
	case fact.SetUpFailed:
		return fmt.Sprintf("the pod's %s cannot be set up: %s", b.Stage, prose.Wrapped(b.Message, kept)), values("stage", b.Stage, "reason", b.Reason, "message", b.Message)
	case fact.ResizeFailed:
		return "it does not get its new resources: " + prose.Wrapped(b.Message, kept), values("reason", b.Reason, "message", b.Message)
	case fact.HookRan:
		if b.Error == "" {
			return fmt.Sprintf("%s hook ran, %s", b.Hook, prose.Span(b.Took)), values("took", b.Took)
		}
		return fmt.Sprintf("%s hook failed%s: %s", b.Hook, afterSpan(b.Took), hookSaid(b.Error)), values("took", b.Took, "error", b.Error, "timeout", b.Timeout)
	case fact.Marked:
		return marked(b), values("ready", b.Ready, "started", b.Started)
	case fact.BackOff:
		return fmt.Sprintf("waits %s before the next attempt", prose.Span(b.Delay)), values("what", b.What, "delay", b.Delay.String(), "until", b.Until)
	case fact.EvictionNeeded:
		text := cmp.Or(prose.Brief(b.Message, kept), "pods were ranked for eviction, for "+b.Signal) // of kubelet the order alone is known
		return text, values("signal", b.Signal, "message", b.Message)
	case fact.Evict:
		return "the node evicts the pod: " + prose.Brief(b.Message, kept), values("signal", b.Signal, "ranking", b.Ranking)
	case fact.AskedAgain:
		return describeAgain(b)
	case fact.ProcessEnded:
		return describeEnded(b)
	case fact.Signalled:
		return fmt.Sprintf("%s sent %s to %s", senderWords(b), signalName(b.Signal), cmp.Or(process("", b.PID), "a process of it")),
			values("signal", b.Signal, "pid", b.PID, "command", b.Command, "main", b.Main, "origin", b.Origin,
				"senderPID", b.SenderPID, "senderCommand", b.SenderCommand, "senderPod", b.SenderPod, "senderContainer", b.SenderContainer)
	case fact.Looked:
		return describeLook(b)
	case fact.StatusSeen:
		said := cmp.Or(b.Status.Message, b.Status.Reason)
		return fmt.Sprintf("the pod's status is %s%s", cmp.Or(string(b.Status.Phase), "not known"), prose.Whether(said == "", "", ": "+prose.Brief(said, kept))), values("phase", b.Status.Phase, "reason", b.Status.Reason, "message", b.Status.Message)
	case fact.Sampled:
		return describeSample(b)
	default:
		return describePlain(b)
	}
}

func describePlain(b fact.Body) (string, map[string]any) {
	switch b := b.(type) {
	case fact.SpecSeen:
		said := "the pod's spec was seen"
		if len(b.Changed) > 0 {
			said = "the pod's spec was changed at " + prose.Some(b.Changed)
		}
		return said + inBrackets("", b.By), values("by", b.By, "source", b.Source)
	case fact.ConfigChanged:
		return fmt.Sprintf("%s %s was changed", b.Object, b.Name) + inBrackets("", b.By), values("object", b.Object, "name", b.Name, "by", b.By, "keys", b.Keys)
	case fact.Said:
		return strings.TrimSpace(b.Component + " says " + b.Reason + ": " + b.Message), values("component", b.Component, "reason", b.Reason, "message", b.Message)
	case fact.ConditionsSeen:
		c := fact.Disruption(b.Conditions, time.Time{})
		if c == nil {
			break
		}
		return fmt.Sprintf("its condition %s was set: %s: %s", c.Type, c.Reason, prose.Brief(c.Message, kept)), values("reason", c.Reason, "message", c.Message)
	case fact.DeletionSeen:
		return deletionWords(b), values("by", b.By, "graceSeconds", b.GraceSeconds, "gone", b.Gone, "reason", b.Reason)
	case fact.Requested:
		return fmt.Sprintf("%s asked the API server to %s it", requester(b), b.Verb), values("verb", b.Verb, "user", b.User, "as", b.As, "agent", b.Agent)
	case fact.RoomSeen:
		return roomLeft(b), values("node", b.Node, "allocatable", b.Allocatable, "requested", b.Requested, "pods", b.Pods, "conditions", b.Conditions, "holders", b.Holders)
	case fact.RoomMade:
		return fmt.Sprintf("pod %s made room", b.By), values("by", b.By.String())
	case fact.Refused:
		return "the node refused the pod: " + prose.Brief(b.Message, kept), values("reason", b.Reason, "message", b.Message, "holders", b.Holders)
	case fact.SandboxLost:
		return "the pod's sandbox ended: " + prose.Brief(b.Message, kept), values("sandboxID", b.SandboxID, "message", b.Message)
	case fact.Started:
		return "it started", values("pid", b.PID)
	case fact.SetPhase:
		return "the pod is " + string(b.Phase), values("reason", b.Reason, "message", b.Message)
	case fact.SetCondition:
		c := b.Condition
		return strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", c.Type, c.Status, prose.Brief(c.Message, kept)), ": "), values("reason", c.Reason, "message", c.Message)
	case fact.AgentStarted:
		return "the node's agent started; its last run ended " + string(b.Previous), values("previous", b.Previous, "lastSeen", b.LastSeen)
	case fact.AgentStopped:
		text := prose.Whether(b.Reason != "", "the node's agent ended, to start again with its control plane", "the node's agent ended, as it was asked to")
		return text, values("signal", b.Signal, "reason", b.Reason, "since", b.Since)
	case fact.AgentStalled:
		text, _ := stalledWords(b)
		return text, values("from", b.From, "until", b.Until, "continued", b.Continued, "suspended", b.Suspended.String(),
			"cpuWait", b.CPUWait.String(), "memoryStall", b.MemoryStall.String(), "majorFaults", b.MajorFaults)
	case fact.NodeShutdown:
		text := fmt.Sprintf("the machine is about to shut down: %s to end", prose.Span(time.Duration(b.GraceSeconds)*time.Second))
		if b.Cancelled {
			text = "the machine does not shut down after all"
		}
		return text, values("graceSeconds", b.GraceSeconds, "cancelled", b.Cancelled)
	case fact.GPUError:
		return fmt.Sprintf("GPU %s reported Xid %d: %s", b.Device, b.Code, prose.Brief(b.Message, kept)),
			values("device", b.Device, "code", b.Code, "pid", b.PID, "command", b.Command, "message", b.Message)
	case fact.PacketsDropped:
		return "the kernel dropped packets: " + prose.Brief(b.Message, kept), values("message", b.Message)
	case fact.Lost:
		return string(b.Source) + ": " + prose.Brief(b.Reason, kept), values("source", b.Source, "from", b.From, "until", b.Until, "count", b.Count)
	}
	return cmp.Or(plainly[b.Kind()], string(b.Kind())), nil
}

// plainly are the words for facts of which their kind is all that there is to say.
var plainly = map[fact.Kind]string{
	fact.Start{}.Kind(): "the node starts it", fact.SetUp{}.Kind(): "the node sets the pod up", fact.TimePassed{}.Kind(): "the time had come", fact.ObjectGone{}.Kind(): "the object is gone from the API server",
}

func deletionWords(b fact.DeletionSeen) string {
	if b.Gone {
		return "the object is gone from the API server" + inBrackets("", b.By)
	}
	text := "it was deleted" // b.By wrote the object last: a deletion by a person leaves no name in it
	if b.GraceSeconds > 0 {
		text += fmt.Sprintf(", grace period %d s", b.GraceSeconds)
	}
	return text
}

func marked(b fact.Marked) string {
	switch {
	case b.Ready:
		return "it is ready"
	case b.Started:
		return "it is not ready"
	}
	return "it is not ready, and not started"
}

// killWords are the reasons of a kill for people.
var killWords = map[fact.KillReason]string{
	fact.KillLiveness: "failed liveness probe", fact.KillStartup: "failed startup probe", fact.KillHook: "failed postStart hook",
	fact.KillDeletion: "the pod was deleted", fact.KillEviction: "the pod is evicted", fact.KillDeadline: "activeDeadlineSeconds ran out",
	fact.KillSpec: "its definition changed", fact.KillResize: "a resize needs a restart", fact.KillPodDone: "the main containers ended",
	fact.KillSandbox: "its sandbox ended", fact.KillRestart: "the whole pod is restarted", fact.KillPreempted: "preempted",
	fact.KillShutdown: "its machine shuts down",
}

// exitWords word an end; how leads to its exit code where no signal ended it.
func exitWords(b fact.Exited, how string) string {
	text := fmt.Sprintf("%s exit code %d", how, b.ExitCode)
	switch {
	case b.Vanished:
		text = "it is gone; its exit code is not known"
	case b.Signal != 0:
		text = fmt.Sprintf("it was ended by %s (exit code %d)", signalName(b.Signal), b.ExitCode)
	}
	if b.Message != "" {
		text += ", saying: " + prose.Brief(b.Message, kept)
	}
	return text
}

func describeExit(b fact.Exited) (string, map[string]any) {
	v := values("exitCode", b.ExitCode, "signal", b.Signal, "runtimeReason", b.RuntimeReason, "message", b.Message)
	v["exitCode"] = b.ExitCode
	if b.OOMKnown {
		v["oomKills"], v["mainOOMKilled"] = b.OOMKills, b.MainOOMKilled
	}
	return exitWords(b, "it ended with") + prose.Whether(!b.OOMKnown && b.RuntimeReason == "OOMKilled", ", reason OOMKilled", ""), v
}

func describeOOM(b fact.OOMKilled) (string, map[string]any) {
	who := "the kernel OOM-killed a child process"
	if b.Main { // by the word that kubectl shows, which people look for
		who = "OOMKilled by the kernel, the main process"
	}
	text := fmt.Sprintf("%s%s%s", who, colon(b.Command), inBrackets("", process("", b.PID)))
	if rss := b.AnonRSS + b.FileRSS + b.ShmemRSS; rss > 0 && (b.Limit == 0 || rss <= b.Limit || prose.Size(rss) == prose.Size(b.Limit)) { // more is shared with others
		text += ", which held " + prose.Size(rss)
	}
	if b.Limit > 0 {
		text += ", at a limit of " + prose.Size(b.Limit)
	}
	return text, values("pid", b.PID, "command", b.Command, "main", b.Main, "anonRSS", b.AnonRSS, "fileRSS", b.FileRSS, "shmemRSS", b.ShmemRSS,
		"constraint", b.Constraint, "taskCgroup", b.TaskCgroup, "oomCgroup", b.OOMCgroup, "limit", b.Limit, "usage", b.Usage, "cgroupAnon", b.CgroupAnon, "cgroupShmem", b.CgroupShmem, "tasks", b.Tasks)
}

func describeLook(b fact.Looked) (string, map[string]any) {
	if b.Error != "" {
		if len(b.Said) > 0 {
			return prose.Brief(b.Error, kept), values("error", b.Error)
		}
		return "looking into it failed: " + prose.Brief(b.Error, kept), values("error", b.Error)
	}
	parts := []string{
		prose.Whether(b.State == "", "", "main process "+stateWords(b.State)),
		prose.Whether(b.Over > 0, fmt.Sprintf("used %s CPU in %s", prose.Span(b.CPUUsed), prose.Span(b.Over)), ""),
		prose.Whether(len(b.Commands) > 0 && len(b.Listeners) == 0, "beside it "+prose.Brief(strings.Join(b.Commands, ", "), 60), ""),
	}
	for _, d := range b.Dialing {
		parts = append(parts, "waits for an answer of "+d.Remote)
	}
	parts = append(parts, prose.Whether(len(b.Listeners) == 0, "nothing listens", "listens on "+listening(b.Listeners)))
	if f := b.Files; f != nil && f.Open >= f.Limit {
		parts = append(parts, fmt.Sprintf("%d of %d files open", f.Open, f.Limit))
	}
	return joined("; ", parts...), values("pid", b.PID, "state", b.State, "processes", b.Processes, "cpuUsed", b.CPUUsed.String(), "over", b.Over.String(), "listeners", b.Listeners, "files", b.Files, "commands", b.Commands, "dialing", b.Dialing)
}

func stateWords(s string) string {
	return cmp.Or(map[string]string{"R": "runs", "S": "sleeps", "D": "waits for a disk", "T": "is stopped", "t": "is traced", "Z": "is a zombie"}[s], "is in state "+s)
}

func listening(all []fact.Listener) string {
	var words []string
	for _, l := range all {
		w := l.Address
		if l.Command != "" {
			w += " (" + prose.Brief(l.Command, 20) + ")"
		}
		if l.Backlog > 0 {
			w += fmt.Sprintf(" with %d waiting", l.Backlog)
		}
		if !slices.Contains(words, w) { // several sockets of one address, as a process for each CPU has
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}

func describeSample(b fact.Sampled) (string, map[string]any) {
	return joined(", ", prose.Whether(b.MemoryCurrent > 0, "memory "+prose.Size(b.MemoryCurrent), ""),
			prose.Whether(b.HighEvents > 0, fmt.Sprintf("over memory.high %d times so far", b.HighEvents), ""),
			prose.Whether(b.Periods > 0, fmt.Sprintf("%d of %d CPU periods throttled so far", b.ThrottledPeriods, b.Periods), "")), values("memoryCurrent", b.MemoryCurrent, "memoryPeak", b.MemoryPeak, "memoryLimit", b.MemoryLimit,
			"memoryFile", b.MemoryFile, "memoryShmem", b.MemoryShmem, "memoryHigh", b.MemoryHigh, "highEvents", b.HighEvents, "periods", b.Periods, "throttledPeriods", b.ThrottledPeriods,
			"oomKills", b.OOMKills, "pids", b.PIDs, "pidLimit", b.PIDLimit)
}

// describeAgain words a request that was made with patience.
func describeAgain(b fact.AskedAgain) (string, map[string]any) {
	text := fmt.Sprintf("asked again with more time: no answer within %s", prose.Span(b.Patience))
	switch {
	case b.Unfiltered:
		text = "its command was run once without the grep at its end, and says nothing"
		if b.Evidence != nil && strings.TrimSpace(b.Evidence.Output) != "" {
			text = "its command was run once without the grep at its end, and says: " + prose.Brief(words.Told(b.Evidence.Output), 80)
		}
	case b.Speaks != "":
		text = fmt.Sprintf("asked once in another way: it speaks %s", b.Speaks)
	case b.Cut:
		text = fmt.Sprintf("asked again with more time: the container ended before it answered, after %s", prose.Span(b.Took))
	case answerCame(b):
		text = fmt.Sprintf("asked again with more time: the answer came after %s", prose.Span(b.Took))
	}
	return text, values("probe", b.Probe, "verdict", b.Verdict, "took", b.Took.String(), "patience", b.Patience.String(), "timeout", b.Timeout.String(), "cut", b.Cut, "speaks", b.Speaks, "message", b.Message)
}

func describeEnded(b fact.ProcessEnded) (string, map[string]any) {
	who := prose.Whether(b.Main, "the main process", "a child process")
	how := prose.Whether(b.Signal != 0, "was ended by "+signalName(b.Signal), fmt.Sprintf("ended by itself with exit code %d", b.ExitCode))
	text := fmt.Sprintf("%s%s %s", who, inBrackets("", process(b.Command, b.PID)), how)
	if b.Lived > 0 {
		text += " after " + prose.Span(b.Lived)
	}
	v := values("pid", b.PID, "parent", b.Parent, "command", b.Command, "main", b.Main, "signal", b.Signal, "lived", b.Lived.String(), "alike", b.Alike)
	v["exitCode"] = b.ExitCode
	return text, v
}

func senderWords(b fact.Signalled) string {
	who := strings.TrimSpace("process "+prose.Brief(b.SenderCommand, 40)) + inBrackets("", process("", b.SenderPID))
	switch b.Origin {
	case fact.FromNode:
		return "the container runtime"
	case fact.FromKernel:
		return "the kernel"
	case fact.FromHost:
		return who + " on the node"
	case fact.FromContainer:
		if b.SenderStray {
			who += ", which was put there by exec (kubectl exec, a probe or a hook),"
		}
		where := " in another container"
		if b.SenderContainer != "" {
			where = " in container " + b.SenderContainer
		} else if b.SenderPod != nil {
			where = " in a container"
		}
		if b.SenderPod != nil {
			where += " of pod " + b.SenderPod.String()
		}
		return who + where
	}
	return who + ", which was gone before anybody could see where it ran,"
}

// values makes a map of pairs, without empty values.
func values(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	maps.DeleteFunc(m, func(_ string, v any) bool {
		switch fmt.Sprint(v) {
		case "", "0", "false", "[]", "<nil>", "0s", "0001-01-01 00:00:00 +0000 UTC":
			return true
		}
		return false
	})
	return m
}

// roomLeft words what room a node had, and who holds most of it.
func roomLeft(b fact.RoomSeen) string {
	text := fmt.Sprintf("the node had %s beside it", prose.Plural(int(b.Pods), "pod"))
	if len(b.Conditions) > 0 {
		text += fmt.Sprintf(", and was under pressure (%v)", b.Conditions)
	}
	if len(b.Holders) == 0 {
		return text
	}
	var who []string
	for _, h := range b.Holders[:min(len(b.Holders), 3)] {
		held := ""
		if cpu, memory := h.Requests[v1.ResourceCPU], h.Requests[v1.ResourceMemory]; !cpu.IsZero() || !memory.IsZero() {
			held = fmt.Sprintf(" (CPU %s, memory %s)", cpu.String(), memory.String())
		}
		who = append(who, h.Pod.String()+held)
	}
	return text + "; what it wants is held by " + strings.Join(who, ", ")
}
