// Package health is the pod health state machine, as a pure function of facts.
//
//	state, decisions = Step(state, fact)
//
// There is no clock, goroutine, client or log call here. Time comes in with the
// facts, and the moment at which the machine wants to be asked again goes out
// as [Deadline]; the caller then feeds a fact.TimePassed. So a five-minute
// back-off is tested in microseconds, and replaying a journal gives the same
// decisions byte for byte.
//
// # One step
//
// A step has three parts, always in this order (health.go):
//
//	observe  folds the fact into the state: what the world is like now
//	plan     looks at the whole state and decides what should be done about it
//	report   works out what the API server is told, and decides what changed of it
//
// Plan does not ask which fact came. It compares what is with what should be,
// and leaves alone what is under way already, so a fact that is late, repeated
// or lost changes the moment of a decision and never its kind. This is how
// kubelet's computePodActions works too, with two differences: there is no poll
// behind it, and why a container was ended is not forgotten on the way.
//
// # A pod's life
//
//	SpecSeen ── RoomSeen ── Admitted ── SetUp ── SetUpDone ── Start … ── ending ── TearDown ── TornDown ── Release ── ObjectGone
//	                    └── Refused ────────────────────────────────────── ending ──────────────────────── Release
//
// The pod ends (ending.go) when it is deleted, refused, evicted, active for too
// long, or done: from then on nothing is started. Its containers are ended in
// their order (order.go), then the sandbox is torn down, and if the deletion
// was asked for the object is released. A pod whose sandbox ended by itself
// does not end: its containers are ended, and all begins again in a new sandbox
// (setup.go).
//
// # A container's life
//
//	        ┌────────────── pause: back-off, or just later ◄───────────┐
//	        ▼                                                          │
//	idle ── Start ── starting ── Started, postStart hook ── running ── Exited ── ended
//	                     └── ImageFailed, StartFailed ─────────────────┘
//
// Every SetUp is answered by SetUpDone or SetUpFailed; a pod that is to end waits
// for it. Every Start is answered, in the end, by one of Started, ImageFailed,
// StartFailed or Exited, and by HookRan if the container has a postStart hook.
// Until that hook has run a container counts as starting. Every Kill is
// answered by Exited, or by KillFailed and then asked again. A Kill for a
// container that is starting calls the start off; if it runs nevertheless, the
// Kill is said again. A second Kill for a container that is being ended means
// that it has less time. A Start under way keeps the attempt (the restart
// count) that it was given, and its facts carry it; facts of another attempt,
// and of containers that are known to have ended, are ignored.
//
// Whether an ended container is started again (restart.go, init.go) follows
// from why it ended and from its policy; when, from its back-off (backoff.go).
// What the status shows meanwhile is kubelet's order of things: first the end
// itself, and a little later that it backs off.
//
// # What the caller does
//
//   - It feeds every observed fact of the pod in the order of its journal. The
//     first is SpecSeen, and RoomSeen (from [SeeRoom]) the second, from which it
//     is decided whether the pod is taken in. Where an earlier agent ran it, what
//     is left comes instead, in this order: AdoptedStatus, SetUpDone,
//     Started{Adopted} and Exited for each container that the runtime knows, and an
//     observed Admitted, which means that all of it was told: whatever is missing
//     then is made.
//   - Before a fact of which [NeedsRoom] says so, it feeds another RoomSeen. After
//     one that [MakesRoom] it tells the pods that [WaitsForRoom] (RoomMade).
//   - It writes fact and decisions down, and then attempts the effects in the
//     order of the decisions.
//   - It makes [Status] known whenever it differs from before, runs exactly the
//     [Probes], and feeds a fact.TimePassed at [Deadline]. A tick from which
//     nothing was decided changed nothing and need not be kept.
//   - Kill.GraceSeconds is all the time that a container has, its preStop hook
//     included. Resize is answered by Resized or by ResizeFailed. Where there is no
//     room it is not asked for: ResizeFailed is decided then, as Deferred or
//     Infeasible.
//
// # Where things are
//
//	state.go      what is known of a pod, its containers and their runs
//	health.go     Step: observe, plan, report
//	spec.go       the pod's specification, and whether it is taken in
//	adopt.go      what an agent without a journal takes over
//	setup.go      the sandbox, its loss and its replacement
//	start.go      starts, in kubelet's order, and their failures
//	init.go       init containers and sidecars
//	probes.go     thresholds, started and ready, which probes should run
//	kill.go       why a single container is ended, grace periods
//	exits.go      ends and hooks
//	cause.go      the reason and the one sentence that say what ended a container
//	restart.go    who is started again: policies, rules for exit codes, law 4
//	restartall.go RestartAllContainers
//	backoff.go    when: back-offs of crashes and of image pulls
//	ending.go     deletion, eviction, deadline, completion of the whole pod
//	order.go      who is ended first
//	resize.go     new resources for running containers
//	phase.go      Marked and the phase
//	conditions.go the conditions; transition.go: since when they hold
//	status.go     the status; qos.go its class
//	room.go       whether the node has room: for a new pod, and for a resize
//	evict.go      whose turn it is to go when the node runs short
//	evict_ask.go  what a pod asked for of the memory
//	deadline.go   the next moment at which something follows from time alone
//
// Rules are Kubernetes v1.37.2's; comments name the file of its kubelet that a
// rule was read from. Where this package differs on purpose:
//
//   - A container that was ended for its liveness or startup probe is started
//     again under Always and OnFailure, also after a back-off (law 4).
//   - OOMKilled is the reason of an end only if the OOM killer brought it about,
//     and an end without a message of its own says who did (law 5).
//   - Containers that never ran stay waiting in a pod that was deleted; kubelet
//     invents an exit code 137 for them (law 7).
//   - A sidecar's preStop hook runs when its turn to end has come, so it can still
//     do its work for the main containers; kubelet runs it at once.
//   - A container that finished for good before its sandbox was lost is not run
//     a second time.
//   - RestartAllContainers keeps how the containers ended.
package health
