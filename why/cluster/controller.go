package cluster

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// Workload is what makes pods, as the API server has it.
type Workload struct {
	Subject answer.Subject
	// Wanted is how many pods there should be, negative where nobody says; Ready is how many are.
	Wanted, Ready int
	Selector      *metav1.LabelSelector
	Template      *v1.PodTemplateSpec
	// Suspended names the field that keeps its controller from making pods; empty
	// where nothing does.
	Suspended string
	// Nodes is what its pods ask of a node, where there is to be one on every node
	// that has it, and none has; empty otherwise.
	Nodes string
	// Refused is the API server's last refusal to make a pod, as the controller
	// tells it, and Since when; empty where there is none.
	Refused string
	Since   time.Time
	// Job is set for one. Revision is that of the pods which a StatefulSet makes now, where others are in its way.
	Job      *batchv1.Job
	Revision string
}

// WorkloadAnswer answers about a workload from the answers about its pods, and
// where pods are missing, from what its controller says: a pod that was never
// made is a fact of no node.
func WorkloadAnswer(w Workload, pods []answer.Answer, now time.Time) answer.Answer {
	a := Group(w.Subject, pods, now)
	well := a.Symptoms[0].Kind == answer.Healthy
	missing := w.Wanted < 0 && len(pods) == 0 || w.Wanted > len(pods) || w.Nodes != ""
	f, known := w.unmade()
	switch {
	case !missing || !known && w.Refused == "" && (!well || w.Wanted < 0):
		if well && w.Wanted == 0 && len(pods) == 0 {
			a.Verdicts[0].Text = "It is scaled to 0, so it has no pods."
			a.Verdicts[0].Fixes = []answer.Fix{{Text: "scale it up if it should serve", Command: w.kubectl("scale %s %s --replicas=1"), Risk: answer.Safe}}
		}
		if well && w.Wanted != 0 && len(pods) == 0 {
			a.Verdicts[0].Text = "It has no pods at the moment: one may be about to be made, or may have failed and been taken away."
		}
		if !well && a.Well > 0 && w.Wanted > 0 {
			a.Verdicts[0].SayThen(fmt.Sprintf("The %s.", stillServe(a.Well)))
		}
		return a // what is missing may be about to be made
	case !known && w.Refused != "":
		f = unknown(fmt.Sprintf("Its controller cannot make its pods: %s.", w.said()), "", w.describe())
	case !known:
		f = unknown("It has "+w.have(len(pods))+", and its controller does not say why it has made no more.", "", w.describe())
	}
	own := single(w.Subject, now, answer.NotServing, w.have(len(pods)), f)
	own.Symptoms[0].First = w.Since
	if well {
		return own
	}
	a.Join(&own)
	return a
}

// stillServe counts the pods of a workload that are well beside others.
func stillServe(n int) string {
	return prose.Whether(n == 1, "other pod is well and still serves", fmt.Sprintf("%d other pods are well and still serve", n))
}

func (w Workload) have(n int) string {
	return prose.Whether(w.Wanted < 0, prose.Plural(n, "pod"), fmt.Sprintf("%d of %s", n, prose.Plural(w.Wanted, "pod")))
}

// kubectl is a command about the workload; format takes its kind and its name.
func (w Workload) kubectl(format string) string {
	return kubectl.Command(w.Subject.Namespace, format, strings.ToLower(w.Subject.Kind), w.Subject.Name)
}

func (w Workload) describe() answer.Fix {
	return kubectl.Inspect("see what its controller says", w.kubectl("describe %s %s"))
}

// unmade says why its controller does not make pods, where something says so.
func (w Workload) unmade() (answer.Verdict, bool) {
	switch {
	case w.Suspended != "":
		return w.suspended("pods"), true
	case w.Nodes != "":
		return inferred(answer.NoMatchingNode, "not-scheduled", fmt.Sprintf("No node fits the pods of the DaemonSet: they ask for %s.", w.Nodes),
			answer.Fix{Text: "label the nodes on which they are to run (kubectl label node), if it is labels that they ask for", Risk: answer.Safe},
			answer.Fix{Text: "or correct what the pods' template asks for (nodeSelector, affinity, tolerations)", Command: w.kubectl("edit %s %s"), Risk: answer.Restarts},
			kubectl.Inspect("see the labels and taints of all nodes", "kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints,LABELS:.metadata.labels")), true
	}
	return w.refusal()
}

// suspended is about a field that keeps its controller from making what it makes.
func (w Workload) suspended(what string) answer.Verdict {
	return inferred(answer.Suspended, "scaled-to-zero", fmt.Sprintf("Its %s is true, so its controller makes no %s until somebody sets it to false.", w.Suspended, what),
		answer.Fix{Text: "let its controller go on", Command: w.kubectl(`patch %s %s --type=merge -p '{"spec":{"` + strings.TrimPrefix(w.Suspended, "spec.") + `":false}}'`), Risk: answer.Safe})
}

// refusals are the API server's words when it does not take a pod that a
// controller wants to make, and what they mean. The first that fits counts.
var refusals = []struct {
	says       *knowledge.Known
	cause      answer.Cause
	text, step string
	risk       answer.Risk
	// command goes with step; seeing is a step that shows more, and see its command; empty for the workload itself. Commands
	// are about NAMESPACE, WORKLOAD and the NAMED object.
	command, seeing, see string
}{
	{
		knowledge.QuotaFull, answer.InsufficientResources, "The ResourceQuota of its namespace has no room for more",
		"raise the quota; or request less in the pods' template, or delete what takes up its room", answer.Safe, "kubectl -n NAMESPACE edit resourcequota NAMED",
		"see how much of the quota is used", "kubectl -n NAMESPACE describe resourcequota",
	},
	{
		knowledge.QuotaWants, answer.SecurityRefused, "The ResourceQuota of its namespace takes only pods that say what they need",
		"set what the quota asks for in the pods' template, or defaults for the namespace in a LimitRange", answer.Restarts, editWorkload,
		"see what the quota bounds", "kubectl -n NAMESPACE describe resourcequota",
	},
	{
		knowledge.PodSecurity, answer.SecurityRefused, "The security level of its namespace does not allow its pods",
		"remove from the pods' template what it names; if the pods must have it, lower the label pod-security.kubernetes.io/enforce of the namespace", answer.Restarts, editWorkload,
		"", "",
	},
	{
		knowledge.NoServiceAccount, answer.ConfigMissing, "The ServiceAccount that its pods are to run as does not exist",
		"create the ServiceAccount; or correct serviceAccountName in the pods' template, if it is meant to be another", answer.Safe, "kubectl -n NAMESPACE create serviceaccount NAMED",
		"see which ServiceAccounts there are", "kubectl -n NAMESPACE get serviceaccounts",
	},
	{
		knowledge.NoPriorityClass, answer.ConfigMissing, "The PriorityClass that its pods name does not exist",
		"correct priorityClassName in the pods' template, or create the PriorityClass", answer.Restarts, editWorkload,
		"see which PriorityClasses there are", "kubectl get priorityclasses",
	},
	{
		knowledge.NoRuntimeClass, answer.ConfigMissing, "The RuntimeClass that its pods name does not exist",
		"correct runtimeClassName in the pods' template, or create the RuntimeClass", answer.Restarts, editWorkload,
		"see which RuntimeClasses there are", "kubectl get runtimeclasses",
	},
	{
		knowledge.NamespaceEnds, answer.Deleted, "Its namespace is being deleted",
		"see what it waits for", answer.Inspect, "kubectl get namespace NAMESPACE -o yaml", "", "",
	},
	{
		knowledge.OutOfRange, answer.SecurityRefused, "A LimitRange of its namespace does not allow what its pods ask for",
		"keep the resources in the pods' template within the bounds of the LimitRange", answer.Restarts, editWorkload,
		"see the bounds", "kubectl -n NAMESPACE describe limitrange",
	},
	{knowledge.AdmissionDenied, answer.SecurityRefused, "An admission rule does not allow its pods", asAdmitted, answer.Restarts, editWorkload, "", ""},
	{knowledge.Forbidden, answer.SecurityRefused, "The API server does not allow its pods", asAdmitted, answer.Restarts, editWorkload, "", ""},
}

const (
	editWorkload = "kubectl -n NAMESPACE edit WORKLOAD"
	asAdmitted   = "set what the admission rule asks for in the pods' template"
)

// ofJobs words a refusal for a CronJob, of which the API server refuses the Jobs.
var ofJobs = strings.NewReplacer("the pods' template", "spec.jobTemplate", "its pods", "its jobs", "only pods", "only jobs")

// refusal says why the API server did not take a pod, where its words are known.
func (w Workload) refusal() (answer.Verdict, bool) {
	for _, r := range refusals {
		if w.Refused == "" || !r.says.In(w.Refused) {
			continue
		}
		named := r.says.Slots(w.Refused)["name"]
		fill := strings.NewReplacer(" NAMED", string(shell.Linef(" %s", named)), "NAMESPACE", string(shell.Words(w.Subject.Namespace)), "WORKLOAD", string(shell.Words(strings.ToLower(w.Subject.Kind)+"/"+w.Subject.Name)))
		fix := answer.Fix{Text: r.step, Command: fill.Replace(r.command), Risk: r.risk}
		if named == "" && strings.HasSuffix(r.command, " NAMED") || w.Subject.Kind == "Job" && r.risk == answer.Restarts { // a Job's template cannot be changed
			fix.Command = ""
		}
		if w.Subject.Kind == "CronJob" {
			r.text, fix.Text = ofJobs.Replace(r.text), ofJobs.Replace(fix.Text)
		}
		see := prose.Whether(r.see != "", kubectl.Inspect(r.seeing, fill.Replace(r.see)), w.describe())
		return inferred(r.cause, "refused-at-creation", fmt.Sprintf("%s: %s.", r.text, w.said()), fix, see), true
	}
	return answer.Verdict{}, false
}

func (w Workload) said() string { return strings.TrimSuffix(prose.Brief(w.Refused, 2*kept), ".") }

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
