package why

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// The signal of the pods' own limit is one of memory, too.
func TestEvictedFor(t *testing.T) {
	for signal, want := range map[string]answer.Cause{
		"memory.available": answer.EvictedMemory, "allocatableMemory.available": answer.EvictedMemory,
		"pid.available": answer.EvictedPIDs, "nodefs.available": answer.EvictedDisk, "imagefs.inodesFree": answer.EvictedDisk, "": answer.EvictedDisk,
	} {
		if got := evictedFor(signal); got != want {
			t.Errorf("%s: %s, want %s", signal, got, want)
		}
	}
}

// Whose pods hold next to nothing of what ran short is not told to set requests.
func TestShortage(t *testing.T) {
	const gi = 1 << 30
	for _, c := range []struct {
		name, signal string
		shortage     *fact.Shortage
		says, do     string
	}{
		{"pods hold it", "nodefs.available", &fact.Shortage{Available: 3 * gi, Capacity: 100 * gi, Threshold: 10 * gi, Pods: 60 * gi}, "3Gi of 100Gi left, where it keeps 10Gi", "set its request"},
		{"something else holds it", "imagefs.available", &fact.Shortage{Available: 3 * gi, Capacity: 100 * gi, Threshold: 10 * gi, Pods: 1 << 20}, "all pods together held only 1Mi of it", "du -xh"},
		{"a program outside", "memory.available", &fact.Shortage{Available: 50 << 20, Capacity: 8 * gi, Threshold: 100 << 20, Pods: 200 << 20}, "held only 200Mi", "ps -eo rss"},
		{"processes outside", "pid.available", &fact.Shortage{Available: 10, Capacity: 32768, Threshold: 1000, Pods: 12}, "10 of 32768 left", "ps -eo comm"},
		{"below their own limit it is theirs", "allocatableMemory.available", &fact.Shortage{Available: 0, Capacity: 8 * gi, Threshold: 100 << 20, Pods: 1}, "ran short", "set its request"},
		{"an older journal", "memory.available", nil, "The node ran short (memory.available), and this pod", "set its request"},
	} {
		s := tell(t, web())
		s.see("", 0, fact.EvictionNeeded{
			Message: "The node was low on resource.", Signal: c.signal, GraceSeconds: 1, Shortage: c.shortage,
			Ranking: []fact.Ranked{{Pod: s.key, Usage: 1 << 20}},
		})
		a := s.ask()
		check(t, a)
		text := strings.Join(strings.Fields(a.Text(answer.Style{})), " ")
		if a.Verdicts[0].Cause != evictedFor(c.signal) || !strings.Contains(text, c.says) || !strings.Contains(text, c.do) {
			t.Errorf("%s: %s", c.name, text)
		}
		if elsewhere := !strings.Contains(text, "set its request"); elsewhere != (c.do != "set its request") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

// Who is not let in for the node's pressure was not chosen among others.
func TestRefusedUnderPressure(t *testing.T) {
	for _, c := range []struct {
		conditions []v1.NodeConditionType
		want       answer.Cause
		says       string
	}{
		{[]v1.NodeConditionType{v1.NodeDiskPressure}, answer.EvictedDisk, "The node was short of disk space or inodes when the pod came (DiskPressure), and takes in no new pods until that is over."},
		{[]v1.NodeConditionType{v1.NodeMemoryPressure}, answer.EvictedMemory, "takes in no BestEffort pod"},
		{[]v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodePIDPressure}, answer.EvictedPIDs, "process ids and of memory"},
		{[]v1.NodeConditionType{"QuuxPressure"}, answer.CauseUnknown, "QuuxPressure"},
	} {
		pod := web()
		pod.Spec.NodeName = "second"
		s := tell(t, pod, func(s *tale) {
			s.see("", 0, fact.SpecSeen{Object: pod, Source: "api"})
			s.see("", 0, fact.RoomSeen{Node: "second", Conditions: c.conditions})
		})
		a := s.ask()
		check(t, a)
		text := strings.Join(strings.Fields(a.Text(answer.Style{})), " ")
		if len(a.Verdicts) != 1 || a.Verdicts[0].Cause != c.want || a.Symptoms[0].Kind != answer.Failed || !strings.Contains(text, c.says) {
			t.Errorf("%v: %s", c.conditions, text)
		}
		if c.want != answer.CauseUnknown && !strings.Contains(text, "kubectl why node/second") {
			t.Errorf("%v does not name the node: %s", c.conditions, text)
		}
	}
}
