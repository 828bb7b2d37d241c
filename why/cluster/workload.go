package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// Group answers about what stands for several pods (a deployment, a job, a node…)
// from the answers about them: which pods are out, and why each is.
func Group(subject answer.Subject, pods []answer.Answer, now time.Time) answer.Answer {
	a, unsure := answer.New(subject, now, answer.Coverage{Complete: true}), false
	for _, p := range pods {
		a.Journal.Complete = a.Journal.Complete && p.Journal.Complete
		for _, gap := range p.Journal.Gaps {
			if gap.From.IsZero() && gap.To.IsZero() && !slices.Contains(a.Journal.Gaps, gap) {
				a.Journal.Gaps = append(a.Journal.Gaps, gap) // with how little they were seen
			}
		}
		before := len(a.Symptoms)
		for i, s := range p.Symptoms {
			v := p.Verdicts[i]
			if answer.WellOrDone(s, v) {
				unsure = unsure || v.Cause == answer.None && v.Certainty == answer.Unknown
				continue
			}
			if s.Pod = p.Subject.Name; p.Subject.Namespace != subject.Namespace {
				s.Pod = p.Subject.Namespace + "/" + p.Subject.Name
			}
			s.Text = strings.TrimSuffix("pod "+s.Pod+": "+s.Text, ": ")
			a.Put(s, v)
		}
		if len(a.Symptoms) == before {
			a.Well++
		}
	}
	if len(a.Symptoms) > 0 {
		return a
	}
	a.Well = 0
	f := inferred(answer.None, "no-symptom", fmt.Sprintf("Nothing is wrong with its %s.", prose.Plural(len(pods), "pod")))
	if unsure {
		f.Certainty, f.Text = answer.Unknown, fmt.Sprintf("No problem is found with its %s, but few checks were possible.", prose.Plural(len(pods), "pod"))
	}
	a.Put(answer.Symptom{Kind: answer.Healthy, Count: len(pods), Text: prose.Plural(len(pods), "pod")}, f)
	return a
}

// LeftBehind tells of the pods of a StatefulSet that are not Ready and of another revision than it makes now: its
// controller waits until each of them is Ready before it updates it, which a correct template does not bring about
// (kubernetes.io, StatefulSets, forced rollback).
func LeftBehind(a *answer.Answer, pods []v1.Pod, w Workload) {
	if w.Revision == "" {
		return
	}
	for i := range pods {
		p := &pods[i]
		own := p.Labels[appsv1.ControllerRevisionHashLabelKey]
		if own == "" || own == w.Revision || LooksWell(p) || p.DeletionTimestamp != nil {
			continue
		}
		for j := range a.Symptoms {
			if a.Symptoms[j].Pod != p.Name {
				continue
			}
			v := &a.Verdicts[j]
			v.SayThen(fmt.Sprintf("Pod %s is still of revision %s, and the StatefulSet is at %s%s. The controller does not update the pod before it is Ready.", p.Name, own, w.Revision, otherImages(&p.Spec, &w.Template.Spec)))
			v.AddFirst(answer.Fix{Text: fmt.Sprintf("if revision %s puts that right, delete pod %s: the new one is of that revision", w.Revision, p.Name), Command: kubectl.Command(p.Namespace, "delete pod %s", p.Name), Risk: answer.Restarts})
		}
	}
}

// JobAnswer answers about a job: what its controller says of its end, and why its
// pods ended, those included that are gone: the controller deletes the pods of a job
// that took too long, or that failed while they could be restarted.
func JobAnswer(w Workload, pods []answer.Answer, now time.Time) answer.Answer {
	var there []answer.Answer
	for _, p := range pods {
		there = append(there, whileThere(p))
	}
	a, job := Group(w.Subject, there, now), w.Job
	c := Failed(job)
	switch {
	case c == nil && job.Status.CompletionTime != nil:
		return a
	case c == nil:
		return WorkloadAnswer(w, pods, now)
	}
	f := inferred(answer.RestartPolicy, "job-failed", fmt.Sprintf("The job failed for good (%s): %s.", c.Reason, strings.TrimSuffix(prose.Brief(c.Message, kept), ".")))
	switch c.Reason {
	case batchv1.JobReasonDeadlineExceeded:
		f.Cause = answer.ActiveDeadline
		if d := job.Spec.ActiveDeadlineSeconds; d != nil {
			f.Text = fmt.Sprintf("The job was active for longer than the %d s that its activeDeadlineSeconds allows, so its controller ended it and deleted its pods.", *d)
		}
		f.Fixes = []answer.Fix{{Text: "raise activeDeadlineSeconds of the job, or find out what takes so long", Risk: answer.Restarts}}
	case batchv1.JobReasonBackoffLimitExceeded:
		f.Text = "The job failed for good: its pods failed more often than its backoffLimit allows, and nothing starts another."
		f.Fixes = []answer.Fix{{Text: "fix what makes its pods fail, then create the job again; backoffLimit says how often it is tried", Risk: answer.Restarts}}
		if len(there) == 0 { // that nothing is tried any more is not why they failed
			f.Contributing = []answer.Note{{Cause: answer.RestartPolicy, Text: f.Text}}
			f.Cause, f.Certainty, f.Rule = answer.CauseUnknown, answer.Unknown, ""
			f.Text += " Why they failed is not known: they are gone, and no record of them is left."
			f.Fixes = []answer.Fix{{Text: "create the job again with restartPolicy: Never in its template, so that the pods that fail stay and can be asked about", Risk: answer.Restarts}, kubectl.Inspect("see what is left of its events", kubectl.Command(job.Namespace, "events --for job/%s", job.Name))}
		}
	}
	if c.Reason == batchv1.JobReasonBackoffLimitExceeded && a.Symptoms[0].Kind != answer.Healthy {
		for i := range a.Verdicts {
			a.Verdicts[i].Contributing = append(a.Verdicts[i].Contributing, answer.Note{Cause: answer.RestartPolicy, Text: f.Text})
		}
		return a
	}
	own := single(a.Subject, now, answer.Failed, "it failed", f)
	own.Symptoms[0].First, own.Symptoms[0].Last = c.LastTransitionTime.Time, c.LastTransitionTime.Time
	own.Join(&a)
	return own
}

// whileThere is the answer without the symptom that the pod is gone.
func whileThere(a answer.Answer) answer.Answer {
	there := a
	there.Symptoms, there.Verdicts = nil, nil
	for i, s := range a.Symptoms {
		if s.Kind != answer.Disappeared {
			there.Symptoms, there.Verdicts = append(there.Symptoms, s), append(there.Verdicts, a.Verdicts[i])
		}
	}
	return there
}

func single(subject answer.Subject, now time.Time, kind answer.SymptomKind, text string, v answer.Verdict) answer.Answer {
	a := answer.New(subject, now, answer.Coverage{Complete: true})
	a.Put(answer.Symptom{Kind: kind, Count: 1, Last: now, Text: text}, v)
	return a
}

// kept is how much of what somebody else said is repeated, in characters.
const kept = 160

// otherImages says which images a template has in the place of a pod's.
func otherImages(pod, template *v1.PodSpec) string {
	var all []string
	for _, c := range template.Containers {
		for _, own := range pod.Containers {
			if own.Name == c.Name && own.Image != c.Image {
				all = append(all, fmt.Sprintf("container %s has image %s", c.Name, c.Image))
			}
		}
	}
	return prose.Whether(len(all) > 0, ", where "+strings.Join(all, " and "), ", which has the same images")
}

// takesHold is how long a controller may take with an object that is new.
const takesHold = 30 * time.Second

// IsNew reports whether an object was made so lately that nothing follows from what is missing of it.
func IsNew(o metav1.Object, now time.Time) bool {
	return now.Sub(o.GetCreationTimestamp().Time) < takesHold
}

// WorkloadOf is a Deployment, ReplicaSet, StatefulSet, DaemonSet or Job as its object has it; of any other it has nothing.
func WorkloadOf(o metav1.Object) (w Workload) {
	is := func(kind string, wanted int, ready int32, selector *metav1.LabelSelector, template *v1.PodTemplateSpec) {
		w = Workload{Subject: SubjectOf(kind, o), Wanted: wanted, Ready: int(ready), Selector: selector, Template: template}
	}
	switch o := o.(type) {
	case *appsv1.Deployment:
		is("Deployment", Replicas(o.Spec.Replicas), o.Status.ReadyReplicas, o.Spec.Selector, &o.Spec.Template)
		w.Suspended = prose.Whether(o.Spec.Paused, "spec.paused", "")
		for _, c := range o.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == v1.ConditionTrue {
				w.Refused, w.Since = c.Message, c.LastTransitionTime.Time
			}
		}
	case *appsv1.ReplicaSet:
		is("ReplicaSet", Replicas(o.Spec.Replicas), o.Status.ReadyReplicas, o.Spec.Selector, &o.Spec.Template)
		for _, c := range o.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == v1.ConditionTrue {
				w.Refused, w.Since = c.Message, c.LastTransitionTime.Time
			}
		}
	case *appsv1.StatefulSet:
		is("StatefulSet", Replicas(o.Spec.Replicas), o.Status.ReadyReplicas, o.Spec.Selector, &o.Spec.Template)
		rolling := o.Spec.UpdateStrategy.RollingUpdate
		staged := rolling != nil && ptr.Deref(rolling.Partition, 0) > 0            // pods below it are to stay as they are
		if o.Spec.PodManagementPolicy != appsv1.ParallelPodManagement && !staged { // Parallel replaces pods that are not Ready
			w.Revision = o.Status.UpdateRevision
		}
	case *appsv1.DaemonSet:
		is("DaemonSet", int(o.Status.DesiredNumberScheduled), o.Status.NumberReady, o.Spec.Selector, &o.Spec.Template)
		if w.Wanted == 0 && o.Generation > 0 && o.Status.ObservedGeneration >= o.Generation {
			w.Nodes = wantedOfNodes(o.Spec.Template.Spec)
		}
	case *batchv1.Job:
		is("Job", -1, 0, o.Spec.Selector, &o.Spec.Template)
		w.Job, w.Suspended = o, prose.Whether(ptr.Deref(o.Spec.Suspend, false), "spec.suspend", "")
	}
	return w
}

// wantedOfNodes says in words what a pod asks of its node.
func wantedOfNodes(spec v1.PodSpec) string {
	switch {
	case len(spec.NodeSelector) > 0:
		return "the label " + strings.ReplaceAll(labels.Set(spec.NodeSelector).String(), ",", " and ")
	case spec.Affinity != nil && spec.Affinity.NodeAffinity != nil:
		return "what their nodeAffinity says"
	}
	return "a node whose taints they tolerate"
}

// IsShort reports whether the status of a workload tells of fewer Ready pods than it is to have, of a refused pod, or
// of a Job that is not done. Objects of other kinds are not short.
func IsShort(o metav1.Object) bool {
	w, own := WorkloadOf(o), metav1.GetControllerOfNoCopy(o) == nil
	switch o := o.(type) {
	case *appsv1.Deployment:
		return w.Ready < w.Wanted || w.Refused != ""
	case *appsv1.ReplicaSet:
		return own && w.Ready < w.Wanted
	case *batchv1.Job:
		return own && !Completed(o)
	case *batchv1.CronJob:
		return ptr.Deref(o.Spec.Suspend, false) || len(o.Status.Active) > 0 || o.Status.LastScheduleTime != nil && (o.Status.LastSuccessfulTime == nil || o.Status.LastSuccessfulTime.Before(o.Status.LastScheduleTime))
	}
	return w.Ready < w.Wanted
}

// TemplateOf returns the template of a workload's pods, and how many of them are Ready; nil of Jobs and other objects.
func TemplateOf(o metav1.Object) (template *v1.PodTemplateSpec, ready int) {
	if w := WorkloadOf(o); w.Wanted >= 0 {
		return w.Template, w.Ready
	}
	return nil, 0
}

// ClosedService is the hop to a Service that has no Ready pod because of what it is noted with.
func ClosedService(o *v1.Service) answer.Hop {
	return answer.Hop{
		Service: Key(o), By: "it selects no other pod that is Ready", Cause: answer.DependencyDown,
		Text: "The Service has no endpoints.",
	}
}

// LeftBadly reports whether a pod that is gone was evicted, failed, did not start or was restarted before. Who deleted one
// that was well did no harm.
func LeftBadly(a *answer.Answer) bool {
	badly := []answer.SymptomKind{answer.Evicted, answer.Failed, answer.NotStarting, answer.Restarted}
	return slices.ContainsFunc(a.Symptoms, func(s answer.Symptom) bool { return slices.Contains(badly, s.Kind) })
}
