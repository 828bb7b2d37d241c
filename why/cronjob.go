package why

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// CronJobAnswer answers about a CronJob from the answer about the newest of its jobs;
// nil where it has none.
func CronJobAnswer(c *batchv1.CronJob, last *Answer, now time.Time) Answer {
	w := Workload{Subject: Subject{Kind: "CronJob", Namespace: c.Namespace, Name: c.Name, UID: c.UID}}
	a := Answer{APIVersion: APIVersion, Kind: Kind, AsOf: now, Subject: w.Subject, Journal: Coverage{Complete: true}}
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		a.add(Symptom{Kind: NotServing, Count: 1, Last: now, Text: "it makes no jobs"}, finding{
			cause: Suspended, rule: "suspended", weight: certain, text: "Its spec.suspend is true, so its controller makes no jobs until somebody sets it to false.",
			fixes: []Fix{{Text: "let it go on", Command: w.kubectl(`patch %s %s --type=merge -p '{"spec":{"suspend":false}}'`), Risk: Safe}},
		})
	}
	if last != nil {
		a.newestJob(c, last)
	} else if v := w.noJob(c); v.Cause != None {
		a.put(Symptom{Kind: Failed, Count: 1, Last: c.Status.LastScheduleTime.Time, Text: "its last job"}, v)
	} else if len(a.Symptoms) == 0 {
		a.put(Symptom{Kind: Healthy, Count: 1, Text: "no jobs"}, v)
	}
	return a
}

// newestJob takes over what is wrong with a CronJob's newest job.
func (a *Answer) newestJob(c *batchv1.CronJob, last *Answer) {
	a.Journal = last.Journal
	waits := ""
	if c.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(c.Status.Active) > 0 {
		waits = " While it is active no other is started (concurrencyPolicy Forbid)."
	}
	for i, s := range last.Symptoms {
		if v := last.Verdicts[i]; !asItShould(s, v) {
			s.Text, v.Text = "job "+last.Subject.Name+": "+s.Text, v.Text+waits
			a.put(s, v)
		}
	}
	if len(a.Symptoms) == 0 {
		f := finding{cause: None, rule: "no-symptom", weight: fair, text: fmt.Sprintf("Nothing is wrong with the newest of its jobs, %s.%s", last.Subject.Name, waits)}
		a.add(Symptom{Kind: Healthy, Count: 1, Text: "its newest job"}, f)
	}
}

// noJob says why a CronJob has none: it was not due, or keeps none.
func (w Workload) noJob(c *batchv1.CronJob) Verdict {
	due, well := c.Status.LastScheduleTime, c.Status.LastSuccessfulTime
	f := finding{cause: None, rule: "no-symptom", weight: fair, fixes: []Fix{w.describe()}}
	switch {
	case due == nil:
		f.text = fmt.Sprintf("It has made no job yet: its schedule is %q, and it is there since %s.", c.Spec.Schedule, clockWord(c.CreationTimestamp.Time))
	case well != nil && !well.Before(due):
		f.text = fmt.Sprintf("It keeps none of its jobs; the last was due at %s, and ended well.", clockWord(due.Time))
	default:
		return undecided("", "", fmt.Sprintf("Its last job was due at %s, did not end well, and is not kept: failedJobsHistoryLimit says how many are.", clockWord(due.Time)),
			nil, nil, "", w.describe())
	}
	return f.verdict("", "", nil)
}
