// Package cluster answers from what the API server has: its objects, and the answers
// that nodes gave about pods. It never sees a fact, so it runs wherever an answer is
// read.
//
//	pending.go    why a pod has no node yet; claims.go (claim.go: one alone), volumes.go, taints.go and
//	              node_labels.go, what is around it
//	node_lost.go  pods of which no node knows, and those whose node lets nothing be heard
//	node_unreachable.go  a node that the API server cannot reach; short.go, objects that lack pods
//	workload.go   what stands for several pods; controller.go, why it has too few; cronjob.go
//	service.go    why a Service has no endpoints; listening.go, whether its pods listen for it
//	follow.go     what may be another pod's trouble; lead.go, what is told where it leads;
//	              settings.go, what configures a pod
//	policy.go     the NetworkPolicy that blocks a connection; policy_steps.go, how to admit it
//	doors.go      a Service that is asked, and leads to nobody who takes requests
//	echo.go       what one says that another says too
//	seems_well.go what is wrong with a pod that looks well; full.go, of a disk that is full
//	mutual.go     pods that wait for each other; copies.go, and for those that have a copy;
//	              ordinal.go, and for one before it that is not ready
//	steps.go      what to do about one that looks well and is to blame
//	address.go    addresses that pods had, and who still asks there; no_name.go, names of nobody;
//	              name_server.go, who asks for them where nobody knows any
//	named_line.go the line of a ConfigMap that words are about; named_file.go, where they call its
//	             file otherwise; size_line.go, the one that allows more memory than there is
//	missing_variable.go  the variable that words miss
//	empty_variable.go  the variable that leaves a word short, or that code reads and nothing sets
//	probe_script.go  the variables that the script of a failing probe reads, and nothing gives it
//	topic_line.go the settings that a cause is about
//	own_service.go  a probe that asks by the Service of its own pod
//	said.go       whom words call by its name; job.go, Jobs, and what keeps one from being complete
//	untyped.go    what answers of agents from before have in their text alone
//	node.go       what a node promised its pods, and what presses it
package cluster
