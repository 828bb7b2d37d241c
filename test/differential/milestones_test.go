package differential

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/test/differential/record"
)

// milestone is a point in a pod's life that both sides must reach.
type milestone = func(record.History) bool

// of makes a milestone of what can be told from the newest version.
func of(reached func(*v1.Pod) bool) milestone {
	return func(h record.History) bool {
		pod := h.Latest()
		return pod != nil && reached(pod)
	}
}

func gone(h record.History) bool { return h.Deleted }

func phase(wanted v1.PodPhase) milestone {
	return of(func(p *v1.Pod) bool { return p.Status.Phase == wanted })
}

var (
	ended    = either(phase(v1.PodSucceeded), phase(v1.PodFailed))
	ready    = conditionIs(v1.PodReady, v1.ConditionTrue)
	notReady = conditionIs(v1.PodReady, v1.ConditionFalse)
)

func either(a, b milestone) milestone {
	return func(h record.History) bool { return a(h) || b(h) }
}

func conditionIs(kind v1.PodConditionType, wanted v1.ConditionStatus) milestone {
	return of(func(p *v1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == kind && c.Status == wanted })
	})
}

// afterReady is reached when the pod was ready once and then is as wanted.
func afterReady(wanted milestone) milestone {
	return func(h record.History) bool {
		for i := range h.Versions {
			if ready(record.History{Versions: h.Versions[:i+1]}) {
				return wanted(h)
			}
		}
		return false
	}
}

// readyAgain is reached when the pod is ready for the second time.
func readyAgain(h record.History) bool {
	stage := 0
	for i := range h.Versions {
		if ready(record.History{Versions: h.Versions[:i+1]}) == (stage%2 == 0) {
			stage++
		}
	}
	return stage >= 3
}

// container finds a container's status, whatever its kind.
func container(p *v1.Pod, name string) v1.ContainerStatus {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.Name == name {
			return c
		}
	}
	return v1.ContainerStatus{}
}

func running(name string) milestone {
	return of(func(p *v1.Pod) bool { return container(p, name).State.Running != nil })
}

// runsAgain is reached when the container runs its attempt n.
func runsAgain(name string, n int32) milestone {
	return of(func(p *v1.Pod) bool {
		c := container(p, name)
		return c.RestartCount >= n && c.State.Running != nil
	})
}

// wellAgain is reached when the container runs its attempt n, and is started and ready.
func wellAgain(name string, n int32) milestone {
	return of(func(p *v1.Pod) bool {
		c := container(p, name)
		return c.RestartCount >= n && c.State.Running != nil && c.Ready && c.Started != nil && *c.Started
	})
}

func waiting(name, reason string) milestone {
	return of(func(p *v1.Pod) bool {
		w := container(p, name).State.Waiting
		return w != nil && w.Reason == reason
	})
}

func terminated(name string) milestone {
	return of(func(p *v1.Pod) bool { return container(p, name).State.Terminated != nil })
}

// backsOff is where a container ends up that ends soon after each start.
func backsOff(name string) milestone { return waiting(name, "CrashLoopBackOff") }
