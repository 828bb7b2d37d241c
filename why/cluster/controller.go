package cluster

import (
	"fmt"
	"strings"
	"time"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// Workload is what makes pods, as the API server has it.
type Workload struct {
	Subject answer.Subject
	// Wanted is how many pods there should be; negative where nobody says.
	Wanted int
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
	if n == 1 {
		return "other pod is well and still serves"
	}
	return fmt.Sprintf("%d other pods are well and still serve", n)
}

func (w Workload) have(n int) string {
	if w.Wanted < 0 {
		return prose.Plural(n, "pod")
	}
	return fmt.Sprintf("%d of %s", n, prose.Plural(w.Wanted, "pod"))
}

// kubectl is a command about the workload; format takes its kind and its name.
func (w Workload) kubectl(format string) string {
	return kubectl.Command(w.Subject.Namespace, format, strings.ToLower(w.Subject.Kind), w.Subject.Name)
}

func (w Workload) describe() answer.Fix {
	return answer.Fix{Text: "see what its controller says", Command: w.kubectl("describe %s %s"), Risk: answer.Inspect}
}

// unmade says why its controller does not make pods, where something says so.
func (w Workload) unmade() (answer.Verdict, bool) {
	switch {
	case w.Suspended != "":
		return answer.Verdict{
			Cause: answer.Suspended, Rule: "scaled-to-zero", Certainty: answer.Inferred,
			Text:  fmt.Sprintf("Its %s is true, so its controller makes no pods until somebody sets it to false.", w.Suspended),
			Fixes: []answer.Fix{{Text: "let its controller go on", Command: w.kubectl("patch %s %s --type=merge -p '{\"spec\":{\"" + strings.TrimPrefix(w.Suspended, "spec.") + "\":false}}'"), Risk: answer.Safe}},
		}, true
	case w.Nodes != "":
		return answer.Verdict{
			Cause: answer.NoMatchingNode, Rule: "not-scheduled", Certainty: answer.Inferred,
			Text:  fmt.Sprintf("No node fits the pods of the DaemonSet: they ask for %s.", w.Nodes),
			Fixes: []answer.Fix{{Text: "add a toleration to the pods' template, or correct the labels that it asks for; or label a node", Command: w.kubectl("edit %s %s"), Risk: answer.Restarts}, {Text: "see the labels and taints of all nodes", Command: "kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints,LABELS:.metadata.labels", Risk: answer.Inspect}},
		}, true
	}
	return w.refusal()
}

// refusals are the API server's words when it does not take a pod that a
// controller wants to make, and what they mean. The first that fits counts.
var refusals = []struct {
	says  *knowledge.Known
	cause answer.Cause
	text  string
	fix   answer.Fix
	// command goes with fix, and see after it: about NAMESPACE, WORKLOAD and the NAMED object.
	command string
	see     answer.Fix
}{
	{
		knowledge.QuotaFull,
		answer.InsufficientResources, "The ResourceQuota of its namespace has no room for more",
		answer.Fix{Text: "raise the quota; or request less in the pods' template, or delete what takes up its room", Risk: answer.Safe},
		"kubectl -n NAMESPACE edit resourcequota NAMED",
		answer.Fix{Text: "see how much of the quota is used", Command: "kubectl -n NAMESPACE describe resourcequota", Risk: answer.Inspect},
	},
	{
		knowledge.QuotaWants,
		answer.SecurityRefused, "The ResourceQuota of its namespace takes only pods that say what they need",
		answer.Fix{Text: "set what the quota asks for in the pods' template, or defaults for the namespace in a LimitRange", Risk: answer.Restarts},
		"kubectl -n NAMESPACE edit WORKLOAD",
		answer.Fix{Text: "see what the quota bounds", Command: "kubectl -n NAMESPACE describe resourcequota", Risk: answer.Inspect},
	},
	{
		knowledge.PodSecurity,
		answer.SecurityRefused, "The security level of its namespace does not allow its pods",
		answer.Fix{Text: "remove from the pods' template what it names; if the pods must have it, lower the label pod-security.kubernetes.io/enforce of the namespace", Risk: answer.Restarts},
		"kubectl -n NAMESPACE edit WORKLOAD",
		answer.Fix{},
	},
	{
		knowledge.NoServiceAccount,
		answer.ConfigMissing, "The ServiceAccount that its pods are to run as does not exist",
		answer.Fix{Text: "create the ServiceAccount; or correct serviceAccountName in the pods' template, if it is meant to be another", Risk: answer.Safe},
		"kubectl -n NAMESPACE create serviceaccount NAMED",
		answer.Fix{Text: "see which ServiceAccounts there are", Command: "kubectl -n NAMESPACE get serviceaccounts", Risk: answer.Inspect},
	},
	{
		knowledge.NoPriorityClass,
		answer.ConfigMissing, "The PriorityClass that its pods name does not exist",
		answer.Fix{Text: "correct priorityClassName in the pods' template, or create the PriorityClass", Risk: answer.Restarts},
		"kubectl -n NAMESPACE edit WORKLOAD",
		answer.Fix{Text: "see which PriorityClasses there are", Command: "kubectl get priorityclasses", Risk: answer.Inspect},
	},
	{
		knowledge.NoRuntimeClass,
		answer.ConfigMissing, "The RuntimeClass that its pods name does not exist",
		answer.Fix{Text: "correct runtimeClassName in the pods' template, or create the RuntimeClass", Risk: answer.Restarts},
		"kubectl -n NAMESPACE edit WORKLOAD",
		answer.Fix{Text: "see which RuntimeClasses there are", Command: "kubectl get runtimeclasses", Risk: answer.Inspect},
	},
	{
		knowledge.NamespaceEnds,
		answer.Deleted, "Its namespace is being deleted",
		answer.Fix{Text: "see what it waits for", Risk: answer.Inspect},
		"kubectl get namespace NAMESPACE -o yaml",
		answer.Fix{},
	},
	{
		knowledge.OutOfRange,
		answer.SecurityRefused, "A LimitRange of its namespace does not allow what its pods ask for",
		answer.Fix{Text: "keep the resources in the pods' template within the bounds of the LimitRange", Risk: answer.Restarts},
		"kubectl -n NAMESPACE edit WORKLOAD",
		answer.Fix{Text: "see the bounds", Command: "kubectl -n NAMESPACE describe limitrange", Risk: answer.Inspect},
	},
	{
		knowledge.AdmissionDenied,
		answer.SecurityRefused, "An admission rule does not allow its pods",
		answer.Fix{Text: "set what the admission rule asks for in the pods' template", Risk: answer.Restarts},
		"kubectl -n NAMESPACE edit WORKLOAD",
		answer.Fix{},
	},
	{
		knowledge.Forbidden,
		answer.SecurityRefused, "The API server does not allow its pods",
		answer.Fix{Text: "set what the admission rule asks for in the pods' template", Risk: answer.Restarts},
		"kubectl -n NAMESPACE edit WORKLOAD",
		answer.Fix{},
	},
}

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
		if r.fix.Command = fill.Replace(r.command); named == "" && strings.HasSuffix(r.command, " NAMED") {
			r.fix.Command = ""
		}
		if w.Subject.Kind == "Job" && r.fix.Risk == answer.Restarts {
			r.fix.Command = "" // a Job's template cannot be changed
		}
		if w.Subject.Kind == "CronJob" {
			r.text, r.fix.Text = ofJobs.Replace(r.text), ofJobs.Replace(r.fix.Text)
		}
		return answer.Verdict{
			Cause: r.cause, Rule: "refused-at-creation", Certainty: answer.Inferred,
			Text:  fmt.Sprintf("%s: %s.", r.text, w.said()),
			Fixes: append([]answer.Fix{r.fix}, w.orDescribe(r.see, fill)...),
		}, true
	}
	return answer.Verdict{}, false
}

// orDescribe returns a step that shows more, filled in, or that shows the workload itself where there is none.
func (w Workload) orDescribe(see answer.Fix, fill *strings.Replacer) []answer.Fix {
	if see.Command == "" {
		return []answer.Fix{w.describe()}
	}
	see.Command = fill.Replace(see.Command)
	return []answer.Fix{see}
}

func (w Workload) said() string { return strings.TrimSuffix(prose.Brief(w.Refused, 2*kept), ".") }
