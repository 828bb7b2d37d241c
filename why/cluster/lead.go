package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// HopOf is the hop to a Service or pod about which an answer was given; nil where nothing is wrong there.
func HopOf(service, pod, by string, a *answer.Answer) *answer.Hop {
	i := Root(a)
	if i < 0 || a.Verdicts[i].Cause == answer.CauseUnknown {
		return nil
	}
	v := a.Verdicts[i]
	return &answer.Hop{Service: service, Pod: pod, By: by, Cause: v.Cause, Text: v.Text, Told: v.Told, Chain: v.Chain, Fixes: v.Fixes}
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
	own := answer.Hop{Pod: pod.Namespace + "/" + pod.Name, By: there.By, Cause: v.Cause, Text: prose.Upper(cmp.Or(s.Text, string(s.Kind))) + "."}
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
	v.AddFirst(kubectl.Why("see what is known of it", kind, space, name))
}

// Answers says whether a fact of a verdict's chain is an answer with an HTTP status.
func Answers(v answer.Verdict, id fact.ID) bool {
	return slices.ContainsFunc(v.Chain, func(l answer.Link) bool { return l.Fact == id && l.Status != 0 })
}

// Behind adds to a verdict of one that hands on an answer whose that is by its configuration;
// well is set where the pods there are ready, which one that says that nobody is there does not
// see.
func Behind(v *answer.Verdict, where, space, name string, well bool) {
	is := prose.Whether(well, ", and its pods are ready", "")
	v.SayBecause(fmt.Sprintf("Behind it is Service %s/%s (%s)%s.", space, name, where, is))
	fix := kubectl.Why("see what is known of whom it asks", "svc", space, name)
	if well && status(*v) == 503 {
		fix.Text = "compare what its own health check asks there, and the addresses that it knows, with what is there"
	}
	v.Fixes = append(slices.Clip(v.Fixes), fix)
}

// Asked adds to a verdict of one that answers with a failure whom it asks.
func Asked(v *answer.Verdict, space, name string, well bool) {
	is := prose.Whether(well, ", whose pods are ready", "")
	v.SayBecause(fmt.Sprintf("It asks Service %s/%s%s.", space, name, is))
	v.Fixes = append(slices.Clip(v.Fixes), kubectl.Why("see what is known of whom it asks", "svc", space, name))
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
