package cluster

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

func TestCronJob(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: dawn.Add(d)} }
	yes := true
	failed := answer.Answer{Subject: answer.Subject{Kind: "Job", Name: "tick-1"}}
	failed.Put(answer.Symptom{Kind: answer.Restarted, Text: "pod tick-1-x: container t was restarted"}, answer.Verdict{Cause: answer.AppExitError, Text: "It ended with 1."})
	done := answer.Answer{Subject: answer.Subject{Kind: "Job", Name: "tick-2"}}
	done.Put(answer.Symptom{Kind: answer.Completed}, answer.Verdict{Cause: answer.RestartPolicy})
	for _, c := range []struct {
		name   string
		status batchv1.CronJobStatus
		spec   batchv1.CronJobSpec
		last   *answer.Answer
		causes []answer.Cause
		says   string
	}{
		{"not due yet", batchv1.CronJobStatus{}, batchv1.CronJobSpec{Schedule: "0 3 * * *"}, nil, []answer.Cause{answer.None}, `its schedule is "0 3 * * *"`},
		{"suspended", batchv1.CronJobStatus{}, batchv1.CronJobSpec{Suspend: &yes}, nil, []answer.Cause{answer.Suspended}, "kubectl -n shop patch cronjob tick"},
		{"its newest failed", batchv1.CronJobStatus{}, batchv1.CronJobSpec{}, &failed, []answer.Cause{answer.AppExitError}, "job tick-1: pod tick-1-x: container t"},
		{"it blocks the next", batchv1.CronJobStatus{Active: []v1.ObjectReference{{}}}, batchv1.CronJobSpec{ConcurrencyPolicy: batchv1.ForbidConcurrent}, &failed, []answer.Cause{answer.AppExitError}, "no other is started"},
		{"suspended, and its newest failed", batchv1.CronJobStatus{}, batchv1.CronJobSpec{Suspend: &yes}, &failed, []answer.Cause{answer.Suspended, answer.AppExitError}, ""},
		{"its newest is done", batchv1.CronJobStatus{}, batchv1.CronJobSpec{}, &done, []answer.Cause{answer.None}, "tick-2"},
		{"it keeps none, and all is well", batchv1.CronJobStatus{LastScheduleTime: at(0), LastSuccessfulTime: at(time.Second)}, batchv1.CronJobSpec{}, nil, []answer.Cause{answer.None}, "ended well"},
		{"it keeps none, and the last failed", batchv1.CronJobStatus{LastScheduleTime: at(time.Minute), LastSuccessfulTime: at(0)}, batchv1.CronJobSpec{}, nil, []answer.Cause{answer.CauseUnknown}, "failedJobsHistoryLimit"},
	} {
		job := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tick"}, Spec: c.spec, Status: c.status}
		a := CronJobAnswer(job, c.last, dawn.Add(time.Hour))
		var causes []answer.Cause
		for _, v := range a.Verdicts {
			causes = append(causes, v.Cause)
		}
		text := strings.Join(strings.Fields(a.Text(answer.Style{})), " ")
		if len(causes) != len(c.causes) || causes[0] != c.causes[0] || causes[len(causes)-1] != c.causes[len(causes)-1] || !strings.Contains(text, c.says) {
			t.Errorf("%s: %v: %s", c.name, causes, text)
		}
	}
}
