package fact

import (
	"bytes"
	"encoding/json"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/redact"
)

// Redacted returns a fact as it is written: without the secrets in what programs said and in what probes
// asked and got. A pod's object, its status and its termination messages stay, because a node restores
// them from its journal. The fact itself is not changed.
func Redacted(f Fact) Fact {
	switch b := f.Body.(type) {
	case SpecSeen, AdoptedStatus, StatusSeen, ConditionsSeen, Checkpoint, Foreign, Exited, TimePassed, Sampled:
		return f
	case Probed:
		if b.Verdict == Success && (b.Evidence == nil || b.Evidence.Output == "") {
			return f // thousands a second, with nothing that anybody said
		}
	}
	if _, observed := f.Body.(Observed); observed {
		f.Body = redact.Strings(f.Body)
	}
	return f
}

// RedactedBeside returns a fact as an agent writes it that only watches: as [Redacted], and without the
// secrets of statuses and termination messages, which nobody restores there.
func RedactedBeside(f Fact) Fact {
	switch f.Body.(type) {
	case StatusSeen, ConditionsSeen, Exited:
		f.Body = redact.Strings(f.Body)
		return f
	}
	return Redacted(f)
}

// NotKept stands in an object's place for a value that does not leave the node.
const NotKept = "[not kept]"

// Outward returns a fact as it leaves the node: without secrets, and without what people set in a pod's
// object: the values of variables and headers. Their names and references stay. The fact itself is not
// changed.
func Outward(f Fact) Fact {
	switch b := f.Body.(type) {
	case SpecSeen:
		b.Object = WithoutValues(b.Object)
		f.Body = redact.Strings(b)
	case Checkpoint:
		f.Body = Checkpoint{State: outwardJSON(b.State), Node: outwardJSON(b.Node)}
	case Foreign:
		f.Body = Foreign{Name: b.Name, Raw: outwardJSON(b.Raw)}
	case Act:
		if inner, ok := b.Body.(foreignAct); ok {
			b.Body = foreignAct{Foreign{Name: inner.Name, Raw: outwardJSON(inner.Raw)}}
		}
		f.Body = redact.Strings(b)
	default:
		f.Body = redact.Strings(f.Body)
	}
	return f
}

// AllOutward returns facts as they leave the node, in a new slice.
func AllOutward(facts []Fact) []Fact {
	out := make([]Fact, len(facts))
	for i, f := range facts {
		out[i] = Outward(f)
	}
	return out
}

// IstioProbers is the variable in which Istio keeps the probes that it has rewritten: the only record of what
// a probe asks in the end.
const IstioProbers = "ISTIO_KUBE_APP_PROBERS"

// WithoutValues returns a copy of a pod without the values of its variables and headers, without the
// secrets in its commands, and without the copy of itself that kubectl apply keeps. nil stays nil.
func WithoutValues(pod *v1.Pod) *v1.Pod {
	if pod == nil {
		return nil
	}
	pod = pod.DeepCopy()
	delete(pod.Annotations, v1.LastAppliedConfigAnnotation)
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			withoutValues(&list[i])
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		c := v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		withoutValues(&c)
		pod.Spec.EphemeralContainers[i].EphemeralContainerCommon = v1.EphemeralContainerCommon(c)
	}
	return pod
}

func withoutValues(c *v1.Container) {
	for i, e := range c.Env {
		if e.Value != "" && e.Name != IstioProbers {
			c.Env[i].Value = NotKept
		}
	}
	c.Command, c.Args = split(redact.Args(append(append([]string{}, c.Command...), c.Args...)), len(c.Command))
	for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil {
			withoutHandlerValues(p.Exec, p.HTTPGet)
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*v1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				withoutHandlerValues(h.Exec, h.HTTPGet)
			}
		}
	}
}

// split parts a list; what is empty stays nil, as it was.
func split(all []string, at int) (first, rest []string) {
	if at > 0 {
		first = all[:at:at]
	}
	if at < len(all) {
		rest = all[at:]
	}
	return first, rest
}

func withoutHandlerValues(e *v1.ExecAction, g *v1.HTTPGetAction) {
	if e != nil {
		e.Command = redact.Args(e.Command)
	}
	if g != nil {
		for i := range g.HTTPHeaders {
			g.HTTPHeaders[i].Value = NotKept
		}
	}
}

// outwardJSON is raw JSON as it leaves the node; null where it is none.
func outwardJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return json.RawMessage("null")
	}
	out, err := json.Marshal(outwardValue("", v))
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}

// outwardValue is what a field of a name is set to, as it leaves the node.
func outwardValue(name string, v any) any {
	switch v := v.(type) {
	case string:
		return redact.Text(v)
	case []any:
		return outwardList(name, v)
	case map[string]any:
		delete(v, v1.LastAppliedConfigAnnotation)
		for key, of := range v {
			if text, ok := of.(string); ok {
				v[key] = redact.Value(key, text)
			} else {
				v[key] = outwardValue(key, of)
			}
		}
	}
	return v
}

func outwardList(name string, list []any) []any {
	args := make([]string, 0, len(list))
	for i, of := range list {
		switch of := of.(type) {
		case string:
			args = append(args, of)
		case map[string]any:
			if value, has := of["value"].(string); has && value != "" && (name == "env" && of["name"] != IstioProbers || name == "httpHeaders") {
				of["value"] = NotKept
			}
		}
		list[i] = outwardValue(name, of)
	}
	if (name == "command" || name == "args") && len(args) == len(list) {
		for i, arg := range redact.Args(args) {
			list[i] = arg
		}
	}
	return list
}
