package health

import (
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// restartAll is a restart of the whole pod in its place, which a container's
// rule for exit codes asks for (KEP-5532). The sandbox stays.
type restartAll struct {
	Facts []fact.ID `json:"facts"`
}

// restartingAll says whether such a restart is under way, or has to begin
// (container/helpers.go, ShouldAllContainersRestart).
func (t *turn) restartingAll() bool {
	if t.RestartAll != nil {
		return true
	}
	for _, c := range t.each(initial, sidecar, regular) {
		if c.Stage != ended || c.Run.Anew || !c.Begun {
			continue
		}
		rule := ruleFor(t.spec(c), c.Run.Ended.ExitCode)
		if rule != nil && rule.Action == v1.ContainerRestartRuleActionRestartAllContainers {
			t.RestartAll = &restartAll{Facts: []fact.ID{c.Run.End}}
			return true
		}
	}
	return false
}

// planRestartAll ends what runs, without a grace period, and lets everything
// begin again, init containers first and without back-off (computePodActions
// with restartAllContainers). Kubelet removes the dead containers first and so
// loses how they ended; here that stays in their last state.
func (t *turn) planRestartAll() {
	for _, c := range t.each(initial, sidecar, regular) {
		t.killAgain(c)
		if c.alive() && c.Kill == nil {
			t.kill(c, kill{
				Reason: fact.KillRestart, Message: "killing", SkipHook: true,
				Cause: "another container's exit restarts the whole pod", Facts: t.RestartAll.Facts,
			})
		}
	}
	if t.anyAlive(initial, sidecar, regular) {
		return
	}
	for _, c := range t.each(initial, sidecar, regular) {
		c.Begun, c.Tried, c.Pause = false, false, nil
		if c.Stage == ended {
			c.Run.Anew = true
			c.Wait = wait{"RestartingAllContainers", "The container is started again because RestartAllContainers in place"}
		}
	}
	t.RestartAll = nil
	t.planStarts()
}

// restartingCondition is there for pods that have such a rule
// (status/generate.go, GenerateAllContainersRestartingCondition).
func (t *turn) restartingCondition() (v1.PodCondition, bool) {
	switch {
	case !t.couldRestartAll():
		return v1.PodCondition{}, false
	case t.Phase == v1.PodSucceeded:
		return condition(v1.AllContainersRestarting, false, "PodCompleted", ""), true
	case t.Phase == v1.PodFailed:
		return condition(v1.AllContainersRestarting, false, "PodFailed", ""), true
	case t.RestartAll == nil:
		return condition(v1.AllContainersRestarting, false, "", ""), true
	}
	return condition(v1.AllContainersRestarting, true, "RestartAllContainersStarted", "container exited with restart policy rule"), true
}

func (p *pod) couldRestartAll() bool {
	for _, c := range p.each(initial, sidecar, regular) {
		for _, rule := range p.spec(c).RestartPolicyRules {
			if rule.Action == v1.ContainerRestartRuleActionRestartAllContainers {
				return true
			}
		}
	}
	return false
}
