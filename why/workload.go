package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
)

// Group answers about what stands for several pods (a deployment, a job, a node…)
// from the answers about them: which pods are out, and why each is.
func Group(subject Subject, pods []Answer, now time.Time) Answer {
	a := Answer{APIVersion: APIVersion, Kind: Kind, AsOf: now, Subject: subject, Journal: Coverage{Complete: true}}
	for _, p := range pods {
		a.Journal.Complete = a.Journal.Complete && p.Journal.Complete
		before := len(a.Symptoms)
		for i, s := range p.Symptoms {
			v := p.Verdicts[i]
			if asItShould(s, v) {
				continue
			}
			if s.Pod = p.Subject.Name; p.Subject.Namespace != subject.Namespace {
				s.Pod = p.Subject.Namespace + "/" + p.Subject.Name
			}
			s.Text = strings.TrimSuffix("pod "+s.Pod+": "+s.Text, ": ")
			a.put(s, v)
		}
		if len(a.Symptoms) == before {
			a.Well++
		}
	}
	if len(a.Symptoms) > 0 {
		return a
	}
	a.Well = 0
	f := finding{cause: None, rule: "no-symptom", weight: fair, text: fmt.Sprintf("Nothing is wrong with its %s.", plural(len(pods), "pod"))}
	a.add(Symptom{Kind: Healthy, Count: len(pods), Text: plural(len(pods), "pod")}, f)
	return a
}

// asItShould says whether a symptom asks for nobody: all is well, or the work is done.
func asItShould(s Symptom, v Verdict) bool {
	return s.Kind == Healthy && v.Cause == None || s.Kind == Completed && v.Cause == RestartPolicy
}

// JobAnswer answers about a job: what its controller says of its end, and why its
// pods ended, those included that are gone: the controller deletes the pods of a job
// that took too long, or that failed while they could be restarted.
func JobAnswer(job *batchv1.Job, w Workload, pods []Answer, now time.Time) Answer {
	var there []Answer
	for _, p := range pods {
		there = append(there, p.whileThere())
	}
	a := Group(w.Subject, there, now)
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == v1.ConditionTrue
	})
	switch {
	case i < 0 && job.Status.CompletionTime != nil:
		return a
	case i < 0:
		return WorkloadAnswer(w, pods, now)
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
	own.join(&a)
	return own
}

// whileThere is the answer without the symptom that the pod is gone.
func (a Answer) whileThere() Answer {
	there := a
	there.Symptoms, there.Verdicts = nil, nil
	for i, s := range a.Symptoms {
		if s.Kind != Disappeared {
			there.Symptoms, there.Verdicts = append(there.Symptoms, s), append(there.Verdicts, a.Verdicts[i])
		}
	}
	return there
}

func single(subject Subject, now time.Time, kind SymptomKind, text string, f finding) Answer {
	return Answer{
		APIVersion: APIVersion, Kind: Kind, AsOf: now, Subject: subject, Journal: Coverage{Complete: true},
		Symptoms: []Symptom{{ID: "s1", Kind: kind, Count: 1, Last: now, Text: text}},
		Verdicts: []Verdict{f.verdict("s1", "", nil)},
	}
}
