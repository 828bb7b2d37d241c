// Package cluster answers from what the API server has: its objects, and the answers
// that nodes gave about pods. It never sees a fact, so it runs wherever an answer is
// read.
//
//	pending.go    why a pod has no node yet; claims.go and around.go, what is around it; room.go, free resources and host ports of nodes
//	node_lost.go  pods of which no node knows, those whose node lets nothing be heard, and a node that the API server
//	              cannot reach
//	workload.go   what stands for several pods, and whether it lacks some; controller.go, why it has too few
//	service.go    why a Service has no endpoints; listening.go, whether its pods listen for it;
//	              unreached.go, where Ready pods that take no connections listen, by specs, settings and logs
//	follow.go     what may be another pod's trouble; lead.go, what is told where it leads, and what to do there;
//	              settings.go, what configures a pod
//	policy.go     the NetworkPolicy that blocks a connection; policy_steps.go, how to admit it
//	ready_behind.go  what to do about a Service whose pods are Ready and do not answer
//	doors.go      a Service that is asked, and leads to nobody who takes requests
//	echo.go       what one says that another says too
//	seems_well.go what is wrong with a pod that looks well, also of a disk that is full
//	mutual.go     pods that wait for each other, for those that have a copy, and for one before it that is not ready
//	no_name.go    names of nobody, who asks for them where nobody knows any, and addresses that pods had
//	named_line.go the line of a ConfigMap that words are about; named_file.go, where they call its
//	             file otherwise; code_line.go, a line of code and the variables that it reads
//	variables.go  the variables that words miss, that leave a word short, or that code or a probe's script reads and
//	              nothing gives it
//	topic_line.go the settings that a cause is about, and the one that allows more memory than there is
//	own_service.go  a probe that asks by the Service of its own pod
//	said.go       whom words call by its name; job.go, Jobs, and what keeps one from being complete
//	untyped.go    what answers of agents from before have in their text alone
//	node.go       what a node promised its pods, and what presses it
package cluster
