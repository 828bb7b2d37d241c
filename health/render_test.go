package health

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// render is a step as scenario scripts and failing tests show it.
func (w *world) render(s step) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%-7s %3d %s\n", s.fact.Seen.Sub(w.begun), s.fact.ID, renderBody(s.fact.Container, s.fact.Attempt, s.fact.Body))
	for i, d := range s.decisions {
		line := renderBody(d.Container(), d.Attempt(), d.Body())
		fmt.Fprintf(&out, "        %3d -> %s because of %s\n", s.fact.ID+fact.ID(i)+1, line, renderIDs(d.Because()))
	}
	return out.String()
}

func renderIDs(ids []fact.ID) string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	var words []string
	for _, id := range sorted {
		words = append(words, fmt.Sprint(id))
	}
	return strings.Join(words, ", ")
}

func renderBody(container string, attempt int32, body fact.Body) string {
	who := ""
	if container != "" {
		who = fmt.Sprintf(" %s#%d", container, attempt)
	}
	return fmt.Sprintf("%s%s%s", body.Kind(), who, renderFields(body))
}

// renderFields shows what a reader of a story needs of a body.
func renderFields(body fact.Body) string {
	switch b := body.(type) {
	case fact.SpecSeen:
		return fmt.Sprintf(" generation %d", b.Object.Generation)
	case fact.SetCondition:
		c := b.Condition
		return strings.TrimRight(fmt.Sprintf(" %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message), " ")
	case fact.BackOff:
		return fmt.Sprintf(" %s %s: %s", b.What, b.Delay, b.Message)
	case fact.Kill:
		return fmt.Sprintf(" %s, grace %d s: %s", b.Reason, b.GraceSeconds, b.Message)
	case fact.Probed:
		return strings.TrimRight(fmt.Sprintf(" %s %s %s", b.Probe, b.Verdict, b.Message), " ")
	case fact.AdoptedStatus:
		return ""
	}
	data, err := json.Marshal(body)
	if err != nil || string(data) == "{}" {
		return ""
	}
	return " " + string(data)
}

// trail is the end of the journal, for failing tests.
func (w *world) trail() string {
	var out strings.Builder
	for _, s := range w.steps[max(0, len(w.steps)-40):] {
		out.WriteString(w.render(s))
	}
	return out.String()
}

// kubectl is the line that kubectl get pod would print (its STATUS column:
// kubectl's and the API server's printPod).
func kubectl(s v1.PodStatus, spec *v1.PodSpec, deleted bool) string {
	ready, restarts := 0, int32(0)
	for _, c := range s.ContainerStatuses {
		restarts += c.RestartCount
		if c.Ready && c.State.Running != nil {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d %s %d", ready, len(spec.Containers), statusWord(s, spec, deleted), restarts)
}

func statusWord(s v1.PodStatus, spec *v1.PodSpec, deleted bool) string {
	if deleted {
		return "Terminating"
	}
	if c := findCondition(s.Conditions, v1.PodInitialized); c == nil || c.Status != v1.ConditionTrue {
		if word := initWord(s, spec); word != "" {
			return word
		}
	}
	word, runs := string(s.Phase), false
	if s.Reason != "" {
		word = s.Reason
	}
	for _, c := range slices.Backward(s.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			word = c.State.Waiting.Reason
		case c.State.Terminated != nil && c.State.Terminated.Reason != "":
			word = c.State.Terminated.Reason
		case c.Ready && c.State.Running != nil:
			runs = true
		}
	}
	if word == "Completed" && runs {
		return "NotReady"
	}
	return word
}

func initWord(s v1.PodStatus, spec *v1.PodSpec) string {
	for i, c := range s.InitContainerStatuses {
		if isSidecar(&spec.InitContainers[i]) && c.Started != nil && *c.Started {
			continue
		}
		switch {
		case c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
			continue
		case c.State.Terminated != nil:
			return "Init:" + c.State.Terminated.Reason
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			return "Init:" + c.State.Waiting.Reason
		}
		return fmt.Sprintf("Init:%d/%d", i, len(spec.InitContainers))
	}
	return ""
}
