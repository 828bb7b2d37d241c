package health

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// again says whether a container that ended is to run once more.
//
// Law 4: what the node ended in order to start it again is started again,
// whatever its exit code and however long the back-off. Kubelet v1.37.2 forgets
// why the container ended as soon as it has to wait, and then judges by the
// exit code (container/helpers.go, ShouldContainerBeRestarted).
func (p *pod) again(c *container) bool {
	if p.Ending != nil || c.Role == ephemeral || c.Run.Ended == nil {
		return false
	}
	code := c.Run.Ended.ExitCode
	switch {
	case c.Role == sidecar:
		return true
	case c.Run.Anew, c.Run.Killed != nil && c.Run.Killed.Restart:
		return true
	case c.Role == initial && code == 0:
		return false // it has done its work
	}
	return restarts(p.spec(c), p.Object.Spec.RestartPolicy, code)
}

// restarts applies the container's rules for exit codes, then its own policy,
// then the pod's (api/v1/pod/util.go, ContainerShouldRestart).
func restarts(c *v1.Container, pod v1.RestartPolicy, code int32) bool {
	policy := pod
	if c.RestartPolicy != nil {
		if rule := ruleFor(c, code); rule != nil {
			switch rule.Action {
			case v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers:
				return true
			}
		}
		policy = v1.RestartPolicy(*c.RestartPolicy)
	}
	switch policy {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return code != 0
	}
	return true
}

// ruleFor gives the first rule that an exit code meets (FindMatchingContainerRestartRule).
func ruleFor(c *v1.Container, code int32) *v1.ContainerRestartRule {
	for i := range c.RestartPolicyRules {
		codes := c.RestartPolicyRules[i].ExitCodes
		if codes == nil {
			continue
		}
		among := slices.Contains(codes.Values, code)
		switch codes.Operator {
		case v1.ContainerRestartRuleOnExitCodesOpIn:
			if among {
				return &c.RestartPolicyRules[i]
			}
		case v1.ContainerRestartRuleOnExitCodesOpNotIn:
			if !among {
				return &c.RestartPolicyRules[i]
			}
		}
	}
	return nil
}

// mayRestart is the pod's policy alone (kuberuntime_manager.go, shouldRestartOnFailure).
func (p *pod) mayRestart() bool { return p.Object.Spec.RestartPolicy != v1.RestartPolicyNever }

// restartsAfterKill says whether a container that fails a probe is to be started
// again. Rules for exit codes have no say: it still runs (computePodActions).
func (p *pod) restartsAfterKill(c *container) bool {
	spec := p.spec(c)
	if spec.RestartPolicy != nil {
		return *spec.RestartPolicy != v1.ContainerRestartPolicyNever
	}
	return p.mayRestart()
}
