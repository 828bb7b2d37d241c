package health

import (
	"time"

	"whylet.dev/whylet/fact"
)

// sandbox is where the pod's containers live: cgroup, volumes, network.
type sandbox struct {
	Stage   sandboxStage `json:"stage,omitempty"`
	ID      string       `json:"id,omitempty"`
	Attempt uint32       `json:"attempt,omitempty"`
	IPs     []string     `json:"ips,omitempty"`
	HostIPs []string     `json:"hostIPs,omitempty"`
	// Fact put it into this stage.
	Fact     fact.ID   `json:"fact,omitempty"`
	Failures int       `json:"failures,omitempty"`
	RetryAt  time.Time `json:"retryAt,omitzero"`
}

type sandboxStage string

const (
	sandboxNone    sandboxStage = ""
	sandboxMaking  sandboxStage = "making"
	sandboxUp      sandboxStage = "up"
	sandboxLost    sandboxStage = "lost"    // ended by itself; containers may still have to be ended
	sandboxEnding  sandboxStage = "ending"  // TearDown was decided
	sandboxRemoved sandboxStage = "removed" // nothing is left of it
)

// leaving says that the sandbox was told to go: what comes later about it is
// late, and nothing is started in it.
func (s *sandbox) leaving() bool { return s.Stage == sandboxEnding || s.Stage == sandboxRemoved }

// setUpDone takes a sandbox in. One that is known has nothing new to say, least
// of all when it was lost meanwhile.
func (t *turn) setUpDone(b fact.SetUpDone) news {
	if t.Sandbox.leaving() || b.Attempt < t.Sandbox.Attempt || b.SandboxID != "" && b.SandboxID == t.Sandbox.ID {
		return nothing
	}
	if t.Sandbox.Stage != sandboxMaking { // an earlier agent's
		t.Own, t.OwnResizing = t.ownWanted(), false
	}
	t.Sandbox = sandbox{
		Stage: sandboxUp, ID: b.SandboxID, Attempt: b.Attempt,
		IPs: b.IPs, HostIPs: b.HostIPs, Fact: t.fact.ID,
	}
	return aChange
}

// setupWait grows from one second to the policy's Retry: most failures here are
// a volume or a network plugin that is not there yet.
func (t *turn) setUpFailed(b fact.SetUpFailed) {
	if t.Sandbox.Stage != sandboxMaking {
		return
	}
	s := t.Sandbox
	delay := min(time.Second<<min(s.Failures, 10), t.Policy.Retry)
	s.Stage, s.Failures, s.RetryAt, s.Fact = sandboxNone, s.Failures+1, t.now.Add(delay), t.fact.ID
	t.Sandbox = s
	if t.Ending == nil {
		t.decide("", 0, fact.BackOff{What: fact.BackOffSetUp, Delay: delay, Until: s.RetryAt, Message: b.Reason + ": " + b.Message})
	}
}

// referenceChanged lets what failed be tried again at once: a set-up, and starts
// that wait for no back-off but only for something to change (kubelet finds out
// at its next sync, up to 10 s later).
func (t *turn) referenceChanged() {
	t.Sandbox.RetryAt = time.Time{}
	t.roomMade() // agents before RoomMade said it in these words
	for i := range t.Containers {
		if c := &t.Containers[i]; c.Pause != nil && c.Pause.What == "" {
			c.Pause = nil
		}
	}
}

// sandboxLost begins what kubelet calls "Pod sandbox changed": every container
// of it is ended, and all begins again, init containers first
// (kuberuntime/kuberuntime_manager.go, computePodActions with createPodSandbox).
func (t *turn) sandboxLost(b fact.SandboxLost) {
	if t.Sandbox.Stage != sandboxUp || (b.SandboxID != "" && b.SandboxID != t.Sandbox.ID) {
		return
	}
	s := t.Sandbox
	s.Stage, s.Fact = sandboxLost, t.fact.ID
	t.Sandbox = s
}

// planSetUp asks for a sandbox when there is none and something is to run in it.
func (t *turn) planSetUp() {
	s := &t.Sandbox
	if s.Stage != sandboxNone || t.now.Before(s.RetryAt) {
		return
	}
	s.Stage = sandboxMaking
	t.Own, t.OwnResizing = t.ownWanted(), false
	t.decide("", 0, fact.SetUp{Attempt: s.Attempt}, s.Fact, t.Admitting, t.SpecFact)
	s.Fact = t.fact.ID
}

// planNewSandbox ends what is left in the lost sandbox and asks for another. A
// pod that never restarts gets none once it ran anything: its containers stay
// ended, and its phase follows from that.
func (t *turn) planNewSandbox() {
	for i := range t.Containers {
		c := &t.Containers[i]
		if c.alive() && c.Kill == nil {
			t.kill(c, kill{
				Reason: fact.KillSandbox, Message: "Stopping container " + c.Name, Grace: t.grace(c, fact.KillSandbox),
				Restart: t.mayRestart(), Cause: "the pod's sandbox ended", Facts: []fact.ID{t.Sandbox.Fact},
			})
		}
		t.killAgain(c)
	}
	if t.anyAlive() || !t.anyUnfinished() {
		return
	}
	for i := range t.Containers {
		t.Containers[i].Begun, t.Containers[i].Tried = false, false
	}
	lost := t.Sandbox
	t.Sandbox = sandbox{HostIPs: lost.HostIPs, Attempt: lost.Attempt + 1, Fact: lost.Fact}
	t.planSetUp()
}

// anyUnfinished says whether there is a container that a new sandbox would be for.
func (t *turn) anyUnfinished() bool {
	for _, c := range t.each(regular) {
		if t.wants(c) {
			return true
		}
	}
	return false
}
