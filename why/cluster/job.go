package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

var job = regexp.MustCompile(`(?i)\bjobs?\b`)

// SpeaksOfJobs says whether a text may call one.
func SpeaksOfJobs(text string) bool { return job.MatchString(text) }

// CallsJob says whether a text calls a Job by its name.
func CallsJob(text, name string) bool {
	quoted := `['"]?` + regexp.QuoteMeta(name) + `['"]?`
	return regexp.MustCompile(`(?i)\bjobs?(?:\.batch)?(?:/|\s+)` + quoted + after + `|` + before + quoted + `\s+job\b`).MatchString(text)
}

// WaitsForJob words that a text shows that a Job is waited for.
func WaitsForJob(o *batchv1.Job, text string) string {
	return fmt.Sprintf("the pod waits for Job %s/%s (%s)", o.Namespace, o.Name, strings.TrimSuffix(prose.Midst(aroundJob(text, o.Name), 100), "."))
}

// aroundJob is the part of a text that calls the Job: a sentence, or a line of a command.
func aroundJob(text, name string) string {
	for _, part := range regexp.MustCompile(`\n|; | / |\. `).Split(text, -1) {
		if CallsJob(part, name) {
			return strings.TrimSpace(part)
		}
	}
	return text
}

// Completed says whether a Job has done its work.
func Completed(o *batchv1.Job) bool { return isTrue(o, batchv1.JobComplete) != nil }

// Failed is the condition of a Job that failed for good; nil where it did not.
func Failed(o *batchv1.Job) *batchv1.JobCondition { return isTrue(o, batchv1.JobFailed) }

func isTrue(o *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	return first(o.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == v1.ConditionTrue })
}

// RunsOn is the hop to a pod of a Job, of whose containers some are done and the others run on,
// and none is amiss: the Job is complete only when they end, too. v is what the one suffers from
// that waits for it, and stays what it suffers from.
func RunsOn(o *batchv1.Job, pod *v1.Pod, a *answer.Answer, v answer.Verdict) *answer.Hop {
	var done, on []string
	var last time.Time
	for _, c := range pod.Status.ContainerStatuses {
		switch ended := c.State.Terminated; {
		case ended != nil && ended.ExitCode == 0:
			done = append(done, c.Name)
			if ended.FinishedAt.After(last) {
				last = ended.FinishedAt.Time
			}
		case ended == nil && c.State.Running != nil:
			on = append(on, c.Name)
		default:
			return nil
		}
	}
	if len(done) == 0 || len(on) == 0 {
		return nil
	}
	hop := &answer.Hop{Job: Key(o), Pod: Key(pod), Cause: answer.DependencyDown}
	if v.Cause == answer.InitWaiting {
		hop.Cause = v.Cause
	}
	if i := Root(a); i >= 0 {
		ended := []answer.Cause{answer.AppExitSuccess, answer.SiblingNotReady, answer.CauseUnknown} // unknown who ended it: its exit code is 0
		if !slices.Contains(done, a.Verdicts[i].Container) || !slices.Contains(ended, a.Verdicts[i].Cause) {
			return nil
		}
		hop.Chain = a.Verdicts[i].Chain
	}
	hop.Text = fmt.Sprintf("Container %s is done (exit code 0), and container %s of the same pod still runs, %s later. Job %s is complete only when all containers of its pod have ended.",
		strings.Join(done, ", "), strings.Join(on, ", "), prose.Span(max(a.AsOf.Sub(last), 0)), hop.Job)
	hop.Fixes = []answer.Fix{
		kubectl.Inspect("see what container "+on[0]+" still does", kubectl.Command(pod.Namespace, "logs %s -c %s --tail=20", pod.Name, on[0])),
		{Text: fmt.Sprintf("if container %s only serves the others, end it by hand: the Job is then complete, and need not run again", on[0]), Command: kubectl.Command(pod.Namespace, "exec %s -c %s -- %s", pod.Name, on[0], endsItself(on[0])), Risk: answer.Restarts},
		{Text: fmt.Sprintf("for the next Job, if container %s only serves the others, make it an init container with restartPolicy Always: kubelet ends such a sidecar when the others are done", strings.Join(on, ", ")), Risk: answer.Restarts},
	}
	return hop
}

// endsItself is the command by which a container ends its main process: Istio's proxy takes a request for that.
func endsItself(container string) shell.Line {
	return prose.Whether(container == "istio-proxy", shell.Line("pilot-agent request POST quitquitquit"), shell.Line("kill 1"))
}

// KeptOpen reports in the answer about a pod of a Job that the Job is not complete because a container of the pod runs
// on. An answer about any other pod stays as it is.
func KeptOpen(a *answer.Answer, pod *v1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "Job" || pod.DeletionTimestamp != nil {
		return
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: owner.Name}}
	hop := RunsOn(job, pod, a, answer.Verdict{})
	if hop == nil {
		return
	}
	on := slices.IndexFunc(pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Running != nil })
	v := answer.Verdict{
		Cause: answer.SiblingNotReady, Certainty: answer.Recorded, Container: pod.Status.ContainerStatuses[on].Name,
		Text: hop.Text, Chain: hop.Chain, Fixes: hop.Fixes,
	}
	s := answer.Symptom{Kind: answer.NotReady, Count: 1, Last: a.AsOf, Text: "Job " + owner.Name + " is kept open"}
	if i := Root(a); i >= 0 {
		s.First = a.Symptoms[i].First
	}
	a.Symptoms, a.Verdicts = nil, nil
	a.Put(s, v)
}
