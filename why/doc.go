// Package why answers why a pod is as it is: from facts to symptoms, from
// symptoms to root causes, with the evidence.
//
// It is pure: facts go in, an [answer.Answer] comes out. There is no
// clock (the caller says what time it is), no client and no journal here, so
// the same history gives the same answer on any machine.
//
// # How an answer is made
//
//	facts ── history.New ─► History ── symptoms ──► []Symptom
//	                          │                        │ one decisive fact each:
//	                          ▼                        ▼ an end, a failing probe, a failed start…
//	                    what else is known ──► rules ──► findings ── judge ──► Verdict
//
// What the node decided itself is followed along Because: an end, the Kill that
// ordered it, the probe attempts on which that rests. Such a verdict is
// [answer.Recorded]. Where the links end, named rules conclude from evidence
// (rules.go lists them, rule_*.go has one subject each; testdata/rules says what each needs to see and
// what speaks against it). The best supported finding becomes the
// verdict ([answer.Inferred]), what was looked at and refuted is shown as ruled out,
// and if nothing is supported well enough, or two causes equally well, the
// answer is [answer.Unknown] and says what is missing and how to get it.
//
// # Beside somebody else's node
//
// Where the agent decides about pods itself, what it did not order was not ordered by
// the node. Where it only watches, silence proves nothing. Package why/history says
// when a history is of such an agent. Then
//   - an end was ordered, was not, or that is not known (order.go): it was not, where
//     the spec and what was seen leave no reason for an order, or where the agent's
//     Sources say that it traced "signals" all through the time in which one would
//     have been carried out. Rules that need an end that nobody ordered say so, and
//     find nothing stronger than possible where that is not known;
//   - an Act is read as the decision in it. A verdict on one that was told is recorded,
//     on one that was matched or deduced it is inferred, and says that;
//   - attempts of which only kubelet tells are those that failed: that there was no
//     good one is known only where its counters say so (sight.go);
//   - the status is the newest that was seen. It is never computed.
//
// # Where things are
//
// One pod's facts, ordered by container and run, and what they say by themselves: package
// why/history. Here:
//
//	symptoms.go  what needs an explanation
//	explain.go   Explain: a history that is asked about; symptoms to verdicts
//	each.go      facts with their bodies, one by one
//	finding.go   what a rule says, to which it yields, and how the judge chooses
//	rules.go     the rules by name, and to which each yields
//	sight.go     which attempts were seen
//	order.go     whether an end was ordered, as far as that is known
//	from_api.go  what stands for sight of the node where only the API server was asked
//	beside.go    who decided, where that is not the node that is asked
//	exit.go      why a run ended; rule_exit.go, rule_killed.go, rule_oom.go, rule_room.go,
//	             rule_cpu_time.go, rule_heap.go, rule_dependency.go; rule_as_before.go, by like
//	             ends before it; rule_meaning.go, what well-known
//	             last words stand for, by [whylet.dev/whylet/knowledge]; advice.go carries out its steps
//	probing.go   why a probe fails, and probing_mode.go, in which way; rule_probe*.go and
//	             rule_mesh.go, one file a family
//	probing_told.go    how a probe and its attempts are worded
//	rule_probe_log.go  why a probe fails, by what the container says in its log
//	rule_probe_awaits.go  why a probe fails, by whose answer is waited for
//	rule_probe_filter.go  why a probe fails, by what the grep at the end of its command kept back
//	rule_probe_full.go  why a probe fails, by the limits of who should answer
//	rule_probe_speaks.go  why a probe fails, by what else is spoken there
//	rule_probe_relay.go  whose answer it is that a probe gets, by its page
//	start.go     why a container or a pod does not start, by rule_start.go, and rule_image.go
//	             where it is for want of an image; start_init.go, what the others wait for;
//	             start_mount.go, what cannot be mounted into it
//	degraded.go  Ready pods that fail, by their logs and connections
//	pod.go       deletion and completion; ready.go, readiness; evicted.go, what the node ran
//	             short of
//	rule_deleted.go, rule_requested.go, rule_controller.go  who wanted a pod gone
//	rule_resize.go  why new resources of a running pod have no effect
//	reaches.go   which places a pod asks for something, for who follows it there
//	listening.go what a pod listens on; listener_ended.go, one that nobody probes and that does no more
//	node.go      when a node was away, and why; node_pod.go, what that was for its pods
//	log_end.go   the end of a log, of which the last lines are chosen anew
//	links.go     facts as links of a chain, in words
//	fixes.go     what to do
//	advised.go   what to do by what a container itself says
//	named_setting.go  where the spec gives a program what its words name
//	given.go     what the pod gives a container, laid beside the words that are about it
//	missing_module.go  what to do about a module or a database that is not there
//	configured.go what configures a container, where nobody knows more
//	named_file.go  where a file comes from that words name, and what to do there
//	settings.go  what a spec says of heaps, volumes in memory, modes and shells
//	words.go     processes and signals in words
package why
