package why

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCronJob(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: dawn.Add(d)} }
	yes := true
	failed := Answer{Subject: Subject{Kind: "Job", Name: "tick-1"}}
	failed.add(Symptom{Kind: Restarted, Text: "pod tick-1-x: container t was restarted"}, finding{cause: AppExitError, text: "It ended with 1."})
	done := Answer{Subject: Subject{Kind: "Job", Name: "tick-2"}}
	done.add(Symptom{Kind: Completed}, finding{cause: RestartPolicy})
	for _, c := range []struct {
		name   string
		status batchv1.CronJobStatus
		spec   batchv1.CronJobSpec
		last   *Answer
		causes []Cause
		says   string
	}{
		{"not due yet", batchv1.CronJobStatus{}, batchv1.CronJobSpec{Schedule: "0 3 * * *"}, nil, []Cause{None}, `its schedule is "0 3 * * *"`},
		{"suspended", batchv1.CronJobStatus{}, batchv1.CronJobSpec{Suspend: &yes}, nil, []Cause{Suspended}, "kubectl -n shop patch cronjob tick"},
		{"its newest failed", batchv1.CronJobStatus{}, batchv1.CronJobSpec{}, &failed, []Cause{AppExitError}, "job tick-1: pod tick-1-x: container t"},
		{"it blocks the next", batchv1.CronJobStatus{Active: []v1.ObjectReference{{}}}, batchv1.CronJobSpec{ConcurrencyPolicy: batchv1.ForbidConcurrent}, &failed, []Cause{AppExitError}, "no other is started"},
		{"suspended, and its newest failed", batchv1.CronJobStatus{}, batchv1.CronJobSpec{Suspend: &yes}, &failed, []Cause{Suspended, AppExitError}, ""},
		{"its newest is done", batchv1.CronJobStatus{}, batchv1.CronJobSpec{}, &done, []Cause{None}, "tick-2"},
		{"it keeps none, and all is well", batchv1.CronJobStatus{LastScheduleTime: at(0), LastSuccessfulTime: at(time.Second)}, batchv1.CronJobSpec{}, nil, []Cause{None}, "ended well"},
		{"it keeps none, and the last failed", batchv1.CronJobStatus{LastScheduleTime: at(time.Minute), LastSuccessfulTime: at(0)}, batchv1.CronJobSpec{}, nil, []Cause{CauseUnknown}, "failedJobsHistoryLimit"},
	} {
		job := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tick"}, Spec: c.spec, Status: c.status}
		a := CronJobAnswer(job, c.last, dawn.Add(time.Hour))
		var causes []Cause
		for _, v := range a.Verdicts {
			causes = append(causes, v.Cause)
		}
		text := strings.Join(strings.Fields(a.Text(Style{})), " ")
		if len(causes) != len(c.causes) || causes[0] != c.causes[0] || causes[len(causes)-1] != c.causes[len(causes)-1] || !strings.Contains(text, c.says) {
			t.Errorf("%s: %v: %s", c.name, causes, text)
		}
	}
}
