package fromapi

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/words"
)

// run is what the status shows of one run of a container; until is zero and end nil while it lasts.
type run struct {
	attempt     int32
	from, until time.Time
	end         *v1.ContainerStateTerminated
}

// states are the statuses of all containers of a pod.
func states(s *v1.PodStatus) []v1.ContainerStatus {
	return slices.Concat(s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses)
}

// runs are those of a container that the status shows, oldest first. Of one that waits to be started again the status
// counts the run that ended last itself.
func runs(c *v1.ContainerStatus) (all []run) {
	ended := func(attempt int32, t *v1.ContainerStateTerminated) {
		all = append(all, run{attempt, t.StartedAt.Time, t.FinishedAt.Time, t})
	}
	switch before := c.LastTerminationState.Terminated; {
	case before == nil, c.State.Terminated != nil && c.RestartCount == 0:
	case c.State.Terminated != nil || c.State.Running != nil:
		ended(max(c.RestartCount-1, 0), before)
	default:
		ended(c.RestartCount, before)
	}
	if t := c.State.Terminated; t != nil {
		ended(c.RestartCount, t)
	}
	if r := c.State.Running; r != nil {
		all = append(all, run{attempt: c.RestartCount, from: r.StartedAt.Time})
	}
	return all
}

// over are those of them that have ended.
func over(c *v1.ContainerStatus) []run {
	return slices.DeleteFunc(runs(c), func(r run) bool { return r.end == nil })
}

// containers tells of the starts, ends and waits of all containers.
func (t *teller) containers() {
	all := states(&t.Pod.Status)
	for i := range all {
		c := &all[i]
		var said why.Log
		for i, r := range over(c) {
			if i == len(over(c))-1 {
				said = t.Ended[c.Name]
			}
			t.ended(c, r, said)
		}
		switch {
		case c.State.Running != nil:
			t.tell(c.State.Running.StartedAt.Time, c.Name, c.RestartCount, fact.Started{ContainerID: c.ContainerID, Image: c.Image, ImageID: c.ImageID, Resources: c.Resources, User: c.User, VolumeMounts: c.VolumeMounts})
			t.saying(c)
		case c.State.Waiting != nil:
			t.waits(c)
		}
	}
}

// ended tells of one run that is over: its start, its end and what it said last.
func (t *teller) ended(c *v1.ContainerStatus, r run, said why.Log) {
	e := r.end
	switch {
	case reported.NeverRan(e.Reason):
		t.tell(r.until, c.Name, r.attempt, fact.StartFailed{Reason: "RunContainerError", Message: e.Message, ContainerID: e.ContainerID, Exited: true, ExitCode: e.ExitCode})
		return
	case e.Reason == "ContainerStatusUnknown" || e.Reason == "Unknown": // kubelet's word; containerd's, after the machine was restarted
		t.tell(r.until, c.Name, r.attempt, fact.Exited{ContainerID: e.ContainerID, Vanished: true})
		return
	}
	if !r.from.IsZero() {
		t.tell(r.from, c.Name, r.attempt, fact.Started{ContainerID: e.ContainerID, Image: c.Image, ImageID: c.ImageID})
	}
	body := fact.Exited{ContainerID: e.ContainerID, ExitCode: e.ExitCode, StartedAt: e.StartedAt.UTC(), RuntimeReason: e.Reason, Message: itsOwn(e.Message)}
	lines, at := kept(said)
	body.Say(lines, at, r.until)
	t.tell(r.until, c.Name, r.attempt, body)
	if t.silent(c.Name, r) {
		t.quiet = append(t.quiet, end{c.Name, r.attempt})
	}
}

// nodesWord fits what Whylet's node writes of an end of which the container itself left no word.
var nodesWord = regexp.MustCompile(`^(?:Ended by the node: |The main process (?:\(pid|was )|A child process \()`)

// itsOwn is what a container wrote of its end.
func itsOwn(message string) string {
	if nodesWord.MatchString(message) {
		return ""
	}
	return redact.Text(message)
}

// kept are those of the last lines of a log that say most, as an agent keeps them.
func kept(said why.Log) (lines []string, at []time.Time) {
	text := strings.ToValidUTF8(redact.Text(strings.Join(said.Lines, "\n")), "")
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	lines, at = strings.Split(text, "\n"), said.At
	if len(at) != len(lines) || slices.ContainsFunc(at, time.Time.IsZero) {
		at = nil // some were a secret together, or have no time
	}
	lines, which := words.Keep(lines, fact.MostLastLines, fact.MostLastBytes)
	if at == nil {
		return lines, nil
	}
	times := make([]time.Time, 0, len(which))
	for _, n := range which {
		times = append(times, at[n])
	}
	return lines, times
}

// onlyItsLog says of a look that nobody was in the container.
const onlyItsLog = "only its log was read"

// saying tells what a container that runs logged last.
func (t *teller) saying(c *v1.ContainerStatus) {
	lines, at := kept(t.Running[c.Name])
	if len(lines) > 0 {
		t.tell(t.Now, c.Name, c.RestartCount, fact.Looked{Said: lines, SaidAt: at, Error: onlyItsLog})
	}
}

// waits tells what failed before a container waits.
func (t *teller) waits(c *v1.ContainerStatus) {
	w, attempt := c.State.Waiting, c.RestartCount
	if len(over(c)) > 0 {
		attempt++
	}
	switch body := reported.Waiting(c.Image, w).(type) {
	case nil:
		if w.Reason == "PostStartHookError" {
			t.tell(t.Now, c.Name, attempt, fact.HookRan{Hook: fact.PostStart, Error: w.Message})
		}
	case fact.ImageFailed:
		body.OnNode = t.onNode(c.Name)
		if spec := t.spec(c.Name); body.Image == "" && spec != nil {
			body.Image = spec.Image
		}
		if strings.HasPrefix(body.Message, "Back-off ") && t.saysWhy(c.Name) {
			return // the event of the attempt has the registry's words
		}
		t.tell(t.Now, c.Name, attempt, body)
	default:
		t.tell(t.Now, c.Name, attempt, body)
	}
}

// onNode says whether the node has the image of a container that asks the registry each time, as far
// as its status tells: kubelet names the fifty largest there.
func (t *teller) onNode(container string) bool {
	spec := t.spec(container)
	if spec == nil || spec.ImagePullPolicy != v1.PullAlways {
		return false
	}
	full := spec.Image
	if !strings.Contains(full[strings.LastIndexByte(full, '/')+1:], ":") && !strings.Contains(full, "@") {
		full += ":latest"
	}
	return slices.ContainsFunc(t.Images, func(has v1.ContainerImage) bool {
		return slices.Contains(has.Names, full) || slices.Contains(has.Names, "docker.io/"+full) || slices.Contains(has.Names, "docker.io/library/"+full)
	})
}

func (t *teller) spec(name string) *v1.Container {
	called := func(c v1.Container) bool { return c.Name == name }
	return cmp.Or(first(t.Pod.Spec.Containers, called), first(t.Pod.Spec.InitContainers, called))
}
