package cluster

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// CronJobAnswer answers about a CronJob from the answer about the newest of its jobs;
// nil where it has none.
func CronJobAnswer(c *batchv1.CronJob, last *answer.Answer, now time.Time) answer.Answer {
	w := Workload{Subject: SubjectOf("CronJob", c), Suspended: "spec.suspend"}
	a := answer.New(w.Subject, now, answer.Coverage{Complete: true})
	if ptr.Deref(c.Spec.Suspend, false) {
		a.Put(answer.Symptom{Kind: answer.NotServing, Count: 1, Last: now, Text: "it makes no jobs"}, w.suspended("jobs"))
	}
	if last != nil {
		newestJob(&a, c, last)
	} else if v := w.noJob(c); v.Cause != answer.None {
		a.Put(answer.Symptom{Kind: answer.Failed, Count: 1, Last: c.Status.LastScheduleTime.Time, Text: "its last job"}, v)
	} else if len(a.Symptoms) == 0 {
		a.Put(answer.Symptom{Kind: answer.Healthy, Count: 1, Text: "no jobs"}, v)
	}
	return a
}

// newestJob takes over what is wrong with a CronJob's newest job.
func newestJob(a *answer.Answer, c *batchv1.CronJob, last *answer.Answer) {
	a.Journal = last.Journal
	waits := ""
	if c.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(c.Status.Active) > 0 {
		waits = " While it is active no other is started (concurrencyPolicy Forbid)."
	}
	for s, v := range last.Ill() {
		s.Text, v.Text = "job "+last.Subject.Name+": "+s.Text, v.Text+waits
		a.Put(s, v)
	}
	if len(a.Symptoms) == 0 {
		f := inferred(answer.None, "no-symptom", fmt.Sprintf("Nothing is wrong with the newest of its jobs, %s.%s", last.Subject.Name, waits))
		a.Put(answer.Symptom{Kind: answer.Healthy, Count: 1, Text: "its newest job"}, f)
	}
}

// noJob says why a CronJob has none: it was not due, or keeps none.
func (w Workload) noJob(c *batchv1.CronJob) answer.Verdict {
	due, well := c.Status.LastScheduleTime, c.Status.LastSuccessfulTime
	switch {
	case due == nil:
		return inferred(answer.None, "no-symptom", fmt.Sprintf("It has made no job yet: its schedule is %q, and it is there since %s.", c.Spec.Schedule, prose.Clock(c.CreationTimestamp.Time)), w.describe())
	case well != nil && !well.Before(due):
		return inferred(answer.None, "no-symptom", fmt.Sprintf("It keeps none of its jobs; the last was due at %s, and ended well.", prose.Clock(due.Time)), w.describe())
	}
	return unknown(fmt.Sprintf("Its last job was due at %s, did not end well, and is not kept: failedJobsHistoryLimit says how many are.", prose.Clock(due.Time)), "", w.describe())
}

// MissesRuns adds to the answer about a CronJob that it misses runs: words are those of its controller, first and last
// heard then. active is the job that keeps others from starting; empty where none does.
func MissesRuns(a *answer.Answer, active, words string, first, last time.Time) {
	w := Workload{Subject: a.Subject}
	f := unknown(fmt.Sprintf("Its controller missed runs, last at %s: %s.", prose.Clock(last), strings.TrimSuffix(prose.Brief(words, kept), ".")), "", w.describe())
	if active != "" {
		f = unknown(fmt.Sprintf("No job has been started since %s: job %s is still active, and concurrencyPolicy is Forbid.", prose.Clock(first), active),
			"Nothing shows why that job takes so long.",
			kubectl.Inspect("see what it does", kubectl.Command(a.Subject.Namespace, "logs job/%s --tail=20", active)),
			answer.Fix{Text: "if that job may be ended, delete it: runs start again at the next time", Command: kubectl.Command(a.Subject.Namespace, "delete job %s", active), Risk: answer.Restarts},
			answer.Fix{Text: "bound the time of later jobs with activeDeadlineSeconds of the job template", Command: w.kubectl("edit %s %s"), Risk: answer.Safe})
	}
	if active != "" {
		last = a.AsOf
	}
	putFirst(a, "it misses runs", f, first, last)
}

// JobRefused adds to the answer about a CronJob that the API server refuses its jobs: words are those of its controller,
// first and last heard then.
func JobRefused(a *answer.Answer, words string, first, last time.Time) {
	w := Workload{Subject: a.Subject, Refused: words, Since: first}
	f, known := w.refusal()
	if !known {
		f = unknown(fmt.Sprintf("Its controller cannot make its jobs: %s.", w.said()), "", w.describe())
	}
	putFirst(a, "it makes no jobs", f, first, last)
}

// putFirst puts a symptom of a CronJob and its verdict before those of an answer.
func putFirst(a *answer.Answer, text string, f answer.Verdict, first, last time.Time) {
	own := single(a.Subject, a.AsOf, answer.NotServing, text, f)
	own.Symptoms[0].First, own.Symptoms[0].Last = first, last
	own.Journal = a.Journal
	own.Join(a)
	*a = own
}
