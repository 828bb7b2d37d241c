package health

import (
	"bytes"
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// check is what must hold after every step.
func (x *trouble) check(s step) {
	x.checkDecisions(s)
	x.checkKillFailed(s)
	x.checkPhase(s)
	x.checkStatus(s)
	if len(x.steps)%64 == 0 {
		x.checkPurity(s)
	}
}

// checkPurity: the same question has the same answer, the state that was given
// is not changed, and a state that was written and read back goes on as the
// original does.
func (x *trouble) checkPurity(s step) {
	before := mustJSON(s.before)
	var read State
	if err := json.Unmarshal(before, &read); err != nil {
		x.failf("%v", err)
	}
	if again := mustJSON(read); !bytes.Equal(before, again) {
		x.failf("the state changes when it is written and read:\n%s\n%s", before, again)
	}
	after, decisions := Step(read, s.fact)
	if a, b := decisionsJSON(decisions), decisionsJSON(s.decisions); a != b {
		x.failf("a state that was read decides\n%s\nand not\n%s", a, b)
	}
	if a, b := mustJSON(after), mustJSON(s.after); !bytes.Equal(a, b) {
		x.failf("a state that was read becomes\n%s\nand not\n%s", a, b)
	}
	if !bytes.Equal(before, mustJSON(s.before)) {
		x.failf("Step changed the state it was given")
	}
	if a, b := mustJSON(Status(after)), mustJSON(Status(s.after)); !bytes.Equal(a, b) {
		x.failf("a state that was read has the status\n%s\nand not\n%s", a, b)
	}
}

// checkDecisions folds facts and decisions naively: nothing is started twice,
// nothing is ended that does not run, nothing starts in a pod that ends, and
// what is torn down is empty.
func (x *trouble) checkDecisions(s step) {
	x.foldAlive(s.fact)
	ending := s.after.p.Ending != nil
	for _, d := range s.decisions {
		for _, id := range d.Because() {
			if id == 0 || id > s.fact.ID {
				x.failf("%s rests on fact %d at fact %d", d.Body().Kind(), id, s.fact.ID)
			}
		}
		name := d.Container()
		switch d.Body().(type) {
		case fact.Start:
			if x.alive[name] || ending {
				x.failf("%s is started (it is alive: %v, the pod ends: %v)", name, x.alive[name], ending)
			}
			x.alive[name] = true
		case fact.Kill:
			if !x.alive[name] {
				x.failf("%s is killed and does not run", name)
			}
		case fact.TearDown:
			if s.before.p.Sandbox.Stage == sandboxMaking && s.after.p.Sandbox.Fact == s.before.p.Sandbox.Fact {
				x.failf("torn down before it was known what was made")
			}
			if len(liveNames(x.alive)) > 0 || x.tornDown {
				x.failf("torn down while %v run (for the second time: %v)", liveNames(x.alive), x.tornDown)
			}
			x.tornDown = true
		case fact.Release:
			if !x.tornDown || x.released || s.after.p.Deletion == nil {
				x.failf("released too early, twice or unasked")
			}
			x.released = true
		}
	}
}

// checkKillFailed: what could not be ended is asked to end again, and soon.
func (x *trouble) checkKillFailed(s step) {
	c := s.before.p.find(s.fact.Container)
	if _, failed := s.fact.Body.(fact.KillFailed); !failed || !c.alive() || c.Kill == nil || s.fact.Attempt != c.current() {
		return
	}
	asked := slices.ContainsFunc(s.decisions, func(d fact.Decision) bool { return d.Body().Kind() == "Kill" })
	by := Deadline(s.after)
	if !asked && (by.IsZero() || by.After(x.now.Add(defaults.Retry))) {
		x.failf("%s could not be ended, and would be told again at %v", s.fact.Container, by)
	}
}

// foldAlive is the naive view of which containers run: a start makes one, and an
// end of the newest one unmakes it.
func (x *trouble) foldAlive(f fact.Fact) {
	c := x.steps[len(x.steps)-1].before.p.find(f.Container)
	if c == nil {
		return
	}
	switch b := f.Body.(type) {
	case fact.ImageFailed:
		if c.Stage == starting && f.Attempt == c.Try {
			x.alive[f.Container] = false
		}
	case fact.StartFailed:
		if c.Stage == starting && f.Attempt == c.Try {
			x.alive[f.Container] = false
		}
	case fact.Exited:
		unseen := c.Stage == starting && f.Attempt == c.Try && c.Made == "" // its end is told first
		if b.ContainerID == c.Run.ID && c.Run.Ended == nil || b.ContainerID == c.Made || unseen {
			x.alive[f.Container] = false
		}
	}
}

func liveNames(alive map[string]bool) []string {
	var names []string
	for name, is := range alive {
		if is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkPhase: what is final stays, and a pod does not end by itself while
// something in it was ended only to be started again (law 4).
func (x *trouble) checkPhase(s step) {
	before, after := s.before.p.Phase, s.after.p.Phase
	if terminal(before) && before != after {
		x.failf("phase %s became %s", before, after)
	}
	if before == v1.PodRunning && after == v1.PodPending && s.after.p.Sandbox.Attempt == s.before.p.Sandbox.Attempt && !x.addsWork(s) {
		x.failf("phase Running became Pending at %s", s.fact.Body.Kind())
	}
	if terminal(after) && len(liveNames(x.alive)) > 0 {
		x.failf("phase %s while %v run", after, liveNames(x.alive))
	}
	e := s.after.p.Ending
	t := turn{pod: s.after.p.clone()}
	t.Ending = nil
	if s.before.p.Ending != nil || e == nil || e.Kill != fact.KillPodDone || t.failedForGood() != nil {
		return
	}
	for i := range s.after.p.Containers {
		c := &s.after.p.Containers[i]
		if k := c.Run.Killed; c.Role == regular && c.Stage == ended && k != nil &&
			(k.Reason == fact.KillLiveness || k.Reason == fact.KillStartup) && s.after.p.restartsAfterKill(c) {
			x.failf("the pod ended after %s was killed for its probe", c.Name)
		}
	}
}

// addsWork says that a step may take a pod back to Pending: init containers run
// anew.
func (x *trouble) addsWork(s step) bool {
	return s.after.p.couldRestartAll() || s.after.p.Sandbox.Attempt > 0
}

// checkStatus compares the status with naive folds: readiness with the states of
// the containers (law 6), restart counts with the runs that were seen, and
// transition times with the conditions before.
func (x *trouble) checkStatus(s step) {
	if !s.after.p.settled() {
		return
	}
	status, old := Status(s.after), x.shown
	x.shown = status
	x.checkLeft(&s.after.p, old.ContainerStatuses, status.ContainerStatuses)
	ready := findCondition(status.Conditions, v1.PodReady).Status == v1.ConditionTrue
	all := !terminal(status.Phase)
	for i := range s.after.p.Containers {
		c := &s.after.p.Containers[i]
		if c.Role == regular || c.Role == sidecar {
			all = all && x.naiveReady(&s.after.p, c)
		}
	}
	for _, gate := range s.after.p.Object.Spec.ReadinessGates {
		g := findCondition(status.Conditions, gate.ConditionType)
		all = all && g != nil && g.Status == v1.ConditionTrue
	}
	if ready != all {
		x.failf("Ready is %v and should be %v: %s", ready, all, mustJSON(status))
	}
	for _, c := range status.Conditions {
		was := findCondition(old.Conditions, c.Type)
		if was != nil && was.Status == c.Status && was.Reason == c.Reason && !was.LastTransitionTime.Equal(&c.LastTransitionTime) && c.Type != v1.PodScheduled {
			x.failf("%s has another transition time and the same status: %v, %v", c.Type, was, c)
		}
	}
}

// checkLeft: no main container leaves a terminated state that the API server
// keeps it in, because then no status would be taken any more
// (apis/core/validation, ValidateContainerStateTransition).
func (x *trouble) checkLeft(p *pod, old, now []v1.ContainerStatus) {
	for i, was := range old {
		if was.State.Terminated == nil || i >= len(now) || now[i].State.Terminated != nil || p.couldRestartAll() {
			continue
		}
		spec := p.spec(p.find(was.Name))
		if !restarts(spec, p.Object.Spec.RestartPolicy, was.State.Terminated.ExitCode) {
			x.failf("%s was shown as ended with %d and may not leave that", was.Name, was.State.Terminated.ExitCode)
		}
	}
}

func (x *trouble) naiveReady(p *pod, c *container) bool {
	spec := p.spec(c)
	if c.Stage != running {
		return false
	}
	return (spec.StartupProbe == nil || x.naiveResult(c, fact.Startup, spec.StartupProbe)) &&
		(spec.ReadinessProbe == nil || x.naiveResult(c, fact.Readiness, spec.ReadinessProbe))
}

// naiveResult counts the attempts of a probe of the newest run from the whole
// journal.
func (x *trouble) naiveResult(c *container, kind fact.ProbeKind, spec *v1.Probe) bool {
	result, held := false, false
	var last fact.Verdict
	streak := int64(0)
	for _, s := range x.steps {
		b, ok := s.fact.Body.(fact.Probed)
		if !ok || s.fact.Container != c.Name || b.Probe != kind || b.Verdict == fact.Unknown || held {
			continue
		}
		at := s.before.p.find(c.Name)
		if at == nil || at.Run.ID != c.Run.ID || !s.before.p.wantsProbe(at, kind) {
			continue
		}
		good := b.Verdict != fact.Failure
		if verdict := map[bool]fact.Verdict{true: fact.Success, false: fact.Failure}[good]; verdict != last {
			last, streak = verdict, 0
		}
		streak += max(1, b.Count)
		threshold := spec.SuccessThreshold
		if !good {
			threshold = spec.FailureThreshold
		}
		if streak >= int64(threshold) {
			result = good
			held = kind == fact.Startup
		}
	}
	return result
}
