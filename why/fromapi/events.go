package fromapi

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
	"whylet.dev/whylet/shadow"
	"whylet.dev/whylet/why/prose"
)

// ownEvents reads the events about this very pod: one of the same name before it had another uid.
func (t *teller) ownEvents() {
	for i := range t.Events {
		if e := &t.Events[i]; t.own(e) {
			t.events = append(t.events, reported.Read(e))
		}
	}
	slices.SortStableFunc(t.events, func(a, b reported.Event) int { return a.Last.Compare(b.Last) })
}

func (t *teller) own(e *v1.Event) bool {
	of := e.InvolvedObject
	if t.gone && of.UID == "" {
		return of.Kind == "Pod" && of.Name == t.Pod.Name
	}
	return of.UID == t.Pod.UID && t.Pod.UID != "" && (of.Name == "" || of.Name == t.Pod.Name)
}

// slack is how far kubelet's events and the runtime's times of one moment may be apart: both are
// whole seconds.
const slack = 2 * time.Second

// usual are events of a calm life, of which the status tells more.
var usual = []string{"Scheduled", "Pulling", "Pulled", "Created", "Started"}

// hooks are the events about lifecycle hooks that failed.
var hooks = map[string]fact.HookKind{"FailedPostStartHook": fact.PostStart, "FailedPreStopHook": fact.PreStop}

// event tells of one event. One that came several times is told of as it came first and as it came last:
// between them there may have been others.
func (t *teller) event(e reported.Event) {
	if e.Reason == "Pulling" && !t.since(e, e.Container, "Pulled", "Failed", "Created") {
		t.tell(e.Last, e.Container, t.attempt(e, e.Last), fact.ImagePulling{})
	}
	if slices.Contains(usual, e.Reason) || t.cameRight(e) {
		return
	}
	if kind, output, errored, ok := reported.Unhealthy(e.Message); ok && e.Reason == "Unhealthy" {
		t.attempts(e, reported.Attempt(kind, t.probe(e.Container, kind), output, errored))
		return
	}
	for _, at := range t.times(e) {
		attempt := t.attempt(e, at)
		if kind, ok := hooks[e.Reason]; ok {
			t.tell(at, e.Container, attempt, fact.HookRan{Hook: kind, Error: e.Message})
			continue
		}
		for _, body := range e.Bodies() {
			if failed, ok := body.(fact.ImageFailed); ok {
				failed.OnNode = t.onNode(e.Container)
				body = failed
			}
			t.tell(at, e.Container, attempt, body)
		}
	}
}

// times returns the times of a counted event: its first and its last. If kubelet ended each run of a container in between,
// since it sent as many Killing events as there were runs, the ends of these runs are times, too.
func (t *teller) times(e reported.Event) []time.Time {
	if e.New <= 1 || e.First.IsZero() || e.Last.Sub(e.First) <= slack {
		return []time.Time{e.Last}
	}
	all := []time.Time{e.First}
	from, to := t.attempt(e, e.First), t.attempt(e, e.Last)
	_, known := t.run(e.Container, from)
	each := e.Reason == shadow.SaidKilling && (e.New == int64(to)+1 || known && e.New == int64(to-from)+1)
	for _, r := range t.runs(e.Container) {
		if each && r.attempt > from && r.attempt < to && !r.until.IsZero() {
			all = append(all, latest(r.from, r.until.Add(-time.Second)))
		}
	}
	return append(all, e.Last)
}

// mostInRow is how many attempts of a row are told of.
const mostInRow = 10

// since says whether an event of some reasons came after another, about a container or, where that is empty, about any.
func (t *teller) since(e reported.Event, container string, reasons ...string) bool {
	return slices.ContainsFunc(t.events, func(o reported.Event) bool {
		return slices.Contains(reasons, o.Reason) && o.Last.After(e.Last) && (container == "" || o.Container == container)
	})
}

// holds is how old the event of a step can be that holds a pod: mounts are tried again at least every two minutes
// and two seconds (k8s.io/kubernetes pkg/util/goroutinemap/exponentialbackoff).
const holds = 3 * time.Minute

// cameRight says whether an event tells of a step of the pod's making that has been done since: images are
// pulled after it.
func (t *teller) cameRight(e reported.Event) bool {
	stage := e.Reason == "FailedMount" || e.Reason == "FailedAttachVolume" || e.Reason == "FailedMapVolume" || e.Reason == "FailedCreatePodSandBox"
	if e.Reason == "FailedAttachVolume" && t.since(e, "", "FailedMount") && !t.since(e, "", "SuccessfulAttachVolume", "Pulling", "Pulled", "Created") {
		return false // the controller that attaches volumes tells of it once, and kubelet then of what it waits for
	}
	return stage && (t.Now.Sub(e.Last) > holds && !t.gone || t.since(e, "", "Pulling", "Pulled", "Created"))
}

// eventDelay is how late an event's count may be brought up to date while the failures go on.
const eventDelay = 10 * time.Second

// stale says whether an event is too old for a probe that keeps a container from being ready now: kubelet would
// have told of it again, unless it gives most events up by now.
func (t *teller) stale(e reported.Event, b fact.Probed) bool {
	st := first(t.Pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.Name == e.Container })
	ready, p := condition(t.Pod, v1.PodReady), t.probe(e.Container, b.Probe)
	if st == nil || p == nil || ready == nil || st.Ready || st.State.Running == nil || b.Probe == fact.Liveness {
		return false
	}
	age := t.Now.Sub(e.Last)
	if age <= time.Duration(max(p.PeriodSeconds, 1)+max(p.TimeoutSeconds, 1))*time.Second+eventDelay+slack {
		return false
	}
	count := int64(0)
	for _, one := range t.events {
		if one.Component == shadow.By {
			count += max(one.New, 1)
		}
	}
	return count < burst || age > refill || e.Last.Before(ready.LastTransitionTime.Time)
}

// attempts tells of the attempts of a probe that an event counts: of the first, and of the newest ones
// as often as there was time for in the newest run.
func (t *teller) attempts(e reported.Event, b fact.Probed) {
	if t.stale(e, b) {
		return
	}
	newest := t.attempt(e, e.Last)
	p := t.probe(e.Container, b.Probe)
	period, row := 10*time.Second, int64(1)
	if p != nil {
		period, row = time.Duration(max(p.PeriodSeconds, 1))*time.Second, int64(max(p.FailureThreshold, 1))
	}
	n := min(e.New, row)
	if !e.First.IsZero() && e.Last.Sub(e.First) <= time.Duration(e.New-1)*(period+time.Second)+slack {
		n = min(e.New, mostInRow) // none can have passed between them
	}
	since := e.First
	if r, ok := t.run(e.Container, newest); ok {
		since = latest(since, r.from)
	}
	if first := t.attempt(e, e.First); e.New > 1 && !e.First.IsZero() && (first != newest || e.Last.Sub(e.First) > time.Duration(n)*period) {
		t.tell(e.First, e.Container, first, b)
		n = min(n, e.New-1)
	}
	t.row(e.Container, newest, e.Last, since, n, period, b)
	for _, k := range t.events {
		if k.Reason != shadow.SaidKilling || k.Container != e.Container || !strings.Contains(k.Message, strings.ToLower(string(b.Probe))+" probe") {
			continue
		}
		// kubelet acts on the last attempt of the row at once, and counts it with the others of its like.
		for _, at := range t.times(k) {
			killed := t.attempt(k, at)
			r, ok := t.run(e.Container, killed)
			if killed != newest && ok && !e.First.After(at.Add(slack)) && !e.Last.Before(at.Add(-slack)) {
				t.row(e.Container, killed, at, r.from, n, period, b)
			}
		}
	}
}

// row tells of the attempts of a probe in a row, the last at some time, as far back as a run goes.
func (t *teller) row(container string, attempt int32, last, since time.Time, n int64, period time.Duration, b fact.Probed) {
	for i := n - 1; i >= 0; i-- {
		at := last.Add(-time.Duration(i) * period)
		if i == 0 || !at.Before(since.Add(-slack)) {
			t.tell(latest(at, since), container, attempt, b)
		}
	}
}

func (t *teller) probe(container string, kind fact.ProbeKind) *v1.Probe {
	probe := fact.ProbeOf(t.spec(container), kind)
	if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.StrVal == "" {
		return probe
	}
	for _, p := range t.spec(container).Ports {
		if p.Name == probe.HTTPGet.Port.StrVal { // kubelet's words have the number
			probe = probe.DeepCopy()
			probe.HTTPGet.Port = intstr.FromInt32(p.ContainerPort)
			break
		}
	}
	return probe
}

// run is a run of a container by its number.
func (t *teller) run(container string, attempt int32) (run, bool) {
	for _, r := range t.runs(container) {
		if r.attempt == attempt {
			return r, true
		}
	}
	return run{}, false
}

func (t *teller) runs(container string) []run {
	if c := first(states(&t.Pod.Status), func(c v1.ContainerStatus) bool { return c.Name == container }); c != nil {
		return runs(c)
	}
	return nil
}

// attempt is the run of a container that an event of some time is about: what is ordered in a run ends
// it, however long a busy node takes for that.
func (t *teller) attempt(e reported.Event, at time.Time) int32 {
	all := t.runs(e.Container)
	if len(all) == 0 {
		return 0
	}
	late := prose.Whether(e.Reason != "Killing" && e.Reason != "Unhealthy", 0, slack)
	for _, r := range all {
		switch {
		case at.Add(time.Second).Before(r.from):
			return max(r.attempt-1, 0)
		case r.until.IsZero(), !at.After(r.until.Add(late)):
			return r.attempt
		}
	}
	return all[len(all)-1].attempt + 1 // while the next was to start
}

// saysWhy says whether an event has the registry's words of why there is no image.
func (t *teller) saysWhy(container string) bool {
	return slices.ContainsFunc(t.events, func(e reported.Event) bool {
		return e.Container == container && strings.HasPrefix(e.Message, "Failed to pull image ")
	})
}

// Kubelet writes 25 events of one pod, and then one more each five minutes (client-go
// tools/record, defaultSpamBurst); they are kept for an hour (kube-apiserver,
// --event-ttl).
const (
	burst    = 25
	refill   = 5 * time.Minute
	keptFor  = 25 * time.Minute
	fewWords = 2
	// atOnce is how many events of one pod kubelet writes at least before it gives any up.
	atOnce = 20
)

// silent says that kubelet did not order the end of a run, as its word for it is not
// there, though it would be: nothing in the pod's spec could have made it order one, or it
// could still write of the next run, within the time in which it may write one event more
// than at the end.
func (t *teller) silent(container string, r run) bool {
	if t.Pod.DeletionTimestamp != nil || t.sandboxAnew(r) || t.killed(container, func(e reported.Event, at time.Time) bool { return t.attempt(e, at) == r.attempt }) > 0 {
		return false
	}
	if !t.mayBeEnded(container, r) || t.heardAll(container) {
		return true
	}
	// It has ordered several ends of this container: of this one its word may have been lost,
	// as when there were too many, or it was restarted.
	if t.killed(container, func(reported.Event, time.Time) bool { return true }) > 1 {
		return false
	}
	after := 0
	for _, e := range t.events {
		about := e.Last.Sub(r.until)
		if e.Container == container && slices.Contains([]string{"Pulled", "Created", "Started", "BackOff"}, e.Reason) && about >= -slack && about < refill-t.grace() {
			after++
		}
	}
	return after >= fewWords && t.Now.Sub(r.until) < keptFor
}

// sandboxAnew says whether the pod got another sandbox after a run had begun: what was in
// the first ended with it.
func (t *teller) sandboxAnew(r run) bool {
	up := condition(t.Pod, "PodReadyToStartContainers")
	return up != nil && up.Status == "True" && up.LastTransitionTime.Sub(r.from) > anew
}

// killed counts kubelet's words that it ends a container, of those times that are meant.
func (t *teller) killed(container string, meant func(e reported.Event, at time.Time) bool) (n int64) {
	for _, e := range t.events {
		if e.Reason == shadow.SaidKilling && e.Container == container && (meant(e, e.Last) || meant(e, e.First)) {
			n += max(e.New, 1)
		}
	}
	return n
}

// heardAll says that no word of kubelet about a container's ends can be missing: those
// about its pod are fewer than it writes at once, the oldest event of all, which is not
// written again, is still there, and each order is told with a time of its own.
func (t *teller) heardAll(container string) bool {
	count, oldest := int64(0), false
	for _, e := range t.events {
		switch {
		case e.Reason == "Scheduled":
			oldest = !e.Last.After(t.Pod.CreationTimestamp.Add(refill))
		case e.Reason == shadow.SaidKilling && e.Container == container && e.New > 1:
			return false
		default:
			count += max(e.New, 1)
		}
	}
	return oldest && count <= atOnce
}

// mayBeEnded says whether something in the pod's spec makes kubelet end a run of a container: a hook, that the spec was
// changed, or a probe that had the time to fail often enough.
func (t *teller) mayBeEnded(container string, r run) bool {
	k := t.spec(container)
	return k == nil || k.Lifecycle != nil && k.Lifecycle.PostStart != nil || t.Pod.Generation > 1 || mayKill(k.LivenessProbe, r) || mayKill(k.StartupProbe, r)
}

// mayKill reports whether a probe had the time in a run to reach its failure threshold.
func mayKill(p *v1.Probe, r run) bool {
	if p == nil || r.from.IsZero() || r.until.IsZero() {
		return p != nil
	}
	return r.until.Sub(r.from)+slack >= fact.SoonestKill(p)
}
