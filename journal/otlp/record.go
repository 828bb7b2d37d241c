package otlp

import (
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"

	"whylet.dev/whylet/fact"
)

// leaving returns a fact as it leaves this node.
func (e *Exporter) leaving(f fact.Fact) fact.Fact {
	if e.options.WithValues {
		return f
	}
	return fact.Outward(f)
}

// record makes a log record of a fact. Its body is the wire form of the fact, its
// attributes are named by OpenTelemetry's conventions for Kubernetes where there
// are any. It fails on a fact that has no wire form.
func record(f fact.Fact) (*logspb.LogRecord, error) {
	body, err := f.MarshalJSON()
	if err != nil {
		return nil, err
	}
	r := &logspb.LogRecord{
		TimeUnixNano:         uint64(f.When().UnixNano()),
		ObservedTimeUnixNano: uint64(f.Seen.UnixNano()),
		SeverityNumber:       logspb.SeverityNumber_SEVERITY_NUMBER_INFO,
		SeverityText:         "INFO",
		EventName:            "whylet." + string(f.Body.Kind()),
		Body:                 text(string(body)),
	}
	if bad(f.Body) {
		r.SeverityNumber, r.SeverityText = logspb.SeverityNumber_SEVERITY_NUMBER_WARN, "WARN"
	}
	add := func(key string, value *commonpb.AnyValue) {
		r.Attributes = append(r.Attributes, &commonpb.KeyValue{Key: key, Value: value})
	}
	add("whylet.fact.id", number(int64(f.ID)))
	add("whylet.fact.kind", text(string(f.Body.Kind())))
	if len(f.Because) > 0 {
		add("whylet.fact.because", numbers(f.Because))
	}
	if f.Pod.UID != "" {
		add("k8s.namespace.name", text(f.Pod.Namespace))
		add("k8s.pod.name", text(f.Pod.Name))
		add("k8s.pod.uid", text(string(f.Pod.UID)))
	}
	if f.Container != "" {
		add("k8s.container.name", text(f.Container))
		add("k8s.container.restart_count", number(int64(f.Attempt)))
	}
	return r, nil
}

// bad says whether a fact is of something that went wrong.
func bad(body fact.Body) bool {
	switch b := body.(type) {
	case fact.Probed:
		return b.Verdict == fact.Failure || b.Verdict == fact.Unknown
	case fact.Exited:
		return b.ExitCode != 0 || b.Vanished
	case fact.HookRan:
		return b.Error != ""
	case fact.OOMKilled, fact.StartFailed, fact.ImageFailed, fact.SetUpFailed, fact.SandboxLost, fact.KillFailed,
		fact.Refused, fact.EvictionNeeded, fact.Evict, fact.BackOff, fact.Lost, fact.Signalled:
		return true
	}
	return false
}

func text(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
}

func number(n int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}}
}

func numbers(ids []fact.ID) *commonpb.AnyValue {
	all := &commonpb.ArrayValue{}
	for _, id := range ids {
		all.Values = append(all.Values, number(int64(id)))
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: all}}
}
