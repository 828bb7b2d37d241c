package why

import (
	"slices"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// rests holds an answer's chains to be made of facts of this pod, none of them
// later than the question, and of runs that there were.
func (s *tale) rests(a answer.Answer) {
	s.t.Helper()
	h := history.New(s.key, s.facts, s.node, s.near)
	for _, v := range a.Verdicts {
		for _, l := range v.Chain {
			f, ok := h.Fact(l.Fact)
			if !ok && !slices.ContainsFunc(append(s.node, h.Kin...), func(f fact.Fact) bool { return f.ID == l.Fact }) {
				s.t.Errorf("%s rests on fact %d, which is not there", v.Cause, l.Fact)
			}
			if ok && (f.Pod != s.key || f.Seen.After(a.AsOf)) {
				s.t.Errorf("%s rests on fact %d of %s at %s", v.Cause, l.Fact, f.Pod, f.Seen)
			}
		}
	}
}

// laws holds an answer to that, and to knowing less with less evidence, and
// nothing else.
func (s *tale) laws(a answer.Answer) {
	s.t.Helper()
	s.rests(a)
	for _, kind := range evidenceKinds {
		less := without(s.facts, kind)
		if len(less) == len(s.facts) {
			continue
		}
		b := Explain(history.New(s.key, less, s.node, s.near), Options{Now: s.now})
		check(s.t, b)
		for i, v := range b.Verdicts {
			j := slices.IndexFunc(a.Symptoms, func(o answer.Symptom) bool {
				return o.Kind == b.Symptoms[i].Kind && o.Container == b.Symptoms[i].Container
			})
			if j < 0 || v.Cause == answer.CauseUnknown || v.Cause == a.Verdicts[j].Cause || a.Verdicts[j].Cause == answer.CauseUnknown || slices.Contains(lesser[kind], [2]answer.Cause{a.Verdicts[j].Cause, v.Cause}) {
				continue
			}
			s.t.Errorf("without %s it is %s (%s) in place of %s", kind, v.Cause, v.Rule, a.Verdicts[j].Cause)
		}
	}
}

// evidenceKinds are looks that may be missing: the source was not there, or the
// journal dropped them.
var evidenceKinds = []fact.Kind{"Looked", "Sampled", "AskedAgain", "ProcessEnded", "Signalled", "OOMKilled"}

// without drops all facts of a kind. Who does not hear how processes end does not
// hear it of the main process either.
func without(facts []fact.Fact, kind fact.Kind) []fact.Fact {
	var less []fact.Fact
	for _, f := range facts {
		if b, ok := f.Body.(fact.Exited); ok && kind == (fact.ProcessEnded{}).Kind() {
			b.StatusKnown, b.Signal = false, 0
			f.Body = b
		}
		if f.Body.Kind() != kind {
			less = append(less, f)
		}
	}
	return less
}

// lesser are the cases in which less evidence does give another cause, because what
// is left is true as well, only further from the root: an application that says no
// says so, whatever made it; a process that ended ended.
var lesser = map[fact.Kind][][2]answer.Cause{
	"AskedAgain": {{answer.ProbeCommandFailed, answer.AppUnhealthy}, {answer.ProbeTimeoutTooShort, answer.ProbeCommandFailed}, {answer.ProbeWrongScheme, answer.AppUnhealthy}, {answer.ProbeProtocol, answer.AppUnhealthy}, {answer.ProbeWrongScheme, answer.ProbeProtocol}, {answer.ProbeProtocol, answer.AppHang}},
	"Looked": {
		{answer.ProbeWrongPort, answer.MeshSidecarAnswered},
		{answer.AppNotListening, answer.MeshSidecarAnswered},
		{answer.AppListensElse, answer.MeshSidecarAnswered},
		{answer.DependencyDown, answer.AppUnhealthy},
		{answer.AppListensElse, answer.AppUnhealthy},  // of a command that asks where nobody listens
		{answer.AppOverloaded, answer.AppUnhealthy},   // by whose limit, only its log tells
		{answer.AppHang, answer.AppUnhealthy},         // whose failure it hands on, and what it waited for, only its log tells
		{answer.AppUnhealthy, answer.ProbeWrongPath},  // of a 404 only its log tells that it is not the path's
		{answer.AppNotListening, answer.AppUnhealthy}, // of a proxy in its place: only a look tells whose answer it is
		// What Kubernetes calls well is well where nobody looked.
		{answer.AppHang, answer.None},
		{answer.ProcessStopped, answer.None},
		{answer.AppOverloaded, answer.None},
		{answer.ChildProcessEnded, answer.None},
	},
	"Sampled": {
		{answer.AppOverloaded, answer.AppHang}, // that its workers are busy while the main process idles, only samples tell
		{answer.AppSlowStart, answer.AppUnhealthy},
		{answer.ProcessLimit, answer.AppExitError},
		{answer.CPUThrottled, answer.AppOverloaded},
		{answer.NodeCPUSaturated, answer.ProbeTimeoutTooShort},
		{answer.MemoryThrottled, answer.AppHang},
		{answer.MemoryThrottled, answer.AppOverloaded}, // what keeps it from answering, only samples tell
	},
	"Signalled": {
		{answer.KilledByOther, answer.AppExitSuccess}, {answer.KilledByOther, answer.AppExitError}, {answer.KilledByOther, answer.ChildProcessEnded}, {answer.AppCrashSignal, answer.KilledByOther},
	},
	"ProcessEnded": {{answer.ChildProcessEnded, answer.None}, {answer.ChildProcessEnded, answer.AppOverloaded}, {answer.KilledByOther, answer.ChildProcessEnded}, {answer.ChildProcessEnded, answer.AppUnhealthy}},
	"OOMKilled":    {{answer.MemoryLimitChild, answer.None}, {answer.MemoryBackedVolume, answer.MemoryLimit}, {answer.MemoryLimitChild, answer.HookFailed}, {answer.MemoryLimitChild, answer.AppUnhealthy}, {answer.MemoryLimitChild, answer.AppHang}, {answer.MemoryLimitChild, answer.ChildProcessEnded}, {answer.ProbeCommandFailed, answer.MemoryLimit}},
}
