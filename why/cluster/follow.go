package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// leads are the causes that may be the effect of another pod's trouble.
var leads = []answer.Cause{
	answer.DependencyDown, answer.AppUnhealthy, answer.AppHang, answer.AppOverloaded, answer.ProbeTimeoutTooShort, answer.ProbeCommandFailed,
	answer.AppNotListening, answer.AppExitError, answer.AppExitSuccess, answer.InitWaiting, answer.InitFailed, answer.CauseUnknown,
}

// MayLead says whether a verdict may be the effect of another pod's trouble.
func MayLead(v answer.Verdict) bool {
	if answersFull(v) && v.Pod == "" {
		return true
	}
	return slices.Contains(leads, v.Cause) && v.Pod == "" && (v.Cause != answer.AppUnhealthy || status(v) == 0 || status(v) >= 500 || Relays(v))
}

// answersFull says whether a verdict is about an answer of 5xx which says that a disk is full:
// that may be another's disk.
func answersFull(v answer.Verdict) bool { return v.Cause == answer.DiskFull && status(v) >= 500 }

// AsAnswer is a verdict as one that an application fails by its answer, where it is about what such
// an answer says.
func AsAnswer(v answer.Verdict) answer.Verdict {
	if answersFull(v) {
		v.Cause = answer.AppUnhealthy
	}
	return v
}

// Explains says whether hops lead to what may be the reason of a verdict: of a disk that is full,
// another that is.
func Explains(v answer.Verdict, hops []answer.Hop) bool {
	return !answersFull(v) || hops[len(hops)-1].Cause == answer.DiskFull
}

// SaysFull is the first complaint of a pod's logs of now that is no other's, and whether that is
// of a full disk.
func SaysFull(a *answer.Answer) (i int, full bool) {
	i = own(a, false)
	return i, i >= 0 && a.Complaints[i].Cause == answer.DiskFull
}

// echo is how many letters of what one says of a full disk must be what another says, to be of it.
const echo = 36

// Echoes says whether words have what the log of a pod says now of a disk of its own that is full.
func Echoes(said []string, a *answer.Answer) bool {
	i, full := SaysFull(a)
	if !full {
		return false
	}
	text := unquoted.Replace(a.Complaints[i].Text)
	for at := 0; at+echo <= len(text); at++ {
		if slices.ContainsFunc(said, func(s string) bool { return strings.Contains(unquoted.Replace(s), text[at:at+echo]) }) {
			return true
		}
	}
	return false
}

var unquoted = strings.NewReplacer(`\`, "", `"`, "")

// MoreRoom is what to do about a disk of a pod that is full, where it is its log that says so.
func MoreRoom(pod *v1.Pod, a *answer.Answer) []answer.Fix {
	i, full := SaysFull(a)
	if !full {
		return nil
	}
	fixes := []answer.Fix{kubectl.Inspect("see which of its file systems is full", kubectl.Command(pod.Namespace, "exec %s -c %s -- df -h", pod.Name, a.Complaints[i].Container))}
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumMemory && v.EmptyDir.SizeLimit != nil {
			fixes = append(fixes, kubectl.EditTemplate(pod.Namespace, pod, fmt.Sprintf("if it is volume %s, which is in memory and takes at most %s, raise its sizeLimit, and the memory limit with it", v.Name, v.EmptyDir.SizeLimit)))
		}
	}
	return fixes
}

// Relays says whether a verdict is about an answer that another server signs than the one that
// gave it, which so hands it on.
func Relays(v answer.Verdict) bool {
	return slices.ContainsFunc(v.Chain, func(l answer.Link) bool { return l.Evidence["signedBy"] != nil })
}

// MayWait says whether it may be that of one who waits for an answer.
func MayWait(v answer.Verdict) bool {
	return slices.Contains([]answer.Cause{answer.AppHang, answer.AppOverloaded, answer.ProbeTimeoutTooShort, answer.ProbeCommandFailed, answer.DependencyDown, answer.CauseUnknown}, v.Cause) ||
		v.Cause == answer.AppUnhealthy
}

// MayBeConfigured says whether the Services that a pod's configuration names are worth a
// look: it may be that it waits for one.
func MayBeConfigured(v answer.Verdict) bool {
	return MayWait(v) || v.Cause == answer.AppNotListening || v.Cause == answer.InitWaiting
}

// Lacks says whether a verdict is that of one which waits, or answers that it is not available:
// what it lacks it need not say.
func Lacks(v answer.Verdict) bool {
	return v.Cause == answer.InitWaiting || v.Cause == answer.AppUnhealthy && status(v) == 503
}

// Since is when what a verdict explains began: its first link that is no success. LastWell is
// when it was well last before that, zero where no link shows it.
func Since(a *answer.Answer, v answer.Verdict) time.Time {
	for _, l := range v.Chain {
		if !succeeded(l) && !l.At.IsZero() {
			return l.At
		}
	}
	for _, s := range a.Symptoms {
		if s.ID == v.Symptom {
			return s.First
		}
	}
	return time.Time{}
}

// LastWell: see Since.
func LastWell(v answer.Verdict) (at time.Time) {
	for _, l := range v.Chain {
		if succeeded(l) {
			at = l.At
		}
	}
	return at
}

func succeeded(l answer.Link) bool {
	return l.Kind == fact.Probed{}.Kind() && fmt.Sprint(l.Evidence["verdict"]) == string(fact.Success)
}

// First is when the symptom of an answer's verdict began; zero where it has none.
func First(a *answer.Answer, i int) time.Time {
	if i < 0 {
		return time.Time{}
	}
	return a.Symptoms[i].First
}

// Closed says whether who asks a Service is refused, for no pod behind it takes requests.
func Closed(service *v1.Service, pods []v1.Pod) bool {
	return !service.Spec.PublishNotReadyAddresses && !slices.ContainsFunc(pods, func(p v1.Pod) bool { return LooksWell(&p) && p.Status.Phase != v1.PodSucceeded })
}

// WasReached says whether words are those of one that reached whom it asked, and was failed there.
func WasReached(said string) bool {
	_, _, ok := words.FailedBy(said)
	return ok
}

// HandsOn says whether a verdict is about an answer that only a gateway gives, of whom it
// hands requests on to (RFC 9110, 15.6), or about one that says itself that it reaches
// something, and not what. A plain 500 or 503 is the application's own.
func HandsOn(v answer.Verdict) bool {
	switch v.Cause {
	case answer.DependencyDown:
		return true
	case answer.AppUnhealthy:
		code, said := status(v), v.Text
		return code == 502 || code == 504 || code == 503 && words.NoUpstream.In(said)
	}
	return false
}

// silences are the causes for which somebody answers nothing on a connection that is open.
var silences = []answer.Cause{answer.AppHang, answer.ProcessStopped, answer.AppOverloaded, answer.CPUThrottled, answer.NodeCPUSaturated, answer.NetworkBlocked}

// Plain says whether a verdict is about an answer of 5xx that an application gives itself, as
// far as the answer shows.
func Plain(v answer.Verdict) bool {
	return v.Cause == answer.AppUnhealthy && status(v) >= 500 && !HandsOn(v)
}

// Silent says whether a cause is one for which somebody answers nothing on a connection.
func Silent(c answer.Cause) bool { return slices.Contains(silences, c) }

// SaysOwn says whether the containers' logs tell of an error of now that is their own,
// SaysAnothers whether of one of somebody that they ask.
func SaysOwn(a *answer.Answer) bool { return own(a, false) >= 0 }

// SaysAnothers: see SaysOwn.
func SaysAnothers(a *answer.Answer) bool {
	return slices.ContainsFunc(a.Complaints, func(c answer.Complaint) bool { return c.Another && !c.Before })
}

// TimesOut says whether a verdict, or the words that led to a place, are those of one that
// reaches somebody and gets no answer in time.
func TimesOut(v answer.Verdict, said string) bool {
	return v.Cause == answer.AppUnhealthy && status(v) == 504 || words.TooLate.In(said)
}

// AnsweredFailure says whether words are those of one that was given a failure for an answer.
func AnsweredFailure(said string) bool { return words.LetDown.In(said) }

// idleShare and busyShare are up to how many processors one uses that waits, and from how
// many on one that is at work.
const idleShare, busyShare = 0.05, 0.5

// Mute is what is wrong with a pod that looks well, listens, and does not answer who asks it;
// ok is false where it is not known whether it works meanwhile.
func Mute(a *answer.Answer) (cause answer.Cause, text string, ok bool) {
	l := a.Listening
	if l == nil || len(l.Ports) == 0 || l.Busy == nil {
		return "", "", false
	}
	text = fmt.Sprintf("It listens on %s and takes connections, and who asks it gets no answer in time; ", numbers(l.Ports))
	switch {
	case *l.Busy <= idleShare:
		cause, text = answer.AppHang, text+"it uses no CPU meanwhile: it hangs."
	case *l.Busy >= busyShare:
		cause, text = answer.AppOverloaded, text+fmt.Sprintf("it keeps %.1f processors busy: it is too slow.", *l.Busy)
	default:
		return "", "", false
	}
	if i := own(a, true); i >= 0 {
		text += " " + itsLog(a.Complaints[i])
	}
	return cause, text, true
}

// BreaksOff says whether the containers' logs tell of a connection that another broke off now.
func BreaksOff(a *answer.Answer) bool {
	return slices.ContainsFunc(a.Complaints, func(c answer.Complaint) bool { return c.Another && !c.Before && words.BreaksOff(c.Text) })
}

// Unanswered says whether the containers' logs tell now of a connection that nobody answered.
func Unanswered(a *answer.Answer) bool {
	return slices.ContainsFunc(a.Complaints, func(c answer.Complaint) bool { return c.Another && !c.Before && words.Unanswered(c.Text) })
}

// Waits words that a pod which looks well waits for another itself, or is failed by one that its
// log names: who gets no answer from it, or a failure, gets none for another's sake; ok is false
// where nothing shows that, or where it says a reason of its own.
// Well is when that one was well last, zero where nobody knows: who has waited for longer than
// since then waits for work.
func Waits(a *answer.Answer, well time.Time) (text string, ok bool) {
	if i := own(a, false); i >= 0 && !words.WorkerLate.In(a.Complaints[i].Text) {
		return "", false
	}
	i := slices.IndexFunc(a.Complaints, func(c answer.Complaint) bool { return c.Another && !c.Before && words.Place(c.Text) != "" })
	if j := slices.IndexFunc(a.Reaches, func(r answer.Reach) bool { return waitsThere(r, well) }); j >= 0 {
		text = fmt.Sprintf("It looks well, and waits for another itself: %s.", strings.TrimSuffix(a.Reaches[j].Text, "."))
	}
	switch {
	case i >= 0 && text != "":
		return text + " " + itsLog(a.Complaints[i]), true
	case i >= 0:
		return "It looks well, and another fails it that it asks. " + itsLog(a.Complaints[i]), true
	}
	return text, text != ""
}

// waitsThere says whether a pod waits at a place: for a connection, or for an answer of one that
// was heard just before it asked.
func waitsThere(r answer.Reach, well time.Time) bool {
	return r.How == answer.ReachDialing || r.How == answer.ReachAwaits && r.Heard && !r.Since.Before(well)
}

// Idle says whether a pod listens, and uses no CPU.
func Idle(a *answer.Answer) bool {
	return a.Listening != nil && len(a.Listening.Ports) > 0 && a.Listening.Busy != nil && *a.Listening.Busy <= idleShare
}

// TimedOutWorker says whether a pod's log tells that its server ended a worker which took too
// long, while it had connections to others: it does not say for whom the worker waited.
func TimedOutWorker(a *answer.Answer) bool {
	late := slices.ContainsFunc(a.Complaints, func(c answer.Complaint) bool { return !c.Before && words.WorkerLate.In(c.Text) })
	return late && slices.ContainsFunc(a.Reaches, func(r answer.Reach) bool { return r.How != answer.ReachSaid })
}

// own is the first complaint of a pod's logs that is about itself, of now or, where that is
// asked for, ever; -1 where there is none.
func own(a *answer.Answer, ever bool) int {
	return slices.IndexFunc(a.Complaints, func(c answer.Complaint) bool { return !c.Another && (ever || !c.Before) })
}

func itsLog(c answer.Complaint) string {
	return fmt.Sprintf("The log of container %s says: %s.", c.Container, strings.TrimSuffix(c.Text, "."))
}

func numbers(ports []int32) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ports)), ", "), "[]")
}

// felt is how long after a change what was changed may begin to fail: a volume is written again
// within a minute and a half, and many look once a minute; and how long before that its
// beginning may be known.
const felt, early = 3 * time.Minute, 5 * time.Second

// Fails is what is wrong with a pod that looks well and whose log tells of an error of its
// own, where another gets failures for answers from it since some time; ok is false where it
// tells of none.
func Fails(a *answer.Answer, since time.Time) (cause answer.Cause, text string, ok bool) {
	i := own(a, false)
	if i < 0 {
		return "", "", false
	}
	c := a.Complaints[i]
	for _, changed := range slices.Backward(a.Changes) {
		if before := since.Sub(changed.At); !since.IsZero() && before > -early && before < felt {
			return answer.ConfigChanged, fmt.Sprintf("It looks well, and fails who asks it, which began %[2]s after %[1]s. %[3]s", changed.Text, prose.Span(max(before, 0)), itsLog(c)), true
		}
	}
	return cmp.Or(c.Cause, answer.AppUnhealthy), "It looks well, and fails who asks it. " + itsLog(c), true
}

// LooksWellBut words a pod on the way that no probe calls unwell: by what its log says.
func LooksWellBut(a *answer.Answer) string {
	i := slices.IndexFunc(a.Complaints, func(c answer.Complaint) bool { return !c.Before })
	if i < 0 {
		return "It looks well."
	}
	return "It looks well. " + itsLog(a.Complaints[i])
}

// status is the newest HTTP status in a verdict's chain; 0 where there is none.
func status(v answer.Verdict) int {
	for _, l := range slices.Backward(v.Chain) {
		switch n := l.Evidence["status"].(type) {
		case float64:
			return int(n)
		case int:
			return n
		}
	}
	return 0
}

// Leads says whether a Service leads to a pod.
func Leads(service *v1.Service, pod *v1.Pod) bool {
	return service.Namespace == pod.Namespace && len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// recently is how long ago an end may be that others still suffer from.
const recently = 5 * time.Minute

// Root is the verdict of an answer about a pod that others suffer from; -1 where there is
// none: what is over, and what is well, explains nothing.
func Root(a *answer.Answer) int {
	for i, s := range a.Symptoms {
		v := a.Verdicts[i]
		switch {
		case answer.WellOrDone(s, v), v.Cause == answer.None, s.Kind == answer.Terminating:
		case s.Kind == answer.Restarted && a.AsOf.Sub(s.Last) > recently:
		case s.Kind == answer.NotReady && !s.Last.IsZero() && a.AsOf.Sub(s.Last) > recently/10:
		default:
			return i
		}
	}
	return -1
}

// HopOf is the one hop to a Service or pod about which an answer was given; none where
// nothing is wrong there.
func HopOf(service, pod, by string, a *answer.Answer) []answer.Hop {
	i := Root(a)
	if i < 0 || a.Verdicts[i].Cause == answer.CauseUnknown {
		return nil
	}
	v := a.Verdicts[i]
	return []answer.Hop{{Service: service, Pod: pod, By: by, Cause: v.Cause, Text: v.Text, Chain: v.Chain, Fixes: v.Fixes}}
}

// LooksWell says whether the API shows nothing amiss of a pod: it is ready, or done.
func LooksWell(pod *v1.Pod) bool {
	if pod.Status.Phase == v1.PodSucceeded {
		return true
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

// Suffers is a pod that fails because of another one, to which the hop of its verdict leads.
func Suffers(pod *v1.Pod, a *answer.Answer, i int, there answer.Hop) answer.Hop {
	s, v := a.Symptoms[i], a.Verdicts[i]
	own := answer.Hop{Pod: pod.Namespace + "/" + pod.Name, By: there.By, Cause: v.Cause, Text: prose.Upper(cmp.Or(s.Text, string(s.Kind))) + "."}
	if n := len(v.Contributing); n > 0 {
		own.Cause = v.Contributing[n-1].Cause // its own, which led there
	}
	return own
}

// NoSuchPort is the hop to a Service that does not have the port that it is asked at.
func NoSuchPort(service *v1.Service, port int32, by string) (answer.Hop, bool) {
	if port == 0 || len(service.Spec.Ports) == 0 || service.Spec.ClusterIP == v1.ClusterIPNone {
		return answer.Hop{}, false
	}
	var have []string
	for _, p := range service.Spec.Ports {
		if p.Port == port {
			return answer.Hop{}, false
		}
		have = append(have, fmt.Sprint(p.Port))
	}
	name := service.Namespace + "/" + service.Name
	return answer.Hop{
		Service: name, By: by, Cause: answer.ServicePortMismatch,
		Text:  fmt.Sprintf("Service %s has no port %d; it has %s.", name, port, strings.Join(have, ", ")),
		Fixes: []answer.Fix{edit(service, fmt.Sprintf("ask it at port %s, or give it port %d", strings.Join(have, " or "), port))},
	}, true
}

func edit(service *v1.Service, text string) answer.Fix {
	return answer.Fix{Text: text, Command: kubectl.Command(service.Namespace, "edit service %s", service.Name), Risk: answer.Safe}
}

// NoSuchName is the hop to a Service whose port leads to one by a name that none of its
// pods gives a port.
func NoSuchName(service *v1.Service, port int32, pods []v1.Pod, by string) (answer.Hop, bool) {
	for _, p := range service.Spec.Ports {
		if port != 0 && p.Port != port || p.TargetPort.Type != intstr.String {
			continue
		}
		declared, served := portsOf(pods, p.TargetPort)
		if served {
			continue
		}
		name := service.Namespace + "/" + service.Name
		hop := answer.Hop{Service: name, By: by, Cause: answer.ServicePortMismatch, Fixes: []answer.Fix{edit(service, "correct targetPort")}}
		hop.Text = fmt.Sprintf("Port %d of Service %s leads to the port named %s, and none of its pods names one so", p.Port, name, p.TargetPort.StrVal)
		if len(declared) > 0 {
			hop.Text += "; they declare " + strings.Join(declared, ", ")
		}
		hop.Text += "."
		return hop, true
	}
	return answer.Hop{}, false
}

// Deaf is the hop to a Service whose pods look well and do not listen on the port that it
// leads to; none where one does, or nobody looked.
func Deaf(service *v1.Service, port int32, pods []v1.Pod, answers []answer.Answer, by string) []answer.Hop {
	name := service.Namespace + "/" + service.Name
	for _, p := range service.Spec.Ports {
		if port != 0 && p.Port != port || p.Protocol != "" && p.Protocol != v1.ProtocolTCP {
			continue
		}
		for i := range pods {
			j := slices.IndexFunc(answers, func(a answer.Answer) bool { return a.Subject.UID == pods[i].UID })
			target, ok := targetOf(p, &pods[i])
			if j < 0 || answers[j].Listening == nil || !ok || slices.Contains(answers[j].Listening.Ports, target) {
				continue
			}
			if !slices.Contains(answers[j].Listening.Loopback, target) && mayComeUp(p, &pods[i], &answers[j]) {
				continue
			}
			pod := pods[i].Namespace + "/" + pods[i].Name
			hop := answer.Hop{Service: name, Pod: pod, By: by, Cause: answer.ServicePortMismatch}
			hop.Text = fmt.Sprintf("Port %d of Service %s leads to port %d of pod %s, on which it does not listen", p.Port, name, target, pod)
			switch l := answers[j].Listening; {
			case slices.Contains(l.Loopback, target):
				hop.Cause = answer.AppListensElse
				hop.Text = fmt.Sprintf("Pod %s listens on port %d of its loopback alone (127.0.0.1:%d), where nobody else reaches it", pod, target, target)
			case len(l.Ports) > 0:
				hop.Text += fmt.Sprintf("; it listens on %s", numbers(l.Ports))
			}
			hop.Text += "."
			return []answer.Hop{hop}
		}
	}
	return nil
}

// tries is how long one that asks for a connection may wait until it asks again: the kernel
// does after 1, 2 and 4 s.
const tries = 10 * time.Second

// Dropped is the hop to a Service that is asked for connections at some places in vain, while its
// pods listen there and have room: their kernel would answer each that comes to them. None where
// one of them may not, or nobody looked.
func Dropped(service *v1.Service, dialing []string, pods []v1.Pod, answers []answer.Answer, by string) []answer.Hop {
	name := service.Namespace + "/" + service.Name
	for _, p := range service.Spec.Ports {
		place := fmt.Sprintf("%s:%d", service.Spec.ClusterIP, p.Port)
		if service.Spec.ClusterIP == "" || !slices.Contains(dialing, place) || p.Protocol != "" && p.Protocol != v1.ProtocolTCP {
			continue
		}
		var takes string
		for i := range pods {
			target, ok := targetOf(p, &pods[i])
			j := slices.IndexFunc(answers, func(a answer.Answer) bool { return a.Subject.UID == pods[i].UID })
			if j < 0 || !ok || !LooksWell(&pods[i]) || youngest(&pods[i], answers[j].AsOf) < tries || !hasRoom(&answers[j], target) {
				return nil
			}
			takes = fmt.Sprintf("pod %s/%s listens on %d and has room for connections", pods[i].Namespace, pods[i].Name, target)
		}
		if takes == "" {
			return nil
		}
		return []answer.Hop{{
			Service: name, By: by, Cause: answer.NetworkBlocked,
			Text: fmt.Sprintf("No connection to port %d of Service %s (%s) comes about, although %s: what is sent there is dropped on the way, as a network policy or a firewall does.", p.Port, name, place, takes),
			Fixes: []answer.Fix{
				kubectl.Inspect("see which network policies there are", kubectl.Command(service.Namespace, "get networkpolicies")),
				kubectl.Inspect("see which rules drop it, on the node and in the pods' network namespaces", "nft list ruleset | grep -iE 'drop|reject'; iptables-save | grep -iE 'drop|reject'"),
			},
		}}
	}
	return nil
}

// hasRoom says whether a pod was seen just now to listen on a port with room for connections.
func hasRoom(a *answer.Answer, port int32) bool {
	l := a.Listening
	return l != nil && a.AsOf.Sub(l.At) < tries && slices.Contains(l.Room, port)
}

// comesUp is how long a server may take until it listens, settles how long one that listens
// already may take until it listens on all of its ports, if it is at work.
const comesUp, settles = time.Minute, 15 * time.Second

// mayComeUp says whether a pod that does not listen on a Service's target port may be about
// to: it is young. Not so one that listens on the port that the Service itself has, or that
// listens elsewhere and has nothing more to do.
func mayComeUp(p v1.ServicePort, pod *v1.Pod, a *answer.Answer) bool {
	young, l := youngest(pod, a.AsOf), a.Listening
	switch {
	case young >= comesUp, slices.Contains(l.Ports, p.Port):
		return false
	case len(l.Ports) > 0 && young >= settles && l.Busy != nil && *l.Busy <= idleShare:
		return false
	}
	return true
}

// LastStart is when the container of a pod was started that was started last; zero where none is
// known to run.
func LastStart(pod *v1.Pod) (at time.Time) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil && c.State.Running.StartedAt.After(at) {
			at = c.State.Running.StartedAt.Time
		}
	}
	return at
}

// youngest is how long ago the container of a pod was started that was started last.
func youngest(pod *v1.Pod, now time.Time) time.Duration {
	age := now.Sub(pod.CreationTimestamp.Time)
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			age = min(age, now.Sub(c.State.Running.StartedAt.Time))
		} else {
			age = 0
		}
	}
	return age
}

// mostFixes is how much of what to do about another pod is shown.
const mostFixes = 3

// Lead gives a verdict the cause of the last of the hops, and tells of the way there; likely is
// why, where that is no more than likely.
func Lead(a *answer.Answer, i int, hops []answer.Hop, likely string) {
	v := &a.Verdicts[i]
	last := hops[len(hops)-1]
	was := answer.Note{Cause: v.Cause, Text: v.Text}
	for _, l := range v.Chain {
		was.Facts = append(was.Facts, l.Fact)
	}
	kind, space, name := last.Place()
	where := map[string]string{"pod": "pod", "svc": "Service", "job": "Job"}[kind] + " " + space + "/" + name
	parts := answer.Parts{Subject: v.Parts.Subject, What: fmt.Sprintf("The reason is %s: %s", where, last.Text)}
	if likely != "" {
		parts.What = fmt.Sprintf("The reason is most likely %s, since %s: %s", where, likely, last.Text)
	}
	for _, h := range hops {
		parts.Because = append(parts.Because, prose.Upper(h.By)+".")
	}
	parts.Then = []string{ofThis(prose.Upper(strings.TrimSuffix(v.Parts.String(), "."))+".", v.Container, last.Text)}
	if v.Cause == answer.CauseUnknown {
		parts.Then = nil
	}
	fix := kubectl.Inspect("see all that is known of it, and what to do", kubectl.Command(space, "why %s/%s", kind, name))
	v.Fixes = append(slices.Clone(last.Fixes[:min(len(last.Fixes), mostFixes)]), fix)
	v.Cause, v.Certainty, v.Rule, v.Container, v.Pod, v.Hops = last.Cause, answer.Inferred, "another-pod", "", last.Pod, hops
	v.Missing, v.Possible, v.SteadySince = "", nil, time.Time{}
	if was.Cause != answer.CauseUnknown && was.Cause != last.Cause {
		v.Contributing = append(v.Contributing, was)
	}
	v.Say(parts)
}

// ofThis says of a container whose it is, where another's of the same name was spoken of just before.
func ofThis(text, container, before string) string {
	who := "ontainer " + container + " "
	if container == "" || !strings.Contains(before, who) {
		return text
	}
	return strings.Replace(text, who, who+"of this pod ", 1)
}

// TellName tells the name of what has an address that a verdict, which leads to another pod, speaks of.
func TellName(v *answer.Verdict, place, name string) {
	p, needs := v.Parts, "cannot reach "+place+","
	said := strings.Join(p.Then, " ")
	switch at := strings.Index(said, place); {
	case at < 0 || strings.IndexAny(said[at+len(place):], "0123456789") == 0:
		return
	case strings.Contains(said, needs):
		said = strings.Replace(said, needs, strings.TrimSuffix(needs, ",")+" ("+name+"),", 1)
	default:
		said += " " + place + " is " + name + "."
	}
	p.Then = []string{said}
	v.Say(p)
}

// Share gives the reason of a container's trouble, which leads to another pod, to a verdict that
// its own pod is out of service because of that container.
func Share(a *answer.Answer, i int, hops []answer.Hop, likely string) {
	for j, v := range a.Verdicts {
		if of := a.Symptoms[i].Container; of != "" && v.Cause == answer.SiblingNotReady && v.Container == of {
			Lead(a, j, hops, likely)
		}
	}
}

// Mention adds to a verdict that something else is not well, of which nothing shows that it
// is the reason.
func Mention(v *answer.Verdict, hops []answer.Hop) {
	first := hops[0]
	space, name, _ := strings.Cut(cmp.Or(first.Service, first.Pod), "/")
	kind := "svc"
	if first.Service == "" {
		kind = "pod"
	}
	text := fmt.Sprintf("see about %s too, which is not well either (%s): nothing shows that this is why", cmp.Or(first.Service, first.Pod), first.By)
	v.Fixes = append(v.Fixes, kubectl.Inspect(text, kubectl.Command(space, "why %s/%s", kind, name)))
}

// Name adds to a verdict whose an address is that it speaks of.
func Name(v *answer.Verdict, place, kind, space, name string) {
	p := v.Parts
	what := map[string]string{"svc": "Service", "pod": "pod"}[kind]
	p.Because = append(slices.Clip(p.Because), fmt.Sprintf("%s is %s %s/%s.", place, what, space, name))
	v.Say(p)
	fix := kubectl.Inspect("see what is known of it", kubectl.Command(space, "why %s/%s", kind, name))
	v.Fixes = append([]answer.Fix{fix}, v.Fixes...)
}

// Answers says whether a fact of a verdict's chain is an answer with an HTTP status.
func Answers(v answer.Verdict, id fact.ID) bool {
	return slices.ContainsFunc(v.Chain, func(l answer.Link) bool { return l.Fact == id && l.Evidence["status"] != nil })
}

// Behind adds to a verdict of one that hands on an answer whose that is by its configuration;
// well is set where the pods there are ready, which one that says that nobody is there does not
// see.
func Behind(v *answer.Verdict, where, space, name string, well bool) {
	p, is := v.Parts, ""
	if well {
		is = ", and its pods are ready"
	}
	p.Because = append(slices.Clip(p.Because), fmt.Sprintf("Behind it is Service %s/%s (%s)%s.", space, name, where, is))
	v.Say(p)
	fix := kubectl.Inspect("see what is known of whom it asks", kubectl.Command(space, "why svc/%s", name))
	if well && status(*v) == 503 {
		fix.Text = "compare what its own health check asks there, and the addresses that it knows, with what is there"
	}
	v.Fixes = append(slices.Clip(v.Fixes), fix)
}

// Blames is the member of the health check's answer, which a verdict quotes, that fails and is
// called by the name of a Service; empty where none is.
func Blames(v answer.Verdict, service string) string {
	if v.Cause != answer.AppUnhealthy || len(service) == 0 {
		return ""
	}
	m := regexp.MustCompile(`(?:^|[ ("])((?:\w+\.)*` + regexp.QuoteMeta(service) + `)(?:\.\w+)*: `).FindStringSubmatch(v.Text)
	if m == nil {
		return ""
	}
	return m[1]
}

// Setting is a text that configures a pod, and where it stands.
type Setting struct{ Where, Text string }

// Settings are the commands and the environment of a pod's containers.
func Settings(pod *v1.Pod) []Setting {
	var all []Setting
	for _, c := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		for _, e := range c.Env {
			all = append(all, Setting{"variable " + e.Name, e.Value})
		}
		all = append(all, Setting{"command", strings.Join(append(slices.Clone(c.Command), c.Args...), " ")})
	}
	return all
}

// ConfigMaps are the names of those that a pod takes its configuration from.
func ConfigMaps(pod *v1.Pod) []string {
	var all []string
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap != nil {
			all = append(all, v.ConfigMap.Name)
		}
	}
	for _, c := range pod.Spec.Containers {
		for _, e := range c.EnvFrom {
			if e.ConfigMapRef != nil {
				all = append(all, e.ConfigMapRef.Name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
