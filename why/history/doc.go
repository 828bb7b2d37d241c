// Package history orders what a journal knows of one pod, so that rules can look at it: by
// container and run, with what the facts say by themselves. It words nothing and concludes
// no cause; that is package why's.
//
// It is pure. A [History] is of an agent that only watches beside somebody else's node when
// its newest [fact.AgentStarted] names in Beside who decides, or when it has decisions of
// somebody else ([fact.Act]) or a status that was seen ([fact.StatusSeen]). An Act is
// read as the decision in it; [History.Basis] says how it is known.
//
//	history.go  a history and its runs
//	run.go      whose a process is; what the looks and kills of one run say
//	pod.go      the pod itself: kinds of containers, deletion, conditions, changes; when its node's agent
//	            ran, and when the machine was restarted
//	status.go   the pod's status, as it was seen or as package health computes it
package history
