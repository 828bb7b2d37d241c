package cluster

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
)

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
