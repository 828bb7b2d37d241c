package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Group answers about what stands for several pods (a deployment, a job, a node…)
// from the answers about them: which pods are out, and why each is.
func Group(subject Subject, pods []Answer, now time.Time) Answer {
	a := Answer{APIVersion: APIVersion, Kind: Kind, AsOf: now, Subject: subject, Journal: Coverage{Complete: true}}
	for _, p := range pods {
		a.Journal.Complete = a.Journal.Complete && p.Journal.Complete
		for i, s := range p.Symptoms {
			v := p.Verdicts[i]
			if s.Kind == Healthy && v.Cause == None || s.Kind == Completed {
				continue
			}
			s.Text = strings.TrimSuffix("pod "+p.Subject.Name+": "+s.Text, ": ")
			a.put(s, v)
		}
	}
	if len(a.Symptoms) > 0 {
		return a
	}
	f := finding{cause: None, rule: "no-symptom", weight: fair, text: fmt.Sprintf("Nothing is wrong with its %s.", plural(len(pods), "pod"))}
	a.add(Symptom{Kind: Healthy, Count: len(pods), Text: plural(len(pods), "pod")}, f)
	return a
}

// Workload answers about what should have so many pods. refused is what the API
// server said when its controller wanted to create one, "" where it said nothing.
func Workload(subject Subject, wanted int, refused string, pods []Answer, now time.Time) Answer {
	a := Group(subject, pods, now)
	if wanted <= len(pods) {
		return a
	}
	what := fmt.Sprintf("%s wanted, and %s.", areWanted(wanted), thereAre(len(pods)))
	see := Fix{Text: "see what its controller says", Command: fmt.Sprintf("kubectl -n %s describe %s %s", subject.Namespace, strings.ToLower(subject.Kind), subject.Name), Risk: Inspect}
	v := undecided("", "", what+" Its controller has not made the others, which no node can know of.", nil, nil, "", see)
	if f, ok := refusedFinding(refused); ok {
		f.text = what + " " + f.text
		f.fixes = append(f.fixes, see)
		v = f.verdict("", "", nil)
	} else if a.Symptoms[0].Kind != Healthy {
		return a // it may be about to make them; those that are there tell more
	}
	if a.Symptoms[0].Kind == Healthy {
		a.Symptoms, a.Verdicts = nil, nil
	}
	a.put(Symptom{Kind: NotServing, Count: wanted - len(pods), Last: now, Text: plural(wanted-len(pods), "pod") + " could not be made"}, v)
	return a
}

// refusals are the API server's own words when a pod may not be created, by what
// is to be done about them: of its admission plugins (resourcequota, serviceaccount,
// priority, podsecurity, limitranger) and of webhooks.
var refusals = []struct {
	words []string
	cause Cause
	text  string
	fix   string
}{
	{[]string{"exceeded quota"}, InsufficientResources, "The namespace's ResourceQuota has no room for more", "raise the quota, request less, or remove what is not needed (kubectl describe quota)"},
	{[]string{"error looking up service account", "no PriorityClass with name", `RuntimeClass "`}, ConfigMissing, "Its pods name something that does not exist", "create it, or name another in the pod's template"},
	{[]string{"violates PodSecurity", "denied the request", "is forbidden", "failed quota"}, SecurityRefused, "An admission rule forbids its pods", "change the pod's template so that the rule allows it, or the rule"},
}

// refusedFinding is why a controller could not create pods.
func refusedFinding(said string) (finding, bool) {
	for _, r := range refusals {
		if slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(said, w) }) {
			return finding{
				cause: r.cause, rule: "refused-at-creation", weight: strong,
				text:  fmt.Sprintf("%s: %s.", r.text, strings.TrimSuffix(brief(said, 300), ".")),
				fixes: []Fix{{Text: r.fix, Risk: Restarts}},
			}, true
		}
	}
	return finding{}, false
}

func areWanted(n int) string {
	if n == 1 {
		return "1 pod is"
	}
	return fmt.Sprintf("%d pods are", n)
}

// JobAnswer answers about a job: what its controller says of its end, and why its
// pods ended. The controller deletes the pods of a job that took too long.
func JobAnswer(job *batchv1.Job, pods []Answer, now time.Time) Answer {
	a := Group(Subject{Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID}, pods, now)
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == v1.ConditionTrue
	})
	if i < 0 {
		return a
	}
	c := job.Status.Conditions[i]
	f := finding{cause: RestartPolicy, rule: "job-failed", weight: strong, text: fmt.Sprintf("The job failed for good (%s): %s.", c.Reason, strings.TrimSuffix(brief(c.Message, kept), "."))}
	switch c.Reason {
	case batchv1.JobReasonDeadlineExceeded:
		f.cause = ActiveDeadline
		if d := job.Spec.ActiveDeadlineSeconds; d != nil {
			f.text = fmt.Sprintf("The job was active for longer than the %d s that its activeDeadlineSeconds allows, so its controller ended it and deleted its pods.", *d)
		}
		f.fixes = []Fix{{Text: "raise activeDeadlineSeconds of the job, or find out what takes so long", Risk: Restarts}}
	case batchv1.JobReasonBackoffLimitExceeded:
		f.text = "The job failed for good: its pods failed more often than its backoffLimit allows, and nothing starts another."
		f.fixes = []Fix{{Text: "mend what its pods fail of, then create the job anew; backoffLimit says how often it is tried", Risk: Restarts}}
	}
	if c.Reason == batchv1.JobReasonBackoffLimitExceeded && a.Symptoms[0].Kind != Healthy {
		for i := range a.Verdicts {
			a.Verdicts[i].Contributing = append(a.Verdicts[i].Contributing, Note{Cause: RestartPolicy, Text: f.text})
		}
		return a
	}
	own := single(a.Subject, now, Failed, "it failed", f)
	own.Symptoms[0].First, own.Symptoms[0].Last = c.LastTransitionTime.Time, c.LastTransitionTime.Time
	if a.Symptoms[0].Kind == Healthy {
		return own
	}
	for i := range a.Symptoms {
		id := fmt.Sprintf("s%d", i+2)
		a.Symptoms[i].ID, a.Verdicts[i].Symptom = id, id
	}
	a.Symptoms, a.Verdicts = append(own.Symptoms, a.Symptoms...), append(own.Verdicts, a.Verdicts...)
	return a
}

func thereAre(n int) string {
	if n == 1 {
		return "there is 1"
	}
	return fmt.Sprintf("there are %d", n)
}

// ServiceAnswer says why a Service has no endpoints, or why some of its pods are
// not among them. candidates are the pods of its namespace, answers those about
// the pods that it selects.
func ServiceAnswer(service *v1.Service, candidates []v1.Pod, answers []Answer, now time.Time) Answer {
	subject := Subject{Kind: "Service", Namespace: service.Namespace, Name: service.Name, UID: service.UID}
	selected := Selected(service, candidates)
	switch {
	case len(service.Spec.Selector) == 0:
		return single(subject, now, Healthy, "it has no selector", finding{cause: None, rule: "no-selector", weight: fair, text: "The Service has no selector: somebody else makes its endpoints."})
	case len(selected) == 0:
		return single(subject, now, NotServing, "it has no endpoints", selectorFinding(service, candidates))
	}
	if f, ok := portFinding(service, selected); ok {
		return single(subject, now, NotServing, "its port leads nowhere", f)
	}
	if f, ok := nobodyListens(service, selected, answers); ok {
		return single(subject, now, NotServing, "its port leads nowhere", f)
	}
	return Group(subject, answers, now)
}

func single(subject Subject, now time.Time, kind SymptomKind, text string, f finding) Answer {
	return Answer{
		APIVersion: APIVersion, Kind: Kind, AsOf: now, Subject: subject, Journal: Coverage{Complete: true},
		Symptoms: []Symptom{{ID: "s1", Kind: kind, Count: 1, Last: now, Text: text}},
		Verdicts: []Verdict{f.verdict("s1", "", nil)},
	}
}

// Selected are the pods that a Service selects.
func Selected(service *v1.Service, pods []v1.Pod) []v1.Pod {
	if len(service.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	return slices.DeleteFunc(slices.Clone(pods), func(p v1.Pod) bool { return !selector.Matches(labels.Set(p.Labels)) })
}

// selectorFinding says which part of the selector no pod has.
func selectorFinding(service *v1.Service, pods []v1.Pod) finding {
	f := finding{cause: SelectorMismatch, rule: "selector", weight: certain}
	f.text = fmt.Sprintf("The Service selects %s, and no pod of namespace %s has these labels.", labels.Set(service.Spec.Selector), service.Namespace)
	for k, want := range service.Spec.Selector {
		var values []string
		for _, p := range pods {
			if v, ok := p.Labels[k]; ok && v != want && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		if len(values) > 0 {
			f.text += fmt.Sprintf(" It wants %s=%s; there are pods with %s=%s.", k, want, k, strings.Join(values[:min(len(values), 5)], ", "))
		}
	}
	space := "kubectl -n " + service.Namespace
	f.fixes = []Fix{
		{Text: "compare the labels of the pods", Command: space + " get pods --show-labels", Risk: Inspect},
		{Text: "correct the selector of the Service, or the labels of the pods' template", Command: space + " edit service " + service.Name, Risk: Safe},
	}
	return f
}

// portFinding says which target port no selected pod serves: a name that none of
// them has, or a number where they all declare others.
func portFinding(service *v1.Service, pods []v1.Pod) (finding, bool) {
	for _, port := range service.Spec.Ports {
		target := port.TargetPort
		if target.Type == intstr.Int && target.IntVal == 0 {
			target = intstr.FromInt32(port.Port)
		}
		declared, served := portsOf(pods, target)
		if served || len(declared) == 0 && target.Type == intstr.Int {
			continue
		}
		f := finding{cause: ServicePortMismatch, rule: "target-port", weight: strong}
		f.text = fmt.Sprintf("Port %d of the Service goes to port %s of its pods, which none of them declares", port.Port, target.String())
		if len(declared) > 0 {
			f.text += "; they declare " + strings.Join(declared, ", ")
		}
		f.text += "."
		f.fixes = []Fix{{Text: "correct targetPort", Command: fmt.Sprintf("kubectl -n %s edit service %s", service.Namespace, service.Name), Risk: Safe}}
		return f, true
	}
	return finding{}, false
}

func portsOf(pods []v1.Pod, target intstr.IntOrString) (declared []string, served bool) {
	for _, p := range pods {
		for _, c := range append(slices.Clone(p.Spec.InitContainers), p.Spec.Containers...) {
			for _, port := range c.Ports {
				if target.Type == intstr.String && port.Name == target.StrVal || target.Type == intstr.Int && port.ContainerPort == target.IntVal {
					return nil, true
				}
				word := fmt.Sprint(port.ContainerPort)
				if port.Name != "" {
					word += " (" + port.Name + ")"
				}
				if !slices.Contains(declared, word) {
					declared = append(declared, word)
				}
			}
		}
	}
	return declared, false
}
