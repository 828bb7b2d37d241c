package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// Silences are the causes for which somebody answers nothing on a connection that is open.
var Silences = []string{
	string(answer.AppHang), string(answer.ProcessStopped), string(answer.AppOverloaded), string(answer.CPUThrottled), string(answer.NodeCPUSaturated), string(answer.NetworkBlocked),
}

// SaysOwn says whether the containers' logs tell of an error of now that is their own,
// SaysAnothers whether of one of somebody that they ask.
func SaysOwn(a *answer.Answer) bool { return ownError(a, false) >= 0 }

// SaysAnothers: see SaysOwn.
func SaysAnothers(a *answer.Answer) bool { return ofAnother(a, func(string) bool { return true }) >= 0 }

// ofAnother is the first complaint of now of a pod's logs that is of another, and whose words fit; -1 where there is none.
func ofAnother(a *answer.Answer, fits func(words string) bool) int {
	return slices.IndexFunc(a.Complaints, func(c answer.Complaint) bool { return c.Another && !c.Before && fits(c.Text) })
}

// idleShare and busyShare are up to how many processors one uses that waits, and from how
// many on one that is at work.
const idleShare, busyShare = 0.05, 0.5

// Mute is what is wrong with a pod that looks well, listens, and does not answer who asks it;
// ok is false where it is not known whether it works meanwhile.
func Mute(a *answer.Answer) (cause answer.Cause, text string, ok bool) {
	l := a.Listening
	if l == nil || len(l.Ports) == 0 || l.Busy == nil && l.Throttled == "" {
		return "", "", false
	}
	text = fmt.Sprintf("It listens on %s and takes connections, and who asks it gets no answer in time; ", numbers(l.Ports))
	switch {
	case l.Throttled != "":
		return answer.CPUThrottled, fmt.Sprintf("%s%s.", text, l.Throttled), true
	case *l.Busy <= idleShare:
		cause, text = answer.AppHang, text+"it uses no CPU meanwhile: it hangs, or waits for something."
	case *l.Busy >= busyShare:
		cause, text = answer.AppOverloaded, text+fmt.Sprintf("it keeps %.1f processors busy: it is too slow.", *l.Busy)
	default:
		return "", "", false
	}
	if i := ownError(a, true); i >= 0 {
		text += " " + a.Complaints[i].Says()
	}
	return cause, text, true
}

// Throttled says whether a pod listens, and its own CPU limit stalls it.
func Throttled(a *answer.Answer) bool {
	return a.Listening != nil && len(a.Listening.Ports) > 0 && a.Listening.Throttled != ""
}

// BreaksOff says whether the containers' logs tell of a connection that another broke off now.
func BreaksOff(a *answer.Answer) bool { return ofAnother(a, words.BreaksOff) >= 0 }

// Unanswered says whether the containers' logs tell now of a connection that nobody answered.
func Unanswered(a *answer.Answer) bool { return ofAnother(a, words.Unanswered) >= 0 }

// Waits words that a pod which looks well waits for another itself, or is failed by one that its
// log names: who gets no answer from it, or a failure, gets none for another's sake; ok is false
// where nothing shows that, or where it says a reason of its own.
// Well is when that one was well last, zero where nobody knows: who has waited for longer than
// since then waits for work.
func Waits(a *answer.Answer, well time.Time) (text string, ok bool) {
	if i := ownError(a, false); i >= 0 && !knowledge.WorkerLate.In(a.Complaints[i].Text) {
		return "", false
	}
	i := ofAnother(a, func(said string) bool { return words.Place(said) != "" })
	if j := slices.IndexFunc(a.Reaches, func(r answer.Reach) bool { return waitsThere(r, well) }); j >= 0 {
		text = fmt.Sprintf("It looks well, and waits for another itself: %s.", strings.TrimSuffix(a.Reaches[j].Text, "."))
		if i < 0 {
			i = ofAnother(a, func(string) bool { return true })
		}
	}
	if i < 0 {
		return text, text != ""
	}
	return cmp.Or(text, "It is Ready, but something that it calls fails.") + " " + a.Complaints[i].Says(), true
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
	late := slices.ContainsFunc(a.Complaints, func(c answer.Complaint) bool { return !c.Before && knowledge.WorkerLate.In(c.Text) })
	return late && slices.ContainsFunc(a.Reaches, func(r answer.Reach) bool { return r.How != answer.ReachSaid })
}

// ownError is the first complaint of a pod's logs that is about itself, of now or, where that is
// asked for, ever; -1 where there is none.
func ownError(a *answer.Answer, ever bool) int {
	return slices.IndexFunc(a.Complaints, func(c answer.Complaint) bool { return !c.Another && (ever || !c.Before) })
}

func numbers(ports []int32) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ports)), ", "), "[]")
}

// felt is how long after a change what was changed may begin to fail: a volume is written again
// within a minute and a half, and many look once a minute; and how long before that its
// beginning may be known.
const felt, early = 3 * time.Minute, 5 * time.Second

// changeBefore is the last change that may be felt since some time; nil where there is none.
func changeBefore(a *answer.Answer, since time.Time) *answer.Changed {
	for i := range slices.Backward(a.Changes) {
		if before := since.Sub(a.Changes[i].At); !since.IsZero() && before > -early && before < felt {
			return &a.Changes[i]
		}
	}
	return nil
}

// Fails is what is wrong with a pod that looks well and whose log tells of an error of its
// own, where another gets failures for answers from it since some time; ok is false where it
// tells of none.
func Fails(a *answer.Answer, since time.Time) (cause answer.Cause, text string, ok bool) {
	i := ownError(a, false)
	if i < 0 {
		return "", "", false
	}
	c := a.Complaints[i]
	if changed := changeBefore(a, since); changed != nil {
		return answer.ConfigChanged, fmt.Sprintf("It is Ready, but requests to it fail since %[2]s after %[1]s. %[3]s", changed.Text, prose.Span(max(since.Sub(changed.At), 0)), c.Says()), true
	}
	return cmp.Or(c.Cause, answer.AppUnhealthy), "It is Ready, but requests to it fail. " + c.Says(), true
}

// SinceChange blames the change of what a Degraded pod reads, if its own errors began right after that and the log, which
// was read since some time, has none from before.
func SinceChange(a *answer.Answer, read time.Time) {
	v := &a.Verdicts[0]
	i := ownError(a, false)
	if i < 0 || len(v.Repeats) == 0 || v.Cause == answer.SecurityRefused || v.Cause == answer.DiskFull {
		return
	}
	changed := changeBefore(a, v.Repeats[0].First)
	if changed == nil || changed.Object == "" || read.IsZero() || !read.Before(changed.At) || changed.At.After(v.Repeats[0].First) {
		return
	}
	v.Contributing = append(v.Contributing, answer.Note{Cause: v.Cause, Text: "since then its log repeats that error"})
	v.Cause = answer.ConfigChanged
	v.SayBecause(fmt.Sprintf("That began %s after %s.", prose.Span(max(v.Repeats[0].First.Sub(changed.At), 0)), changed.Text))
}

// now reports whether a complaint is of now.
func now(c answer.Complaint) bool { return !c.Before }

// LooksWellBut words a pod on the way that no probe calls unwell: by what its log says.
func LooksWellBut(a *answer.Answer) string {
	if c := first(a.Complaints, now); c != nil {
		return "No fault is seen in it. " + c.Says()
	}
	return "No fault is seen in it."
}

// ChecksWrongly says whether a pod's log tells now that its own check of one behind it gets another answer than it wants.
func ChecksWrongly(a *answer.Answer) bool { return ofAnother(a, knowledge.OwnCheck.In) >= 0 }

// GivesUp is what is wrong with a pod that looks well and whose log tells that another fails it of whom nothing else
// is known: where it reaches that one, and its own check of it is what fails, the fault is with that.
func GivesUp(a *answer.Answer) (answer.Cause, string) {
	text := LooksWellBut(a)
	if i := slices.IndexFunc(a.Complaints, now); i < 0 || !knowledge.OwnCheck.In(a.Complaints[i].Text) {
		return answer.DependencyDown, text
	}
	return answer.AppUnhealthy, text + " So it reaches who is behind it, and takes them for down because they answer its own health check otherwise than that wants."
}

// LooksWell says whether the API shows nothing amiss of a pod: it is ready, or done.
func LooksWell(pod *v1.Pod) bool {
	if pod.Status.Phase == v1.PodSucceeded {
		return true
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

// Serves says whether a pod takes requests: it is ready, and not done.
func Serves(pod *v1.Pod) bool { return LooksWell(pod) && pod.Status.Phase != v1.PodSucceeded }

// answersFull says whether a verdict is about an answer of 5xx which says that a disk is full:
// that may be another's disk.
func answersFull(v answer.Verdict) bool {
	return v.Cause == answer.DiskFull && (status(v) >= 500 || len(v.Repeats) > 0)
}

// AsAnswer is a verdict as one that an application fails by its answer, where it is about what such
// an answer says.
func AsAnswer(v answer.Verdict) answer.Verdict {
	if answersFull(v) {
		v.Cause = answer.AppUnhealthy
	}
	return v
}

// ExplainedBy are the causes by which a verdict is explained: of a disk that is full, another that is; empty: all.
func ExplainedBy(v answer.Verdict) []string {
	if answersFull(v) {
		return []string{string(answer.DiskFull)}
	}
	return nil
}

// SaysFull is the first complaint of a pod's logs of now that is no other's, and whether that is
// of a full disk.
func SaysFull(a *answer.Answer) (i int, full bool) {
	i = ownError(a, false)
	return i, i >= 0 && a.Complaints[i].Cause == answer.DiskFull
}

// moreRoom is what to do about a disk of a pod that is full, where it is its log that says so.
func moreRoom(pod *v1.Pod, a *answer.Answer) []answer.Fix {
	i, full := SaysFull(a)
	if !full {
		return nil
	}
	return roomFor(pod, a.Complaints[i])
}

// Stuck gives what is wrong with a pod that looks well and keeps an answer to itself, where it has
// said since others were well that it waits for room on a disk, and what to do about that; ok is
// false where it has not.
func Stuck(pod *v1.Pod, a *answer.Answer, well time.Time) (text string, fixes []answer.Fix, ok bool) {
	c := first(a.Complaints, func(c answer.Complaint) bool {
		return !c.Another && c.Cause == answer.DiskFull && !c.At.IsZero() && (!c.Before || !well.IsZero() && !c.At.Before(well))
	})
	if c == nil {
		return "", nil, false
	}
	return "It looks well and gave other answers, and keeps this one to itself without using CPU: it waits for room on a disk. " + c.Says(), roomFor(pod, *c), true
}

func roomFor(pod *v1.Pod, c answer.Complaint) []answer.Fix {
	if knowledge.SmallShm.In(c.Text) {
		return []answer.Fix{kubectl.EditTemplate(pod.Namespace, pod, fmt.Sprintf("in pod %s, mount an emptyDir with medium: Memory at /dev/shm of container %s (what is in it counts to the container's memory limit)", pod.Name, c.Container))}
	}
	fixes := []answer.Fix{kubectl.Exec("see which of its file systems is full", pod.Namespace, pod.Name, c.Container, "df -h")}
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumMemory && v.EmptyDir.SizeLimit != nil {
			fixes = append(fixes, kubectl.EditTemplate(pod.Namespace, pod, fmt.Sprintf("if it is volume %s, which is in memory and takes at most %s, raise its sizeLimit, and the memory limit with it", v.Name, v.EmptyDir.SizeLimit)))
		}
	}
	return fixes
}
