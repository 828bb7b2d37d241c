// Package ask asks why: a cluster's nodes through the API server, or a journal on this
// machine. It is what kubectl why, a page or a server is made of; what it finds is
// theirs to write.
//
// Many nodes are asked at the same time, so that a question takes as long as the slowest
// of them, and it ends at its deadline with the answers that came. A *[PartialError]
// beside the answers names who did not answer.
//
//	ask.go       the interface, its options, and many asked at once
//	target.go    what can be asked about, and how people name it, also many by their labels
//	journal.go   a journal, and nothing else
//	cluster.go   a cluster, and its pods
//	asked.go     a front, by a question that is written down in the cluster, and what it did not hear, asked directly
//	nodes.go     a node itself, the pod of its network plugin, and the way of a question to it
//	everything.go  everything at once, by the nodes or by what a front was told
//	survey.go    what is wrong beside pods, and who fails because of one; snapshot.go, what one question reads
//	api.go       what the API server shows, where nobody on a node can be asked
//	follow.go    the graph of what explains a failure, and its root; visit.go, a look at one place or pod of it;
//	             whose.go, whose an address or a name is, also that of the pod itself
//	policy.go    the NetworkPolicies between a pod and what it asks, and the servers of names
//	places.go    where a pod asks, and who that is; waited.go, what keeps a Job from being done,
//	             and what stands for several pods
//	copies.go    who waits for those that are to have a copy of what it has, or for members of its cluster; and who is
//	             asked and not made yet
//	undone.go    the Job that is waited for, or left something undone, and who was started again and lacks what it had
//	echo.go      whose log has the words of an error, or is about the same thing
//	common.go    what pods have in common that fail alike, and what a revision brought
//	gone.go      pods that are not there any more, and those of them that went lately
//	meant.go     what is meant by a name of nothing, or by a ConfigMap or Secret that a pod names
//	missing_object.go  the keys that a pod takes from a ConfigMap or Secret that is missing, and what exists in its place
//	configmaps.go  the lines of ConfigMaps that the words of who is to blame are about
//	workload.go  what stands for several pods, and Services and the pods behind them
//	behind.go    the facts behind an answer
//	record.go    all that is known of a namespace, for a file
//	heard.go     what the log of a Ready pod complains of, read with the rights of the asker
//	decided.go   the change for answers whose steps only inspect, and the names of what a pod may wait for
//	informed.go  what a user's entries of knowledge add to answers
//	proposal.go  what other settings would have changed, and what is proposed
package ask
