package health

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// ownConditions are those that the node alone sets (types/pod_status.go,
// PodConditionByKubelet).
var ownConditions = []v1.PodConditionType{
	v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
	v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting,
}

func ownCondition(kind v1.PodConditionType) bool { return slices.Contains(ownConditions, kind) }

// moveConditions works out the conditions anew and reports those that differ
// from what was said before. The transition time is kept as long as the status
// is (status/status_manager.go, updateLastTransitionTime).
func (t *turn) moveConditions() {
	before := t.Conditions
	now := t.conditions()
	for i := range now {
		c := &now[i]
		old := findCondition(before, c.Type)
		if c.LastTransitionTime.IsZero() {
			c.ObservedGeneration = t.Object.Generation
			c.LastTransitionTime = t.transition(c, old)
		}
		if old == nil || old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message {
			t.decide("", 0, fact.SetCondition{Condition: *c}, t.conditionFacts(c.Type)...)
		}
	}
	for i := range before {
		if c := before[i]; findCondition(now, c.Type) == nil {
			c.Status, c.Reason, c.Message, c.LastTransitionTime = v1.ConditionFalse, "", "", apiTime(t.now)
			if c.Type == v1.PodResizeInProgress && t.Resize == nil && t.Ending == nil {
				c.Reason = fact.ResizeCompleted
			}
			t.decide("", 0, fact.SetCondition{Condition: c}, t.SpecFact)
		}
	}
	t.Conditions = now
}

// conditions are in kubelet's order (kubelet_pods.go, generateAPIPodStatus).
func (t *turn) conditions() []v1.PodCondition {
	all := t.resizeConditions()
	if t.Eviction != nil && t.Eviction.Disrupted && terminal(t.Phase) {
		all = append(all, v1.PodCondition{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue,
			Reason: v1.PodReasonTerminationByKubelet, Message: t.Eviction.Message,
		})
	}
	containers := t.containersReady()
	all = append(all,
		condition(v1.PodReadyToStartContainers, t.Sandbox.Stage == sandboxUp, "", ""),
		t.initialized(),
		t.ready(containers),
		containers,
		condition(v1.PodScheduled, true, "", ""),
	)
	if c, ok := t.restartingCondition(); ok {
		all = append(all, c)
	}
	return all
}

func condition(kind v1.PodConditionType, holds bool, reason, message string) v1.PodCondition {
	c := v1.PodCondition{Type: kind, Status: v1.ConditionFalse, Reason: reason, Message: message}
	if holds {
		c.Status = v1.ConditionTrue
	}
	return c
}

// containersReady follows status/generate.go, GenerateContainersReadyCondition.
func (t *turn) containersReady() v1.PodCondition {
	switch t.Phase {
	case v1.PodSucceeded:
		return condition(v1.ContainersReady, false, "PodCompleted", "")
	case v1.PodFailed:
		return condition(v1.ContainersReady, false, "PodFailed", "")
	}
	var unready []string
	for _, c := range t.each(sidecar, regular) {
		if !c.Ready {
			unready = append(unready, c.Name)
		}
	}
	if len(unready) > 0 {
		return condition(v1.ContainersReady, false, "ContainersNotReady", fmt.Sprintf("containers with unready status: %s", unready))
	}
	return condition(v1.ContainersReady, true, "", "")
}

// ready follows GeneratePodReadyCondition. Law 6: every container ready, and
// every readiness gate true.
func (t *turn) ready(containers v1.PodCondition) v1.PodCondition {
	if containers.Status != v1.ConditionTrue {
		return condition(v1.PodReady, false, containers.Reason, containers.Message)
	}
	var unmet []string
	for _, gate := range t.Object.Spec.ReadinessGates {
		switch c := findCondition(t.Foreign, gate.ConditionType); {
		case c == nil:
			unmet = append(unmet, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case c.Status != v1.ConditionTrue:
			unmet = append(unmet, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, c.Status))
		}
	}
	if len(unmet) > 0 {
		return condition(v1.PodReady, false, "ReadinessGatesNotReady", strings.Join(unmet, ", "))
	}
	return condition(v1.PodReady, true, "", "")
}

// initialized follows GeneratePodInitializedCondition: what was once so stays so.
func (t *turn) initialized() v1.PodCondition {
	if t.Phase == v1.PodSucceeded {
		return condition(v1.PodInitialized, true, "PodCompleted", "")
	}
	if old := findCondition(t.Conditions, v1.PodInitialized); old != nil && old.Status == v1.ConditionTrue || t.anyMainRan() {
		return condition(v1.PodInitialized, true, "", "")
	}
	var incomplete []string
	for _, c := range t.each(initial, sidecar) {
		if c.Role == sidecar && !c.Started || c.Role == initial && !c.Ready {
			incomplete = append(incomplete, c.Name)
		}
	}
	if len(incomplete) > 0 {
		return condition(v1.PodInitialized, false, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: %s", incomplete))
	}
	return condition(v1.PodInitialized, true, "", "")
}

// conditionFacts are what a condition rests on beside the fact at hand.
func (t *turn) conditionFacts(kind v1.PodConditionType) []fact.ID {
	switch kind {
	case v1.PodScheduled:
		return []fact.ID{t.SpecFact}
	case v1.PodReadyToStartContainers:
		return []fact.ID{t.Sandbox.Fact}
	case v1.DisruptionTarget:
		return t.Ending.Facts
	}
	return nil
}

func findCondition(all []v1.PodCondition, kind v1.PodConditionType) *v1.PodCondition {
	for i := range all {
		if all[i].Type == kind {
			return &all[i]
		}
	}
	return nil
}

// replaceCondition gives a new slice in which a condition has the place of the
// one of its type.
func replaceCondition(all []v1.PodCondition, c v1.PodCondition) []v1.PodCondition {
	without := slices.DeleteFunc(slices.Clone(all), func(old v1.PodCondition) bool { return old.Type == c.Type })
	return append(without, c)
}
