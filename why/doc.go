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
//     good one is known only where its counters say so (attempts.go);
//   - the status is the newest that was seen. It is never computed.
//
// # Where things are
//
// One pod's facts, ordered by container and run, and what they say by themselves: package
// why/history. Here:
//
//	symptoms.go  what needs an explanation; an end of which little was seen, by like ends before it
//	explain.go   Explain: a history that is asked about; symptoms to verdicts
//	each.go      facts with their bodies, one by one
//	finding.go   what a rule says, to which it yields, and how the judge chooses
//	rules.go     the rules by name, and to which each yields
//	order.go     whether an end was ordered, and who decided, as far as that is known
//	from_api.go  what stands for sight of the node where only the API server was asked; from_api_ports.go, where a
//	             container listens
//	exit.go      why a run ended; rule_exit.go, by itself, and what well-known last words stand
//	             for, by [whylet.dev/whylet/knowledge], whose steps advice.go carries out; rule_killed.go,
//	             by a signal to it or a child; rule_oom.go; rule_room.go, for want of room;
//	             rule_dependency.go
//	probing.go   why a probe fails; attempts.go, in which way its attempts failed, and which were seen;
//	             probing_told.go words them; open_probe.go, what to do where the cause stays open; rule_probe*.go and rule_mesh.go, one file a family
//	rule_probe_where.go   why a probe fails, by where it asks, what is on its way, what is spoken there, and who answers
//	rule_probe_log.go     by what the container says in its log
//	rule_probe_awaits.go  by whose answer is waited for
//	start.go     why a container or a pod does not start, by rule_start.go: what cannot be set up or
//	             mounted, and which container the others wait for
//	degraded.go  Ready pods that fail, by their logs and connections; log_errors.go, which errors of a log
//	             go on
//	pod.go       the pod itself: completion, refusal, a shutdown, new resources without effect; ready.go,
//	             readiness; evicted.go, what the node ran short of; rule_deleted.go, who wanted it gone
//	reaches.go   which places a pod asks for something, for who follows it there
//	listening.go what a pod listens on, and what does no more that nobody probes
//	node.go      when a node was away, why, and what that was for its pods
//	log_end.go   the end of a log, of which the last lines are chosen anew
//	links.go     facts as links of a chain, in words
//	fixes.go     what to do, by what a container itself says, too; outcome.go, by what a look shows
//	given.go     what the pod gives a container and configures it with, laid beside the words that are about it
//	allow.go     what lets a container do what it was refused
//	named.go     where a file or a value comes from that words name, and what to do there
//	settings.go  what a spec says of heaps, volumes in memory, modes and shells
//	words.go     processes and signals in words
package why
